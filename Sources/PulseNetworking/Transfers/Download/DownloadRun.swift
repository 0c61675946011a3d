// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

/// One download: a call of several requests, whose bodies it writes to a file until that is whole.
final class DownloadRun: Sendable {
    enum Target: Sendable {
        case file(URL)
        /// The server names the file.
        case directory(URL)
    }

    private let target: Target
    private let options: DownloadOptions
    /// The policy for the waits between its requests.
    private let retryPolicy: RetryPolicy
    /// Names the content for a transport that writes the file itself, in one piece; nil for one that streams.
    private let wholeKey: String?
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private let disk: Disk

    init(
        _ target: Target, _ options: DownloadOptions, _ retryPolicy: RetryPolicy, inOnePiece: Bool = false,
        disk: Disk = .system, progress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.target = target
        self.options = options
        self.retryPolicy = retryPolicy
        // The place is asked for before the URL is known.
        wholeKey = inOnePiece ? options.contentKey ?? UUID().uuidString : nil
        self.progress = progress
        self.disk = disk
    }

    /// The file for a transport that writes it in one piece.
    func partialFile() throws -> URL {
        URL(fileURLWithPath: try place(wholeKey ?? "").partial)
    }

    private func place(_ key: String) throws -> DownloadPlace {
        switch target {
        case .file(let file): try DownloadPlace(file: file)
        case .directory(let directory): try DownloadPlace(directory: directory, key: key)
        }
    }

    /// Returns the response to the last request, with the file as its body.
    func response(
        to built: BuiltRequest, for call: Call, through pipeline: PluginPipeline, _ follower: RedirectFollower
    ) async throws -> PulseResponse {
        try check(built.urlRequest)
        let name = options.contentKey ?? built.url.absoluteString
        let place = try place(wholeKey ?? name)
        if !options.replacesFile { try place.checkIsFree() }
        let key = wholeKey == nil ? SystemHashes.library?.sha256(name)?.hex : nil
        let partial = try await PartialFile.open(at: place, key: key, using: disk)
        let meter = TransferMeter(call, progress)
        var work = Work(
            options: options, retryPolicy: retryPolicy, call: call, key: key, partial: partial, meter: meter)
        do {
            let response = try await work.response { offset, condition in
                try await follower.send(built.asking(from: offset, condition), for: call, through: pipeline)
            }
            await meter.end()
            return response
        } catch {
            await meter.end()
            throw error
        }
    }

    /// Throws for what no download can do, before anything is sent or written.
    private func check(_ request: URLRequest) throws {
        if let fault = options.fault { throw PulseError.invalidRequest(reason: fault) }
        if options.digest != nil, SystemHashes.library == nil {
            throw PulseError.unsupported("checking a digest needs the system's SHA-256")
        }
        if request.header("Range") != nil || request.header("If-Range") != nil {
            throw PulseError.invalidRequest(reason: "a download sets Range and If-Range itself")
        }
        if request.httpMethod == "HEAD" {
            throw PulseError.invalidRequest(reason: "the response to HEAD has no body to store")
        }
    }
}

extension BuiltRequest {
    /// The request for the bytes from there; for all of them if the offset is 0.
    fileprivate func asking(from offset: Int64, _ condition: String?) -> BuiltRequest {
        var copy = self
        if offset > 0 { copy.urlRequest.setHeader("Range", to: "bytes=\(offset)-") }
        if let condition { copy.urlRequest.setHeader("If-Range", to: condition) }
        return copy
    }
}

extension DownloadRun {
    /// The steps that the state machine decides.
    private struct Work {
        let options: DownloadOptions
        let retryPolicy: RetryPolicy
        let call: Call
        let key: String?
        let partial: PartialFile
        let meter: TransferMeter
        private var machine: StateMachine
        /// The response whose body is stored.
        private var current: PulseResponse?
        private var account: String?
        /// The bytes that this download has received.
        private var receivedCount = 0

        init(
            options: DownloadOptions, retryPolicy: RetryPolicy, call: Call, key: String?, partial: PartialFile,
            meter: TransferMeter
        ) {
            self.options = options
            self.retryPolicy = retryPolicy
            self.call = call
            self.key = key
            self.partial = partial
            self.meter = meter
            machine = StateMachine(
                // A range is only defined for GET (RFC 9110, section 14.2), and another method may not be repeated.
                mayResume: call.method == .get && call.delivery == .streamed, hasDigest: options.digest != nil,
                maximumFruitlessAttempts: options.maximumFruitlessAttempts,
                maximumRetryAfter: retryPolicy.maximumRetryAfter)
            account = partial.stored?.account
        }

