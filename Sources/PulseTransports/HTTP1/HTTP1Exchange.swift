// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// One request over a cleartext connection, on its sender's task. The task writes and reads without blocking, and the
/// loop signals when more is possible. With many exchanges under way the loop does the first write and read.
struct HTTP1Exchange: Sendable {
    private let request: TransportRequest
    private let outgoing: HTTP1Request
    private let origin: Origin
    private let limit: Int
    private let loop: CurlLoop
    private let startedAt: TimeInterval

    /// Nil for a request that libcurl must handle.
    init?(_ request: TransportRequest, _ url: URL, _ origin: Origin, _ loop: CurlLoop, startedAt: TimeInterval) throws {
        guard case .buffered(let limit) = request.delivery,
            let outgoing = try HTTP1Request(request, url, origin, hasNoProxyAround: loop.hasNoProxyAround)
        else { return nil }
        try CurlRequest.validate(request)
        (self.request, self.outgoing, self.origin, self.limit) = (request, outgoing, origin, limit)
        (self.loop, self.startedAt) = (loop, startedAt)
    }

    /// - Parameter id: for the libcurl transfer that opens a connection.
    func run(id: UInt64) async throws -> PulseResponse {
        var timings = TransferTimings()
        let queuedAt = pulse_monotonic_now()
        timings.queued = queuedAt - startedAt
        let manner = loop.plain.enter()
        defer { loop.plain.leave() }
        while !request.needsNewConnection,
            let connection = try loop.plain.take(origin, now: queuedAt, mayBeResent: request.mayBeResent)
        {
            // In the crowded manner the loop checks the connection before it sends.
            guard manner == .crowded || connection.isQuiet else {
                loop.plain.release(connection, isReusable: false, now: queuedAt)
                continue
            }
            timings.isConnectionReused = true
            // Nothing was sent on the stale connection, so the request can use another one.
            if let response = try await exchange(over: connection, &timings, manner, isReused: true) { return response }
        }
        let made = try await loop.connect(
            to: outgoing.server, for: request, id: id, queued: pulse_monotonic_now() - startedAt)
        let connection = try loop.plain.add(made.descriptor, origin, remoteAddress: made.timings.remoteAddress)
        timings = made.timings
        timings.queued = queuedAt - startedAt
        guard let response = try await exchange(over: connection, &timings, manner, isReused: false) else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        return response
    }

