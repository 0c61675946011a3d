// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform
import PulseTransports

/// The transport of one background transfer: hands requests over to the system, and delivers their outcomes. Only the
/// first request of a call takes over the transfer of an earlier process.
///
/// The system follows redirects itself, retries where it can, and evaluates certificates while the app does not run: so
/// the transport has no capabilities, and refuses redirect policies other than the default.
final class BackgroundTransport: Transport {
    private struct State {
        /// Nil until the request of an upload is known.
        var id: String?
        var mayTakeOver = true
        /// Whether the latest request has an outcome, after which the system can do the waiting.
        var hasOutcome = false
        /// Whether that outcome is a response.
        var hasResponse = false
        /// Whether there ever was an outcome: without one, the transfer may be another call's.
        var isOwner = false
        /// Seconds before the next request may be sent.
        var delay: TimeInterval = 0
        var progress: (@Sendable (TransferProgress) -> Void)?
    }

    let transfers: BackgroundTransfers
    private let clock: any PulseClock
    private let state: Locked<State>

    /// - Parameter id: names the transfer, also after a relaunch; nil for an upload, which its request identifies.
    init(_ transfers: BackgroundTransfers, id: String?, clock: any PulseClock) {
        self.transfers = transfers
        self.clock = clock
        state = Locked(State(id: id))
    }

    /// The name of the transfer; nil if nothing was handed over.
    var id: String? { state.withLock { $0.id } }

    /// Sets the listener for the progress of a download.
    func report(_ progress: (@Sendable (TransferProgress) -> Void)?) {
        state.withLock { $0.progress = progress }
    }

    /// Leaves the wait before the next request to the system. Returns false if the caller must wait.
    func defers(_ seconds: TimeInterval) -> Bool {
        state.withLock { state in
            guard state.hasOutcome else { return false }
            (state.hasOutcome, state.delay) = (false, seconds)
            return true
        }
    }

    /// Ends the call; nil means success. A later call takes over the outcome if this one was cancelled, found another
    /// account, or could not write the file.
    func end(_ error: PulseError?) async {
        guard let id = state.withLock({ $0.isOwner ? $0.id : nil }) else { return }
        let isKept = error?.kind == .cancelled || error?.meansAnotherAccount == true
        let hasContent = state.withLock { $0.hasResponse } && error?.isOfTheDestination == true
        if isKept || hasContent { await transfers.leave(id) } else { await transfers.settle(id) }
    }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        try check(request)
        let upload = try await upload(of: request.body)
        try await transfers.start()
        let entry = try entry(for: request, upload)
        // The app may be suspended for longer, and the system has its own limit.
        request.context?.call.liftDeadline()
        while true {
            let (mayTakeOver, delay) = state.withLock { state in
                defer { (state.delay, state.hasOutcome) = (0, false) }
                return (state.mayTakeOver, state.delay)
            }
            let handOver = BackgroundCoordinator.HandOver(
                entry: entry, request: prepared(request), upload: upload,
                notBefore: delay > 0 ? clock.now.addingTimeInterval(delay) : nil, mayTakeOver: mayTakeOver)
            let listener = upload == nil ? state.withLock { $0.progress } : request.progress
            let delivery = try await transfers.delivery(of: handOver) { listener?($0) }
            state.withLock { state in
                (state.mayTakeOver, state.hasOutcome, state.hasResponse) = (false, true, delivery.isResponse)
                state.isOwner = true
            }
            if let response = try await delivery.response(to: request.urlRequest) { return response }
        }
    }

    private func check(_ request: TransportRequest) throws {
        if let policy = request.context?.call.options.redirectPolicy, policy.maxHops ?? 0 < 10 {
            throw PulseError.unsupported("the system follows redirects in the background, whatever the policy")
        }
        guard let url = request.urlRequest.url, Origin(url) != nil, url.user == nil, url.password == nil else {
            throw PulseError.unsupported("a transfer in the background needs a URL without credentials")
        }
        switch (request.delivery, request.body) {
        case (.file, .none): break
        case (.file, _): throw PulseError.unsupported("a download in the background has no request body")
        case (.buffered, .file) where request.urlRequest.httpMethod ?? "GET" != "GET": break
        default: throw PulseError.unsupported("an upload in the background needs a body that is a file, and no GET")
        }
    }

    private func upload(of body: TransportRequest.Body) async throws -> UploadedFile? {
        guard case .file(let file) = body else { return nil }
        return try await UploadedFile.at(file)
    }

    private func prepared(_ request: TransportRequest) -> URLRequest {
        var urlRequest = request.urlRequest
        urlRequest.timeoutInterval = min(request.idleTimeout, 1_000_000_000)
        urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
        urlRequest.httpShouldHandleCookies = false
        return urlRequest
    }

    private func entry(for request: TransportRequest, _ upload: UploadedFile?) throws -> BackgroundEntry {
        // The URL before the plugins: one of them may add a signature that expires.
        let url = (request.context?.url ?? request.urlRequest.url)?.absoluteString ?? ""
        let file = upload.map { transfers.name(of: $0.url) } ?? ""
        let name = [request.urlRequest.httpMethod ?? "GET", url, file].joined(separator: "\n")
        let digest = try Self.digest(of: name)
        let id = state.withLock { state in
            let id = state.id ?? String(digest.prefix(32))
            state.id = id
            return id
        }
        let version = upload.map { "\n\($0.stamp.size)\n\($0.stamp.modified)" } ?? ""
        let account = request.context?.call.account.identifier
        return BackgroundEntry(
            id: id, isUpload: upload != nil, request: try Self.digest(of: name + version),
            account: try account.map { try Self.digest(of: $0) })
    }

    private static func digest(of text: String) throws -> String {
        guard let digest = SystemHashes.library?.sha256(text)?.hex else {
            throw PulseError.unsupported("a transfer in the background needs the system's SHA-256")
        }
        return digest
    }
}

