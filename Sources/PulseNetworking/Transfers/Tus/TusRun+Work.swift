// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

extension TusRun {
    /// The steps of one upload.
    struct Work {
        let run: TusRun
        let built: BuiltRequest
        let route: CallRoute
        let record: UploadRecord
        let meter: UploadMeter
        private var file: UploadedFile
        private var attemptsWithoutProgress = 0
        /// The most bytes that the server has confirmed.
        private var confirmed: Int64 = 0
        private var isCreated = false
        private var isRecreated = false
        private var hasChanged = false

        init(
            run: TusRun, built: BuiltRequest, route: CallRoute, record: UploadRecord, meter: UploadMeter,
            file: UploadedFile
        ) {
            self.run = run
            self.built = built
            self.route = route
            self.record = record
            self.meter = meter
            self.file = file
        }

        var call: Call { route.call }

        /// How the requests for one upload on the server end.
        private enum End {
            case finished(PulseResponse)
            /// The server no longer has it.
            case gone(PulseError)
            /// It was created for another account.
            case foreign
            /// The file has changed.
            case changed
        }

        private enum Step {
            /// The server has that many bytes; nil if it must be queried.
            case at(Int64?)
            case end(End)
        }

        mutating func response() async throws -> PulseResponse {
            var stored = await record.read(for: file)
            // The auth plugin identifies no account at a foreign origin, so the endpoint's own server is queried first.
            let learnsAccount = stored.map {
                $0.account != nil && !call.environment.keepsOwnSecrets(of: built, at: $0.url)
            }
            let isKnown = if learnsAccount ?? true { try await isSupported() } else { true }
            if learnsAccount == true, stored?.account != account { stored = nil }
            while true {
                let end: End
                if let upload = stored {
                    stored = nil
                    end = try await sendRest(to: upload.url, from: nil, as: upload.account)
                } else {
                    end = try await create(onKnownServer: isKnown)
                }
                switch end {
                case .finished(let response): return response
                case .foreign: await record.remove()
                case .gone(let failure): try await createAgain(after: failure)
                case .changed: try await startWithChangedFile()
                }
            }
        }

        /// Sends the bytes that the server does not have, in as many parts as losses require.
        ///
        /// - Parameter start: the number of bytes that it has; nil to query it.
        /// - Parameter owner: the account that the upload belongs to.
        private mutating func sendRest(to url: URL, from start: Int64?, as owner: String?) async throws -> End {
            var offset = start
            while true {
                guard try await file.isUnchanged() else { return .changed }
                let step: Step
                do {
                    step = if let offset { try await patch(url, from: offset) } else { try await head(url, as: owner) }
                } catch {
                    try Task.checkCancellation()
                    guard try await file.isUnchanged() else { return .changed }
                    let failure = PulseError(wrapping: error)
                    guard Self.isPassing(failure) else { throw failure }
                    try await wait(after: failure)
                    step = .at(nil)
                }
                switch step {
                case .at(let next): offset = next
                case .end(let end): return end
                }
            }
        }

        // MARK: Requests

        /// Whether the server announces the protocol; false if it announces nothing, since it may have it without
        /// `OPTIONS`. Throws if it rules the protocol out.
        private func isSupported() async throws -> Bool {
            let response = try await respond(to: request("OPTIONS", built.url))
            response.discard()
            if let failure = failure(of: response) {
                let status = response.statusCode
                // The creation would fail as well.
                if [401, 403].contains(status) || status != 501 && Self.isPassing(failure) { throw failure }
                return false
            }
            guard let versions = response.headers["Tus-Version"] ?? response.headers["Tus-Resumable"] else {
                return false
            }
            let extensions = (response.headers["Tus-Extension"] ?? "").asciiLowercased.listed
            guard versions.listed.contains(TusRun.version), extensions.contains("creation") else {
                throw PulseError.unsupported("the server has no uploads of tus 1.0.0 that a client may create")
            }
            return true
        }

        /// Creates the upload and sends the file.
        ///
        /// - Parameter isKnown: whether the server is known to support the protocol.
        private mutating func create(onKnownServer isKnown: Bool) async throws -> End {
            var creation = request("POST", built.url)
            creation.urlRequest.setHeader("Upload-Length", to: "\(file.size)")
            creation.urlRequest.setHeader("Upload-Metadata", to: run.resumption.field)
            // With the same key, a server would respond to a second creation with the first upload.
            let key = isCreated ? nil : built.urlRequest.header("Idempotency-Key")
            creation.urlRequest.setHeader("Idempotency-Key", to: key)
            isCreated = true
            let response = try await respond(to: creation)
            if let failure = failure(of: response) {
                response.discard()
                guard isKnown || ![404, 405, 501].contains(response.statusCode) else {
                    throw PulseError.unsupported(
                        "the server has no resumable uploads: it refused to create one with \(response.statusCode)")
                }
                throw failure
            }
            guard let url = RedirectPolicy.target(of: response, from: response.request.url ?? built.url) else {
                response.discard()
                throw TransportFailure(
                    code: .badServerResponse, phase: .responseStarted, underlying: UnusableLocation())
            }
            // There is nothing to send.
            guard file.size > 0 else { return try await finish(response) }
            response.discard()
            try await record.write(StoredUpload(url: url, stamp: file.stamp, account: account))
            return try await sendRest(to: url, from: 0, as: account)
        }

