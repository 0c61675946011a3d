// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// One resumable upload: a call of several requests, each through the whole chain.
///
/// `OPTIONS` tells whether the server has the protocol; if not, the endpoint's own request is sent. `POST` creates the
/// upload, `HEAD` asks how much of it has come, and `PATCH` sends the rest.
final class TusRun: Sendable {
    private static let version = "1.0.0"
    private static let maximumFruitlessAttempts = 5

    private let resumption: UploadResumption
    private let retryPolicy: RetryPolicy
    private let progress: (@Sendable (TransferProgress) -> Void)?

    init(
        _ resumption: UploadResumption, _ retryPolicy: RetryPolicy, progress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.resumption = resumption
        self.retryPolicy = retryPolicy
        self.progress = progress
    }

    /// Sends a request of the call.
    typealias Send = (BuiltRequest) async throws -> PulseResponse

    /// Returns the response that the call's value is decoded from: to the last part, or to the plain upload.
    func response(to built: BuiltRequest, for call: Call, by send: Send) async throws -> PulseResponse {
        if let fault = resumption.fault { throw PulseError.invalidRequest(reason: fault) }
        guard case .file(let url) = built.body else {
            throw PulseError.unsupported("a resumable upload needs a body that is a file")
        }
        let file = try UploadedFile(url)
        let record = try UploadRecord(file, to: built.url, in: resumption.directory)
        let meter = TransferMeter(call, progress)
        await meter.begin(attempt: 1)
        var work = Work(run: self, built: built, call: call, file: file, record: record, meter: meter)
        do {
            let response = try await work.response(by: send)
            await meter.end()
            return response
        } catch {
            await meter.end()
            throw error
        }
    }

    /// The steps of one upload.
    private struct Work {
        let run: TusRun
        let built: BuiltRequest
        let call: Call
        let file: UploadedFile
        let record: UploadRecord
        let meter: TransferMeter
        private var attempt = 1
        private var hasNoted = false
        private var isRecreated = false
        private var fruitless = 0
        /// The most bytes that the server has confirmed.
        private var confirmed: Int64 = 0

        init(
            run: TusRun, built: BuiltRequest, call: Call, file: UploadedFile, record: UploadRecord,
            meter: TransferMeter
        ) {
            self.run = run
            self.built = built
            self.call = call
            self.file = file
            self.record = record
            self.meter = meter
        }

        private var environment: CallEnvironment { call.environment }

        mutating func response(by send: Send) async throws -> PulseResponse {
            if let url = await record.read() {
                if let response = try await goOn(at: url, by: send) { return response }
            } else if try await !isSupported(by: send) {
                return try await send(plain())
            }
            while true {
                let url = try await create(by: send)
                try await record.write(url)
                if let response = try await patches(to: url, from: 0, by: send) { return response }
            }
        }

        /// Asks for the offset, and sends the rest from there; nil if the upload is gone.
        private mutating func goOn(at url: URL, by send: Send) async throws -> PulseResponse? {
            switch try await offset(at: url, by: send) {
            case .gone: return nil
            case .whole(let response): return response
            case .bytes(let offset): return try await patches(to: url, from: offset, by: send)
            }
        }

        private enum Offset {
            case bytes(Int64)
            /// All bytes had come, and only the response to the last part was lost.
            case whole(PulseResponse)
            case gone
        }

        // MARK: Requests

        private func isSupported(by send: Send) async throws -> Bool {
            let response = try await send(request("OPTIONS", built.url))
            response.discard()
            let versions = (response.headers["Tus-Version"] ?? response.headers["Tus-Resumable"] ?? "")
                .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let extensions = (response.headers["Tus-Extension"] ?? "").split(separator: ",")
                .map { $0.trimmingCharacters(in: .whitespaces).asciiLowercased }
            return 200..<300 ~= response.statusCode && versions.contains(TusRun.version)
                && extensions.contains("creation")
        }

        private func create(by send: Send) async throws -> URL {
            var creation = request("POST", built.url)
            creation.urlRequest.setHeader("Upload-Length", to: "\(file.size)")
            creation.urlRequest.setHeader("Upload-Metadata", to: run.resumption.field)
            let response = try await send(creation)
            try check(response)
            guard let location = response.headers["Location"],
                let url = URL(string: location, relativeTo: response.request.url ?? built.url)?.absoluteURL,
                Origin(url) != nil
            else {
                throw TransportFailure(code: .badServerResponse, phase: .responseStarted, underlying: MissingLocation())
            }
            return url
        }

        private mutating func offset(at url: URL, by send: Send) async throws -> Offset {
            let response = try await send(request("HEAD", url))
            if [404, 410].contains(response.statusCode) {
                try await forget(PulseError(validating: response, accepted: .successful) ?? .http(response))
                return .gone
            }
            try check(response)
            guard let offset = response.headers["Upload-Offset"].flatMap({ Int64($0) }), 0...file.size ~= offset else {
                throw TransferFailure.rejectedOffset.asPulseError
            }
            guard offset < file.size else {
                await record.remove()
                meter.note(file.size, of: file.size)
                return .whole(response)
            }
            return .bytes(offset)
        }

