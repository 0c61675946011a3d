// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// The uploads of a test server for the tus protocol 1.0.0 with its creation extension.
    ///
    /// All members are safe from any thread.
    public final class TusUploads: Sendable {
        /// One upload.
        public struct Upload: Sendable, Hashable {
            /// The length of the complete upload in bytes.
            public let length: Int
            /// The values of `Upload-Metadata`.
            public let metadata: [String: String]
            /// The bytes received so far.
            public fileprivate(set) var data = Data()
        }

        private struct State {
            var uploads: [String: Upload] = [:]
            var created = 0
            var drops: [Int] = []
            var response: Response?
            var answers: [HTTPMethod: [Response]] = [:]
        }

        private let state = Locked(State())

        /// The uploads that exist, in no defined order.
        public var uploads: [Upload] { state.withLock { Array($0.uploads.values) } }

        /// The number of created uploads.
        public var createdCount: Int { state.withLock { $0.created } }

        /// Resets the connection of the next `PATCH` after storing that many bytes of its body. Each further call
        /// applies to the `PATCH` after it.
        public func dropping(after bytes: Int) { state.withLock { $0.drops.append(bytes) } }

        /// Replies to the next request of this method with the response, and does nothing else. Each further call
        /// applies to the request after it.
        public func answering(_ method: HTTPMethod, with response: Response) {
            state.withLock { $0.answers[method, default: []].append(response) }
        }

        /// Removes all uploads, as a server removes expired ones.
        public func forgetAll() { state.withLock { $0.uploads = [:] } }

        /// Sets the response to the last part; an empty 204 by default. The protocol's header fields are added.
        public func finishing(with response: Response) { state.withLock { $0.response = response } }

        fileprivate static let headers: HTTPHeaders = ["Tus-Resumable": "1.0.0", "Cache-Control": "no-store"]

        /// The response that the test has set for the request, or else the protocol's.
        fileprivate func response(
            to request: RecordedRequest, by respond: (RecordedRequest) -> Response
        ) -> Response {
            let answer = state.withLock { state -> Response? in
                guard let next = state.answers[request.method]?.first else { return nil }
                state.answers[request.method]?.removeFirst()
                return next
            }
            if let answer { return answer }
            // OPTIONS asks for the supported versions.
            guard request.method == .options || request.headers["Tus-Resumable"] == "1.0.0" else {
                return .status(412, headers: Self.headers).header("Tus-Version", "1.0.0")
            }
            return respond(request)
        }

        fileprivate func create(_ request: RecordedRequest, at path: String) -> Response {
            guard let length = request.headers["Upload-Length"].flatMap({ Int($0) }), length >= 0 else {
                return .status(400, headers: Self.headers)
            }
            var metadata: [String: String] = [:]
            for pair in (request.headers["Upload-Metadata"] ?? "").split(separator: ",") {
                let words = pair.split(separator: " ")
                guard let key = words.first else { continue }
                let value = words.dropFirst().first.flatMap { Data(base64Encoded: String($0)) } ?? Data()
                metadata[String(key)] = String(decoding: value, as: UTF8.self)
            }
            let id = state.withLock { state in
                state.created += 1
                state.uploads["\(state.created)"] = Upload(length: length, metadata: metadata)
                return state.created
            }
            return .status(201, headers: Self.headers).header("Location", "\(path)/\(id)")
        }

        fileprivate func head(_ id: String) -> Response {
            guard let upload = state.withLock({ $0.uploads[id] }) else { return .status(404, headers: Self.headers) }
            return .status(200, headers: Self.headers).header("Upload-Offset", "\(upload.data.count)")
                .header("Upload-Length", "\(upload.length)")
        }

        fileprivate func patch(_ request: RecordedRequest, _ id: String) -> Response {
            state.withLock { state in
                guard var upload = state.uploads[id] else { return .status(404, headers: Self.headers) }
                guard request.headers["Content-Type"] == "application/offset+octet-stream" else {
                    return .status(415, headers: Self.headers)
                }
                guard request.headers["Upload-Offset"].flatMap({ Int($0) }) == upload.data.count else {
                    return .status(409, headers: Self.headers)
                }
                guard request.body.count <= upload.length - upload.data.count else {
                    return .status(413, headers: Self.headers)
                }
                let drop = state.drops.isEmpty ? nil : state.drops.removeFirst()
                upload.data += request.body.prefix(drop ?? .max)
                state.uploads[id] = upload
                if drop != nil { return .raw([.reset]) }
                let isWhole = upload.data.count == upload.length
                var response = isWhole ? state.response ?? .status(204) : .status(204)
                for field in ["Tus-Resumable", "Cache-Control"] { response.headers[field] = Self.headers[field] }
                return response.header("Upload-Offset", "\(upload.data.count)")
            }
        }
    }

    /// Serves resumable uploads (tus 1.0.0 with creation) at a path, and returns their record.
    public func serveTus(at path: String) -> TusUploads {
        let uploads = TusUploads()
        on(.options, path) { request in
            uploads.response(to: request) { _ in
                .status(
                    204, headers: ["Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation"])
            }
        }
        on(.post, path) { request in uploads.response(to: request) { uploads.create($0, at: path) } }
        on(.head, path + "/{id}") { request in
            uploads.response(to: request) { uploads.head($0.parameters["id"] ?? "") }
        }
        on(.patch, path + "/{id}") { request in
            uploads.response(to: request) { uploads.patch($0, $0.parameters["id"] ?? "") }
        }
        return uploads
    }
}