        private mutating func head(_ url: URL, as owner: String?) async throws -> Step {
            let response = try await respond(to: request("HEAD", url))
            let failure = failure(of: response)
            let offset = response.headers["Upload-Offset"]
            // Some servers refuse access to missing uploads, so that a client does not learn what exists. Any other
            // fault of the request would recur each time.
            let status = response.statusCode
            let isGone =
                [404, 410].contains(status)
                || 400..<500 ~= status && ![401, 407].contains(status) && offset == nil
                    && !(failure.map(Self.isPassing) ?? false)
            if let failure, !isGone { throw failure }
            guard owner == account else { return .end(.foreign) }
            if let failure { return .end(.gone(failure)) }
            let length = response.headers["Upload-Length"]
            guard let next = offset.flatMap({ Int64($0) }), 0...file.size ~= next,
                length == nil || length.flatMap({ Int64($0) }) == file.size
            else { return .end(.gone(TransferFailure.rejectedOffset.asPulseError)) }
            // All bytes had arrived, and only the response to the last part was lost.
            guard next < file.size else { return .end(try await finish(response)) }
            if next > confirmed { (confirmed, attemptsWithoutProgress) = (next, 0) }
            return .at(next)
        }

        private mutating func patch(_ url: URL, from offset: Int64) async throws -> Step {
            await meter.begin(at: offset, of: file.size)
            var patch = request("PATCH", url)
            patch.urlRequest.setHeader("Content-Type", to: "application/offset+octet-stream")
            patch.urlRequest.setHeader("Upload-Offset", to: "\(offset)")
            patch.body = .stream(file.body(from: offset))
            let response = try await respond(to: patch)
            if let failure = failure(of: response) {
                response.discard()
                let status = response.statusCode
                // Apart from a refusal of the caller, a fault of this upload would recur each time.
                let isGone = 400..<500 ~= status && ![401, 403, 407].contains(status) && !Self.isPassing(failure)
                if isGone { return .end(.gone(failure)) }
                throw failure
            }
            let next = response.headers["Upload-Offset"].flatMap { Int64($0) }
            if next == file.size { return .end(try await finish(response)) }
            response.discard()
            // A server that reports no offset, or an impossible one, is queried.
            guard let next, offset + 1..<file.size ~= next else {
                try await wait(after: TransferFailure.rejectedOffset.asPulseError)
                return .at(nil)
            }
            // The server has accepted a part.
            (confirmed, attemptsWithoutProgress) = (max(confirmed, next), 0)
            return .at(next)
        }

        private func finish(_ response: PulseResponse) async throws -> End {
            let isUnchanged: Bool
            do {
                isUnchanged = try await file.isUnchanged()
            } catch {
                response.discard()
                throw error
            }
            guard isUnchanged else {
                response.discard()
                return .changed
            }
            await record.remove()
            await meter.begin(at: file.size, of: file.size)
            return .finished(response)
        }

        // MARK: Decisions

        /// Whether a later request may succeed although this one failed. A server that has not noticed a lost
        /// connection yet refuses a part because of its offset (409), or because the upload is locked (423).
        private static func isPassing(_ failure: PulseError) -> Bool {
            switch failure {
            case .retryExhausted(let last, _): isPassing(last)
            case .circuitOpen: true
            case .transport where failure.isPoolTimeout: true
            default:
                [409, 423].contains(failure.statusCode) || (failure.statusCode ?? 0) >= 500
                    || RetryPolicy.default.counts(failure)
            }
        }

        /// Waits before the server is queried again, or throws the failure after too many attempts without progress.
        private mutating func wait(after failure: PulseError) async throws {
            let environment = call.environment
            attemptsWithoutProgress += 1
            guard attemptsWithoutProgress < TusRun.maxAttemptsWithoutProgress else { throw failure }
            let asked = failure.retryAfter(now: environment.clock.now).flatMap { $0 < .infinity ? $0 : nil } ?? 0
            // The first loss may have been after many bytes.
            guard attemptsWithoutProgress > 1 || failure.statusCode != nil || asked > 0 else { return }
            guard asked <= run.retryPolicy.maxRetryAfter else { throw failure }
            let own = run.retryPolicy.backoffStrategy.delay(
                beforeRetry: attemptsWithoutProgress, randomness: environment.randomness)
            let delay = max(own, asked)
            // The failure itself says more than a deadline that is sure to be exceeded.
            guard environment.clock.uptime + delay < call.deadline ?? .infinity else { throw failure }
            try await environment.clock.sleep(delay, for: .backoff)
        }

        /// Prepares to create an upload again that is gone from the server, once.
        private mutating func createAgain(after failure: PulseError) async throws {
            await record.remove()
            guard !isRecreated else { throw failure }
            (isRecreated, confirmed) = (true, 0)
        }

        /// Starts again with the current file, once: the server may have bytes of two versions.
        private mutating func startWithChangedFile() async throws {
            await record.remove()
            guard !hasChanged else {
                throw PulseError.encodingFailed(underlying: TransferFailure.contentKeepsChanging)
            }
            file = try await UploadedFile.at(file.url)
            (hasChanged, confirmed, attemptsWithoutProgress) = (true, 0, 0)
        }

        private func failure(of response: PulseResponse) -> PulseError? {
            PulseError(validating: response, accepted: .successful, now: call.environment.clock.now)
        }

        /// The digest of the account that the latest request was sent for.
        private var account: String? {
            call.account.identifier.flatMap { UploadRecord.digest(of: $0) }
        }

        /// Each request of the protocol is a separate one: a plugin must not reuse the key of the one before.
        private func respond(to request: BuiltRequest) async throws -> PulseResponse {
            call.idempotencyKey = request.urlRequest.header("Idempotency-Key")
            return try await route.send(request)
        }
    }
}

extension String {
    /// The members of a list in a header field.
    fileprivate var listed: [String] {
        split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}

/// A server has created an upload without a `Location`, or with one that no request may use.
private struct UnusableLocation: Error, CustomStringConvertible {
    var description: String { "the response to the creation of an upload has no Location that may be used" }
}
