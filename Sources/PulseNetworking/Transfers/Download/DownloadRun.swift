// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform
import PulseStorage

/// One download: a call with several requests, whose bodies it writes to a file until the file is complete.
final class DownloadRun: Carrier {
    enum Target: Sendable {
        case file(URL)
        /// The server names the file.
        case directory(URL)

        /// Where the bytes of the content with that key are stored.
        func place(_ key: String) throws -> DownloadPlace {
            switch self {
            case .file(let file): try DownloadPlace(file: file)
            case .directory(let directory): try DownloadPlace(directory: directory, key: key)
            }
        }
    }

    /// The file, or the directory, that errors name.
    private var file: URL {
        switch target {
        case .file(let file): file
        case .directory(let directory): directory
        }
    }

    private let target: Target
    private let options: Download.Options
    /// The policy for the waits between its requests.
    private let retryPolicy: RetryPolicy
    /// Names the content for a transport that writes the file itself, in one piece; nil for one that streams.
    private let wholeKey: String?
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private let restarted: (@Sendable (_ reason: String) -> Void)?
    private let disk: Disk
    /// Hands the request over to the system; nil for a request that the client's transport sends.
    private let background: BackgroundTransport?

    /// - Parameter restarted: receives the reason when stored bytes are dropped.
    init(
        _ target: Target, _ options: Download.Options, _ retryPolicy: RetryPolicy, inOnePiece: Bool = false,
        disk: Disk = .system, background: BackgroundTransport? = nil,
        restarted: (@Sendable (_ reason: String) -> Void)? = nil, progress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.background = background
        self.target = target
        self.options = options
        self.retryPolicy = retryPolicy
        // The place is needed before the URL is known.
        wholeKey = inOnePiece ? options.contentKey ?? UUID().uuidString : nil
        self.progress = progress
        self.restarted = restarted
        self.disk = disk
    }

    /// The file for a transport that writes it in one piece.
    func partialFile() throws -> URL {
        URL(fileURLWithPath: try target.place(wholeKey ?? "").partial, isDirectory: false)
    }

    private static func digest(of text: String) -> String? { SystemHashes.library?.sha256(text)?.hex }

    /// Deletes the partial file of an earlier download of the same content.
    static func dropPartial(_ target: Target, key: String) async {
        guard let place = try? target.place(key), let digest = digest(of: key) else { return }
        let state = try? await place.pool.read { PartialState.read(place.state, using: .system) }
        guard state == nil || state?.key == digest else { return }
        await (try? PartialFile.open(at: place, key: digest, using: .system))?.drop()
    }

    /// Returns the response to the last request, with the file as its body. A failure names the file.
    func response(to built: BuiltRequest, over route: CallRoute) async throws -> PulseResponse {
        do {
            return try await stored(built, over: route)
        } catch {
            throw PulseError(wrapping: error).naming(
                request: PulseError.text(of: built.urlRequest, maskedBy: route.call.environment.redaction), file: file)
        }
    }

    private func stored(_ built: BuiltRequest, over route: CallRoute) async throws -> PulseResponse {
        let call = route.call
        try Self.check(built.urlRequest, options)
        let name = options.contentKey ?? built.storableURL.absoluteString
        let place = try target.place(wholeKey ?? name)
        if !options.replacesFile { try await place.pool.read { try place.checkIsFree() } }
        if let background {
            return try await response(by: background, at: place, for: call) {
                try await route.send(built)
            }
        }
        let key = wholeKey == nil ? Self.digest(of: name) : nil
        let partial = try await PartialFile.open(at: place, key: key, using: disk, clock: call.environment.clock)
        let meter = TransferMeter(call, progress)
        PluginContext.Store(call: call)[StoredBodyKey.self] = true
        var work = Work(
            options: options, retryPolicy: retryPolicy, call: call, key: key, partial: partial, meter: meter,
            restarted: restarted)
        do {
            let response = try await work.response { offset, condition in
                try await route.send(built.asking(from: offset, condition))
            }
            await meter.end()
            return response
        } catch {
            await meter.end()
            throw error
        }
    }

    /// Leaves the request to the system. No file is open or locked meanwhile: the app may be suspended.
    private func response(
        by background: BackgroundTransport, at place: DownloadPlace, for call: Call,
        _ send: () async throws -> PulseResponse
    ) async throws -> PulseResponse {
        let meter = TransferMeter(call, progress)
        await meter.begin(attempt: 1)
        background.report { meter.note($0.completed, of: $0.total) }
        // The meter's call has the transport as its clock: a listener that remains would retain them all.
        defer { background.report(nil) }
        do {
            try await Self.check(place)
            let response = try await send()
            if let error = PulseError(validating: response, accepted: .successful, now: call.environment.clock.now) {
                throw error
            }
            guard let content = response.file else { throw PulseError.emptyBody }
            let clock = call.environment.clock
            let stored = try await place.longJobs.abandonableAfterGrace(clock) {
                try DownloadPlace(place, bytesOf: content)
            }
            let partial = try await PartialFile.open(at: stored, key: nil, using: disk, clock: clock)
            var work = Work(
                options: options, retryPolicy: retryPolicy, call: call, key: nil, partial: partial, meter: meter,
                restarted: restarted, isWritten: true)
            let placed = try await work.response { _, _ in response }
            await meter.end()
            return placed
        } catch {
            await meter.end()
            throw error
        }
    }