        mutating func response(
            by send: (_ offset: Int64, _ condition: String?) async throws -> PulseResponse
        ) async throws -> PulseResponse {
            var action = machine.start(partial.stored?.content, length: partial.stored?.length ?? 0)
            do {
                while true {
                    switch action {
                    case .send(let offset, let condition):
                        if offset == 0 { try await partial.cut(to: 0) }
                        action = await head { try await send(offset, condition) }
                    case .append(let offset, let attempt):
                        action = try await body(from: offset, attempt)
                    case .wait(let retry, let least):
                        try await wait(retry, atLeast: least)
                        action = machine.waited()
                    case .finish:
                        return try await finish()
                    case .fail(let error, let keepsPartial):
                        if keepsPartial { throw error }
                        await partial.drop()
                        throw error
                    }
                }
            } catch {
                await leave()
                throw error
            }
        }

        /// Keeps what has come if a later download can go on with it.
        private func leave() async {
            if options.keepsPartial, key != nil, machine.isResumable {
                // The error of the download counts, not that of keeping what came before it.
                if (try? await partial.keep(state)) != nil { return }
            }
            await partial.drop()
        }

        private var state: PartialState {
            PartialState(key: key, account: account, content: machine.content)
        }

        private mutating func head(by send: () async throws -> PulseResponse) async -> StateMachine.Action {
            let now = call.environment.clock.now
            do {
                let response = try await send()
                let sentFor = ContextStore(call: call)[AccountID.self].map(Self.digest)
                let action = machine.received(
                    DownloadHead(response, now: now), isForeign: sentFor != account,
                    error: PulseError(validating: response, accepted: .successful, now: now) ?? .http(response),
                    retryAfter: RetryAfter.seconds(in: response.headers, now: now))
                switch action {
                case .append:
                    account = sentFor
                    current = response
                case .finish:
                    response.discard()
                    current = response
                default: response.discard()
                }
                return action
            } catch {
                let error = PulseError(wrapping: error)
                return machine.failed(error, retryAfter: error.retryAfter(now: now))
            }
        }

        private static func digest(of account: String) -> String {
            SystemHashes.library?.sha256(account)?.hex ?? ""
        }

        private mutating func body(from offset: Int64, _ attempt: Int) async throws -> StateMachine.Action {
            guard let response = current else { return .finish }
            await meter.begin(attempt: attempt)
            let total = machine.content.total
            if case .file = response.body {
                // A transport without streams has written it.
                let length = try await partial.adopt()
                receivedCount = Int(length)
                guard machine.receive(Int(length)) else { return machine.receivedTooMuch() }
                meter.note(length, of: total)
                return machine.ended()
            }
            try await partial.cut(to: offset)
            if let total { try await partial.checkSpace(for: total - offset) }
            meter.note(offset, of: total)
            let stream = response.stream
            var storing: (any Error)?
            do {
                for try await chunk in stream {
                    receivedCount += chunk.count
                    guard machine.receive(chunk.count) else {
                        stream.cancel()
                        return machine.receivedTooMuch()
                    }
                    do {
                        try await partial.append(chunk, of: total)
                        if machine.isResumable, key != nil { try await partial.syncIfDue(state) }
                    } catch {
                        storing = error
                        throw error
                    }
                    meter.note(machine.length, of: total)
                }
            } catch {
                if let storing { return .fail(PulseError(wrapping: storing), keepsPartial: true) }
                return machine.failed(PulseError(wrapping: error))
            }
            if machine.length == 0 { meter.note(0, of: 0) }
            return machine.ended()
        }

        private func wait(_ retry: Int, atLeast least: TimeInterval) async throws {
            let environment = call.environment
            let delay = retryPolicy.backoffStrategy.delay(beforeRetry: retry, randomness: environment.randomness)
            try await environment.clock.sleep(max(delay, least), for: .backoff)
        }

        private func finish() async throws -> PulseResponse {
            guard var response = current else { throw PulseError.emptyBody }
            let expected = [options.digest?.hex, machine.content.digest].compactMap { $0 }
            if !expected.isEmpty, let digest = try await partial.sha256() {
                guard expected.allSatisfy({ $0 == digest }) else {
                    await partial.drop()
                    throw TransferFailure.digestMismatch.asPulseError
                }
            }
            try Task.checkCancellation()
            let file = try await partial.finish(name: response.suggestedFileName, replacesFile: options.replacesFile)
            response.body = .file(file)
            call.storedByteCount = receivedCount
            return response
        }
    }
}

extension PulseResponse {
    /// A safe name for the body as a file: the one that the server suggests, or that of the URL.
    fileprivate var suggestedFileName: String? {
        let suggested = headers.octets(for: "Content-Disposition").first
            .flatMap { ContentDisposition.name(in: Array($0)) }.flatMap(SafeFileName.from)
        return suggested ?? request.url.flatMap { SafeFileName.from($0.lastPathComponent) }
    }
}