        /// Sends the rest of the file, in as many parts as losses require; nil if the upload is gone.
        private mutating func patches(to url: URL, from start: Int64, by send: Send) async throws -> PulseResponse? {
            var offset = start
            while true {
                note(offset)
                var patch = request("PATCH", url)
                patch.urlRequest.setHeader("Content-Type", to: "application/offset+octet-stream")
                patch.urlRequest.setHeader("Upload-Offset", to: "\(offset)")
                patch.body = .stream(
                    file.body(from: offset) { [meter, file, offset] sent in meter.note(offset + sent, of: file.size) })
                var failure: PulseError
                do {
                    let response = try await send(patch)
                    let status = response.statusCode
                    if 200..<300 ~= status {
                        guard let next = response.headers["Upload-Offset"].flatMap({ Int64($0) }),
                            offset...file.size ~= next
                        else { throw TransferFailure.rejectedOffset.asPulseError }
                        if next == file.size {
                            await record.remove()
                            return response
                        }
                        response.discard()
                        // The server has taken a part.
                        if next > offset {
                            offset = next
                            fruitless = 0
                            continue
                        }
                        failure = TransferFailure.rejectedOffset.asPulseError
                    } else {
                        failure = PulseError(validating: response, accepted: .successful) ?? .http(response)
                        response.discard()
                        if [404, 410].contains(status) {
                            try await forget(failure)
                            return nil
                        }
                        guard status == 409 || status == 429 || status >= 500 else { throw failure }
                    }
                } catch {
                    failure = PulseError(wrapping: error)
                    guard RetryPolicy.default.counts(failure) || (failure.statusCode ?? 0) >= 500 else { throw failure }
                }
                try await wait(after: failure)
                switch try await self.offset(at: url, by: send) {
                case .gone: return nil
                case .whole(let response): return response
                case .bytes(let next):
                    if next > max(offset, confirmed) { fruitless = 0 }
                    (offset, confirmed) = (next, max(next, confirmed))
                }
            }
        }

        // MARK: Decisions

        /// Waits before the server is asked again, or throws the failure if that was in vain too often.
        private mutating func wait(after failure: PulseError) async throws {
            fruitless += 1
            guard fruitless < TusRun.maximumFruitlessAttempts else { throw failure }
            // The first loss may have been after many bytes.
            guard fruitless > 1 || failure.statusCode != nil else { return }
            let asked = failure.retryAfter(now: environment.clock.now).flatMap { $0 < .infinity ? $0 : nil } ?? 0
            guard asked <= run.retryPolicy.maximumRetryAfter else { throw failure }
            let delay = run.retryPolicy.backoffStrategy.delay(
                beforeRetry: fruitless, randomness: environment.randomness)
            try await environment.clock.sleep(max(delay, asked), for: .backoff)
        }

        /// The upload is gone from the server: it is created again, once.
        private mutating func forget(_ failure: PulseError) async throws {
            await record.remove()
            guard !isRecreated else { throw failure }
            isRecreated = true
            confirmed = 0
            guard hasNoted else { return }
            attempt += 1
            await meter.begin(attempt: attempt)
        }

        private mutating func note(_ offset: Int64) {
            hasNoted = true
            meter.note(offset, of: file.size)
        }

        private func check(_ response: PulseResponse) throws {
            guard let error = PulseError(validating: response, accepted: .successful) else { return }
            response.discard()
            throw error
        }

        // MARK: Building

        /// The endpoint's own request, whose progress is that of the file too.
        private func plain() -> BuiltRequest {
            var copy = built
            copy.body = .stream(file.body(from: 0) { [meter, file] sent in meter.note(sent, of: file.size) })
            return copy
        }

        /// A request of the protocol, without a body.
        private func request(_ method: String, _ url: URL) -> BuiltRequest {
            var copy = built
            copy.body = .inRequest
            copy.urlRequest.httpMethod = method
            copy.urlRequest.httpBody = nil
            copy.urlRequest.setHeader("Content-Type", to: nil)
            // Each request of the protocol is another one.
            copy.urlRequest.setHeader("Idempotency-Key", to: nil)
            if method != "OPTIONS" { copy.urlRequest.setHeader("Tus-Resumable", to: TusRun.version) }
            guard url != built.url else { return copy }
            copy.url = url
            copy.urlRequest.url = url
            copy.destination = Destination(Origin(url), home: environment.home)
            // The server of the endpoint has chosen the URL of the upload.
            if !environment.keepsOwnSecrets(of: built, at: url) {
                copy.isForeign = environment.home.isEmpty
                for name in (copy.urlRequest.allHTTPHeaderFields ?? [:]).keys
                where environment.redaction.isSecret(name) || name.equalsIgnoringASCIICase("Origin") {
                    copy.urlRequest.setValue(nil, forHTTPHeaderField: name)
                }
            }
            return copy
        }
    }
}

/// A server has created an upload without telling where.
private struct MissingLocation: Error, CustomStringConvertible {
    var description: String { "the response to the creation of an upload has no Location" }
}