    private static func check(_ place: DownloadPlace) async throws {
        do {
            try await place.pool.read { try place.check() }
        } catch let failure as TransferFailure {
            throw failure.asPulseError
        }
    }

    /// Throws for requests and options that no download supports, before anything is sent or written.
    static func check(_ request: URLRequest, _ options: Download.Options) throws {
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
    /// The request for the bytes from the offset; for all of them if it is 0.
    fileprivate func asking(from offset: Int64, _ condition: String?) -> BuiltRequest {
        var copy = self
        if offset > 0 { copy.urlRequest.setHeader("Range", to: "bytes=\(offset)-") }
        if let condition { copy.urlRequest.setHeader("If-Range", to: condition) }
        return copy
    }
}

extension DownloadRun {
    /// Performs the actions of the state machine.
    private struct Work {
        let options: Download.Options
        let retryPolicy: RetryPolicy
        let call: Call
        let key: String?
        let partial: PartialFile
        let meter: TransferMeter
        let restarted: (@Sendable (_ reason: String) -> Void)?
        /// Whether the file already has the bytes of the response.
        let isWritten: Bool
        private var machine: StateMachine
        /// The response whose body is stored.
        private var current: PulseResponse?
        private var account: String?
        /// Number of bytes that this download has received.
        private var receivedCount: Int64 = 0

        init(
            options: Download.Options, retryPolicy: RetryPolicy, call: Call, key: String?, partial: PartialFile,
            meter: TransferMeter, restarted: (@Sendable (_ reason: String) -> Void)?, isWritten: Bool = false
        ) {
            self.isWritten = isWritten
            self.options = options
            self.retryPolicy = retryPolicy
            self.call = call
            self.key = key
            self.partial = partial
            self.meter = meter
            self.restarted = restarted
            machine = StateMachine(
                // A range is only defined for GET (RFC 9110, section 14.2), and another method may not be repeated.
                mayResume: call.method == .get && call.delivery == .streamed, hasDigest: options.digest != nil,
                maxAttemptsWithoutProgress: options.maxAttemptsWithoutProgress,
                maxRetryAfter: retryPolicy.maxRetryAfter)
            account = partial.stored?.account
        }

        mutating func response(
            by send: (_ offset: Int64, _ condition: String?) async throws -> PulseResponse
        ) async throws -> PulseResponse {
            var action = machine.start(partial.stored?.content, length: partial.stored?.length ?? 0)
            do {
                while true {
                    if let reason = machine.takeRestartReason() { restarted?(reason) }
                    switch action {
                    case .send(let offset, let condition):
                        if offset == 0, !isWritten { try await partial.cut(to: 0) }
                        action = await head { try await send(offset, condition) }
                    case .append(let offset, let attempt):
                        action = try await body(from: offset, attempt)
                    case .wait(let retry, let least, let error):
                        try await wait(retry, atLeast: least, after: error)
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
                await leave(after: error)
                throw error
            }
        }

        /// Keeps the received bytes if a later download can resume from them.
        private func leave(after error: any Error) async {
            // A later attempt or another call may put the same bytes in place.
            let error = PulseError(wrapping: error)
            if isWritten, error.isOfTheDestination || error.kind == .cancelled { return }
            if options.keepsPartial, key != nil, machine.isResumable {
                // The error of the download counts, not that of keeping its bytes.
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
                let sentFor = call.account.identifier.map { DownloadRun.digest(of: $0) ?? "" }
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

        private mutating func body(from offset: Int64, _ attempt: Int) async throws -> StateMachine.Action {
            guard let response = current else { return .finish }
            await meter.begin(attempt: attempt)
            let total = machine.content.total
            if case .file = response.body {
                // A transport without streams has written the file.
                let length = try await partial.adopt()
                receivedCount = length
                guard machine.receive(length) != nil else { return machine.receivedTooMuch() }
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
                    receivedCount += Int64(chunk.count)
                    guard let new = machine.receive(Int64(chunk.count)) else {
                        stream.cancel()
                        return machine.receivedTooMuch()
                    }
                    do {
                        try await partial.append(chunk.suffix(Int(clamping: new)), of: total)
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
            return machine.ended()
        }

        /// Throws the error at once if the deadline comes first.
        private func wait(_ retry: Int, atLeast least: TimeInterval, after error: PulseError) async throws {
            let environment = call.environment
            let delay = max(
                retryPolicy.backoffStrategy.delay(beforeRetry: retry, randomness: environment.randomness), least)
            if let deadline = call.deadline, environment.clock.uptime + delay >= deadline { throw error }
            try await environment.clock.sleep(delay, for: .backoff)
        }

        private func finish() async throws -> PulseResponse {
            guard var response = current else { throw PulseError.emptyBody }
            try await partial.trim(to: machine.length)
            await meter.begin(attempt: machine.attempt)
            meter.note(machine.length, of: machine.content.total ?? (machine.length == 0 ? 0 : nil))
            let expected = [options.digest?.hex, machine.content.digest].compactMap { $0 }
            if !expected.isEmpty, let digest = try await partial.sha256() {
                guard expected.allSatisfy({ $0 == digest }) else {
                    await partial.drop()
                    throw TransferFailure.digestMismatch.asPulseError
                }
            }
            try Task.checkCancellation()
            let name = machine.content.name ?? response.request.url.flatMap { SafeFileName.from($0.lastPathComponent) }
            let file = try await partial.finish(name: name, replacesFile: options.replacesFile)
            response.body = .file(file)
            call.storedByteCount = Int(clamping: receivedCount)
            return response
        }
    }
}