extension BackgroundCoordinator.Delivery {
    var isResponse: Bool {
        if case .response = entry.outcome { true } else { false }
    }

    /// Returns the response; nil if the request must be sent again, because its content is gone or was resumed as
    /// another one. Throws the failure of the task.
    func response(to request: URLRequest) async throws -> PulseResponse? {
        let (head, body): (BackgroundHead, Data?)
        switch entry.outcome {
        case .response(let ownHead, let ownBody): (head, body) = (ownHead, ownBody)
        case .failure(let failure): throw failure.asTransportFailure
        case .tooLarge(let limit): throw PulseError.responseTooLarge(limit: limit)
        case nil: throw BackgroundFailure.lost.asTransportFailure
        }
        if request.url?.scheme?.lowercased() == "https", head.url?.lowercased().hasPrefix("http:") == true {
            throw TransportFailure(code: .appTransportSecurityRequiresSecureConnection, phase: .responseStarted)
        }
        var response = PulseResponse(
            statusCode: head.status, headers: head.headers, data: body ?? Data(), request: request)
        response.isDecoded = head.isDecoded
        guard !entry.isUpload else { return response }
        let file = content
        let pool = BlockingThreadPool.files(of: file)
        guard (200..<300).contains(head.status) else {
            response.data = try await pool.read { try Self.bytes(of: file) }
            response.isTruncated = response.data.count > PulseResponse.errorBodyLimit
            response.data = response.data.prefix(PulseResponse.errorBodyLimit)
            return response
        }
        let isInFile = body == nil
        let length = try await pool.read { try Self.length(of: file, mayBeMissing: !isInFile) }
        // An earlier call has moved the file.
        guard let length else { return nil }
        if entry.isResumed, head.status == 206, !response.becomeWhole(length) { return nil }
        response.body = .file(file)
        return response
    }

    private static func bytes(of file: URL) throws -> Data {
        guard FileManager.default.fileExists(atPath: file.path) else { return Data() }
        let handle = try FileHandle.reading(file)
        defer { try? handle.close() }
        return try handle.read(upToCount: PulseResponse.errorBodyLimit + 1) ?? Data()
    }

    /// Nil for a missing file. Empty content may have no file yet.
    private static func length(of file: URL, mayBeMissing: Bool) throws -> Int64? {
        if let stamp = try? FileStamp(path: file.path) { return stamp.size }
        guard mayBeMissing else { return nil }
        try Data().write(to: file)
        return 0
    }
}

extension PulseError {
    /// Whether the file of a download could not be written.
    var isOfTheDestination: Bool {
        if case .transport(.cannotWriteToFile, _) = self { true } else { false }
    }
}

extension PulseResponse {
    /// Turns a 206, whose part the system has appended, into the response for the whole content. Returns false if the
    /// file has another length.
    fileprivate mutating func becomeWhole(_ length: Int64) -> Bool {
        guard let part = headers["Content-Range"].flatMap({ ContentRange($0) }), Int64(part.range.upperBound) == length,
            part.length.map({ Int64($0) == length }) ?? true
        else { return false }
        statusCode = 200
        headers.remove("Content-Range")
        // The digest covers only the part.
        headers.remove("Content-Digest")
        headers["Content-Length"] = "\(length)"
        return true
    }
}

extension PulseClient {
    /// The transport and environment of a background transfer, without connectivity: the system waits for connections.
    func substitute(_ transport: BackgroundTransport) -> CallShape.Substitute {
        let clock = BackgroundClock(base: configuration.clock, transport: transport)
        return CallShape.Substitute(
            transport,
            in: CallEnvironment(configuration, events: environment.events, clock: clock, connectivity: nil))
    }
}

/// The clock of a background transfer. It leaves the waits between requests to the system, so that they continue while
/// the app is suspended.
struct BackgroundClock: PulseClock {
    let base: any PulseClock
    let transport: BackgroundTransport

    var now: Date { base.now }
    var uptime: TimeInterval { base.uptime }
    var isVirtual: Bool { base.isVirtual }

    func sleep(_ seconds: TimeInterval) async throws { try await base.sleep(seconds) }

    func sleep(_ seconds: TimeInterval, for purpose: SleepPurpose) async throws {
        try Task.checkCancellation()
        guard purpose != .backoff || !transport.defers(seconds) else { return }
        try await base.sleep(seconds, for: purpose)
    }
}
