// SPDX-License-Identifier: MIT

public import PulseCore

extension MockServer {
    /// A file that a server sends whole or in part, and that can change or fail midway, for tests of downloads.
    ///
    /// ```swift
    /// let film = MockServer.File(data, etag: "\"1\"").dropping(after: 1 << 20)
    /// server.serve(film, at: "/films/1")
    /// film.replace(with: other, etag: "\"2\"")                     // before the client resumes
    /// ```
    ///
    /// All members are safe from any thread.
    public final class File: Sendable {
        private struct State {
            var data: Data
            var etag: String?
            var lastModified: Date?
            var drops: [Int] = []
            var respond: (@Sendable (RecordedRequest, Response) throws -> Response)?
        }

        private let state: Locked<State>

        /// Creates a file with these bytes.
        ///
        /// - Parameter etag: the whole value of the `ETag`, with its quotes: `"\"v1\""`. Nil for none.
        /// - Parameter lastModified: nil for no `Last-Modified`.
        public init(_ data: Data, etag: String? = nil, lastModified: Date? = nil) {
            state = Locked(State(data: data, etag: etag, lastModified: lastModified))
        }

        /// Replaces the bytes and the validators. Responses that have begun are not affected.
        public func replace(with data: Data, etag: String? = nil, lastModified: Date? = nil) {
            state.withLock { ($0.data, $0.etag, $0.lastModified) = (data, etag, lastModified) }
        }

        /// Resets the next response to a GET after that many bytes of its body. Each further call applies to the
        /// response after it.
        @discardableResult
        public func dropping(after bytes: Int) -> File {
            state.withLock { $0.drops.append(bytes) }
            return self
        }

        /// Replaces each response with that of the closure, which gets the correct one: for servers that send a wrong
        /// part, or none.
        @discardableResult
        public func answering(
            _ respond: @escaping @Sendable (RecordedRequest, _ right: Response) throws -> Response
        ) -> File {
            state.withLock { $0.respond = respond }
            return self
        }

        fileprivate func response(to request: RecordedRequest, at now: Date) throws -> Response {
            // A response without a body cannot be dropped within it, and a range is that of a GET (RFC 9110, 14.2).
            let isHead = request.method == .head
            let (file, drop) = state.withLock { state in
                (state, isHead || state.drops.isEmpty ? nil : state.drops.removeFirst())
            }
            let (status, headers, data) = Self.content(
                range: isHead ? nil : request.headers["Range"], condition: request.headers["If-Range"], of: file,
                at: now)
            var response = Response.data(data, status: status, headers: headers)
            if let drop { response = response.fault(.reset, at: .body(drop)) }
            return try file.respond?(request, response) ?? response
        }

        /// The same as a response of a mock transport.
        func response(to request: URLRequest, at now: Date) -> PulseResponse {
            var (status, headers, data) = Self.content(
                range: request.header("Range"), condition: request.header("If-Range"), of: state.withLock { $0 },
                at: now)
            headers["Content-Length"] = "\(data.count)"
            return PulseResponse(statusCode: status, headers: headers, data: data, request: request, origin: .mock)
        }

        private static func content(
            range: String?, condition: String?, of file: State, at now: Date
        ) -> (status: Int, headers: HTTPHeaders, data: Data) {
            var headers: HTTPHeaders = [
                "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", "Date": HTTPDate.format(now),
            ]
            headers["ETag"] = file.etag
            headers["Last-Modified"] = file.lastModified.map(HTTPDate.format)
            guard let range, isValid(condition, for: file) else { return (200, headers, file.data) }
            switch part(range, of: file.data.count) {
            case .whole:
                return (200, headers, file.data)
            case .none:
                headers["Content-Range"] = "bytes */\(file.data.count)"
                return (416, headers, Data())
            case .bytes(let bounds):
                headers["Content-Range"] = "bytes \(bounds.lowerBound)-\(bounds.upperBound)/\(file.data.count)"
                return (206, headers, Data(file.data.dropFirst(bounds.lowerBound).prefix(bounds.count)))
            }
        }

        /// Strong comparison, and an exact match of dates (RFC 9110, section 13.1.5).
        private static func isValid(_ condition: String?, for file: State) -> Bool {
            guard let condition else { return true }
            if condition.hasPrefix("\"") { return condition == file.etag }
            return !condition.hasPrefix("W/") && condition == file.lastModified.map(HTTPDate.format)
        }

        private enum Part {
            /// The field is malformed or has several ranges: it may be ignored.
            case whole
            case none
            case bytes(ClosedRange<Int>)
        }

        /// Parses a `Range` (RFC 9110, section 14.1.2).
        private static func part(_ field: String, of count: Int) -> Part {
            let parts = field.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0] == "bytes" else { return .whole }
            let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2 else { return .whole }
            switch (Int(ends[0]), Int(ends[1])) {
            case (nil, let length?) where ends[0].isEmpty:
                return length > 0 && count > 0 ? .bytes(max(0, count - length)...(count - 1)) : .none
            case (let first?, let last):
                guard last != nil || ends[1].isEmpty, first <= last ?? .max else { return .whole }
                return first < count ? .bytes(first...min(last ?? .max, count - 1)) : .none
            default: return .whole
            }
        }
    }

    /// Serves a file to GET and HEAD requests for a path, with ranges and `If-Range` (RFC 9110, section 14).
    public func serve(_ file: File, at pathTemplate: String) {
        on(.get, pathTemplate) { [clock] request in try file.response(to: request, at: clock.now) }
    }
}