    /// Nil if a reused connection turned out stale before a byte of the request was sent.
    private func exchange(
        over connection: HTTP1Connection, _ timings: inout TransferTimings, _ manner: HTTP1ConnectionPool.Manner,
        isReused: Bool
    ) async throws -> PulseResponse? {
        var progress = Progress(isReused: isReused, parser: HTTP1ResponseParser(isHead: outgoing.isHead, limit: limit))
        let exchangeID = loop.begin(over: connection)
        let outcome: Result<Void, any Error>
        do {
            try await withTaskCancellationHandler {
                try await transfer(over: connection, &progress, manner)
            } onCancel: {
                connection.end(.cancelled, exchangeID: exchangeID)
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        let now = pulse_monotonic_now()
        let isUsable = connection.finish(idleLimit: progress.parser.idleLimit)
        let isReusable = isUsable && progress.isComplete && progress.parser.keepsConnection
        loop.plain.release(connection, isReusable: isReusable, now: now)
        switch outcome {
        case .success: return try response(progress, &timings, connection, now: now)
        case .failure(let error):
            if let failure = failure(error, progress) { throw failure }
            return nil
        }
    }

    /// The progress of an exchange.
    private struct Progress {
        let isReused: Bool
        var parser: HTTP1ResponseParser
        /// The bytes that the loop has read and the parser has not.
        var arrival: HTTP1Connection.Arrival?
        var sentCount = 0
        var sentAt: TimeInterval?
        var firstByteAt: TimeInterval?
        var lastActivity: TimeInterval = 0
        /// Why no more of the request can be sent. A response may have come before that.
        var sendFailure: HTTP1Connection.Broken?
        /// Whether the request is completely sent and the response completely received.
        var isComplete = false

        var isSending: Bool { sentAt == nil && sendFailure == nil }

        mutating func note(_ sent: HTTP1Connection.SendResult, of count: Int) {
            sendFailure = sent.failure
            guard sent.sentCount > 0 else { return }
            sentCount += sent.sentCount
            lastActivity = sent.time
            if sentCount == count { sentAt = sent.time }
        }
    }

    /// Writes and reads until the response is complete, possibly before the request is.
    private func transfer(
        over connection: HTTP1Connection, _ progress: inout Progress, _ manner: HTTP1ConnectionPool.Manner
    ) async throws {
        try connection.check()
        progress.lastActivity = pulse_monotonic_now()
        // The first read would find nothing: a server needs some time.
        var mayRead = false
        var leavesSending = manner == .crowded
        var readCount = 0
        while !progress.parser.isComplete {
            if progress.isSending, !leavesSending { send(over: connection, &progress) }
            if mayRead || progress.sendFailure != nil, try read(connection, &progress) {
                try connection.check()
                readCount += 1
                // The cooperative pool has few threads.
                if readCount % 64 == 0 { await Task.yield() }
            } else if let failure = progress.sendFailure {
                throw failure
            } else {
                let deadline = progress.lastActivity + request.idleTimeout
                let (sends, isSending) = (leavesSending, progress.isSending)
                let events = await connection.wait(until: deadline, sending: sends ? outgoing.bytes : nil) {
                    loop.attend(to: $0, until: deadline, sends: sends, orWriting: isSending)
                }
                if let sent = events.sent { progress.note(sent, of: outgoing.bytes.count) }
                if let end = events.end { throw end }
                progress.arrival = events.arrival
                (leavesSending, mayRead) = (false, true)
            }
        }
        progress.isComplete = progress.sentAt != nil
    }

    private func send(over connection: HTTP1Connection, _ progress: inout Progress) {
        progress.note(connection.send(outgoing.bytes[progress.sentCount...]), of: outgoing.bytes.count)
    }

    /// False if there is nothing to read yet.
    private func read(_ connection: HTTP1Connection, _ progress: inout Progress) throws -> Bool {
        switch progress.arrival.take() {
        case .bytes(let bytes): try bytes.withUnsafeBytes { try read($0, &progress) }
        case .end: try readEnd(&progress)
        case .broken(let failure): throw failure
        case nil:
            return try withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 16) { buffer in
                switch try connection.receive(buffer) {
                case .bytes(let count): try read(UnsafeRawBufferPointer(rebasing: buffer[..<count]), &progress)
                case .end: try readEnd(&progress)
                case .nothingYet: return false
                }
                return true
            }
        }
        return true
    }

    private func read(_ bytes: UnsafeRawBufferPointer, _ progress: inout Progress) throws {
        progress.lastActivity = pulse_monotonic_now()
        if progress.firstByteAt == nil { progress.firstByteAt = progress.lastActivity }
        try progress.parser.read(bytes)
    }

    private func readEnd(_ progress: inout Progress) throws {
        guard try progress.parser.readEnd() else { throw HTTP1Connection.Broken(number: 0) }
    }

    // MARK: Outcome

    private func response(
        _ progress: Progress, _ timings: inout TransferTimings, _ connection: HTTP1Connection, now: TimeInterval
    ) throws -> PulseResponse {
        guard let head = progress.parser.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        var headers = head.headers
        if progress.parser.isDecoded { headers.removeContentFields() }
        timings.requestSent = progress.sentAt.map { $0 - startedAt }
        timings.firstByte = progress.firstByteAt.map { $0 - startedAt }
        timings.lastByte = now - startedAt
        timings.networkProtocol = progress.parser.isVersion10 ? "http/1.0" : "http/1.1"
        timings.remoteAddress = connection.remoteAddress
        timings.bytesReceived = progress.parser.body.receivedCount
        timings.bytesDecoded = Int64(progress.parser.body.data.count)
        return PulseResponse(
            statusCode: head.statusCode, headers: headers, data: progress.parser.body.data, request: request.urlRequest,
            timings: timings, isTruncated: false)
    }

    /// The meaning of an error; nil if nothing was sent over a reused connection, so that another one can replace it.
    private func failure(_ error: any Error, _ progress: Progress) -> (any Error)? {
        let phase: PulseError.Phase =
            progress.parser.hasBegun ? .responseStarted : progress.sentCount > 0 ? .maybeSent : .beforeSend
        switch error {
        case is HTTP1ResponseParser.Malformed:
            return TransportFailure(code: .badServerResponse, phase: .responseStarted)
        case HTTP1Connection.End.cancelled:
            return CancellationError()
        case HTTP1Connection.End.unwatched:
            return TransportFailure(code: .resourceUnavailable, phase: phase)
        case HTTP1Connection.End.timedOut:
            return TransportFailure(code: .timedOut, phase: phase)
        case HTTP1Connection.End.stale:
            return nil
        case let broken as HTTP1Connection.Broken:
            if progress.isReused, phase == .beforeSend { return nil }
            // The server closed it while the request was on its way, or a router had dropped it. Resends are decided
            // where plugins and events see them.
            let isStale = progress.isReused && phase == .maybeSent
            if isStale { loop.plain.dropIdle(origin) }
            let cause = broken.number == 0 ? nil : POSIXErrorCode(rawValue: broken.number).map { POSIXError($0) }
            return TransportFailure(
                code: .networkConnectionLost, phase: phase, underlying: cause, isStaleConnection: isStale)
        case var failure as TransportFailure where failure.code == .cannotDecodeContentData:
            failure.response = progress.parser.head.map {
                PulseResponse(statusCode: $0.statusCode, headers: $0.headers, request: request.urlRequest)
            }
            return failure
        default:
            return error
        }
    }
}
#endif
