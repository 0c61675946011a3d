// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// One request over a connection in the clear, from its sender's task: it writes and reads there and then, and the loop
/// tells it when there is something to do. In a crowd the loop does the first of both.
struct HTTP1Exchange: Sendable {
    private let request: TransportRequest
    private let outgoing: HTTP1Request
    private let origin: Origin
    private let limit: Int
    private let loop: CurlLoop
    private let startedAt: TimeInterval

    /// Nil for a request that is libcurl's.
    init?(_ request: TransportRequest, _ url: URL, _ origin: Origin, _ loop: CurlLoop, startedAt: TimeInterval) throws {
        guard case .buffered(let limit) = request.delivery,
            let outgoing = try HTTP1Request(request, url, origin, hasNoProxyAround: loop.hasNoProxyAround)
        else { return nil }
        try CurlRequest.validate(request)
        (self.request, self.outgoing, self.origin, self.limit) = (request, outgoing, origin, limit)
        (self.loop, self.startedAt) = (loop, startedAt)
    }

    /// - Parameter id: for the transfer of libcurl that makes a connection.
    func run(id: UInt64) async throws -> PulseResponse {
        var timings = TransferTimings()
        let queuedAt = pulse_monotonic_now()
        timings.queued = queuedAt - startedAt
        let manner = loop.plain.enter()
        defer { loop.plain.leave(seconds: pulse_monotonic_now() - queuedAt) }
        while !request.needsNewConnection,
            let connection = try loop.plain.take(origin, now: queuedAt, mayBeResent: request.mayBeResent)
        {
            // The loop looks itself, before it sends.
            guard manner == .crowded || connection.isQuiet else {
                loop.plain.giveBack(connection, mayRest: false, now: queuedAt)
                continue
            }
            timings.isConnectionReused = true
            // Nothing has left of a request whose connection was found dead: then it goes over another one.
            if let response = try await exchange(over: connection, &timings, manner, isReused: true) { return response }
        }
        let made = try await loop.connect(
            to: outgoing.server, for: request, id: id, queued: pulse_monotonic_now() - startedAt)
        let connection = try loop.plain.add(made.descriptor, origin, remoteAddress: made.timings.remoteAddress)
        timings = made.timings
        timings.queued = queuedAt - startedAt
        let later = manner == .hasty ? .usual : manner
        guard let response = try await exchange(over: connection, &timings, later, isReused: false) else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        return response
    }

    /// Nil if a connection that was used before turned out to be dead before a byte of the request has left.
    private func exchange(
        over connection: HTTP1Connection, _ timings: inout TransferTimings, _ manner: HTTP1ConnectionPool.Manner,
        isReused: Bool
    ) async throws -> PulseResponse? {
        var course = Course(isReused: isReused, reader: HTTP1ResponseParser(isHead: outgoing.isHead, limit: limit))
        let turn = loop.begin(over: connection, looksItself: manner == .hasty)
        let outcome: Result<Void, any Error>
        do {
            try await withTaskCancellationHandler {
                try await converse(over: connection, &course, manner)
            } onCancel: {
                connection.end(.cancelled, turn: turn)
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        let now = pulse_monotonic_now()
        let isUnharmed = connection.finish(idleLimit: course.reader.idleLimit)
        let mayRest = isUnharmed && course.isWhole && course.reader.keepsConnection
        loop.plain.giveBack(connection, mayRest: mayRest, now: now)
        switch outcome {
        case .success: return try response(course, &timings, connection, now: now)
        case .failure(let error):
            if let failure = failure(error, course) { throw failure }
            return nil
        }
    }

    /// How far an exchange has got.
    private struct Course {
        let isReused: Bool
        var reader: HTTP1ResponseParser
        /// What the loop has read, and the reader has not.
        var arrival: HTTP1Connection.Arrival?
        var sentCount = 0
        var sentAt: TimeInterval?
        var firstByteAt: TimeInterval?
        var lastActivity: TimeInterval = 0
        /// Why no more of the request can be sent. An answer may have come before that.
        var sendFailure: HTTP1Connection.Broken?
        /// Whether all of the request has left and all of the answer has come.
        var isWhole = false

        var isSending: Bool { sentAt == nil && sendFailure == nil }

        mutating func note(_ sent: HTTP1Connection.SendResult, of count: Int) {
            sendFailure = sent.failure
            guard sent.sentCount > 0 else { return }
            sentCount += sent.sentCount
            lastActivity = sent.time
            if sentCount == count { sentAt = sent.time }
        }
    }

    /// Writes and reads until the answer is whole, which it may be before the request is.
    private func converse(
        over connection: HTTP1Connection, _ course: inout Course, _ manner: HTTP1ConnectionPool.Manner
    ) async throws {
        try connection.check()
        course.lastActivity = pulse_monotonic_now()
        var lookLimit = manner == .hasty ? course.lastActivity + CurlSpinPolicy.patience : -.infinity
        // At first reading would be in vain: a server takes its time.
        var mayRead = manner == .hasty
        var leavesSending = manner == .crowded
        var readCount = 0
        while !course.reader.isComplete {
            if course.isSending, !leavesSending { send(over: connection, &course) }
            if mayRead || course.sendFailure != nil, try read(connection, &course) {
                try connection.check()
                readCount += 1
                // The thread is one of few.
                if readCount % 64 == 0 { await Task.yield() }
            } else if let failure = course.sendFailure {
                throw failure
            } else if mayLook(until: &lookLimit) {
                // The server may wait for this very processor.
                sched_yield()
            } else {
                let deadline = course.lastActivity + request.idleTimeout
                let (sends, isSending) = (leavesSending, course.isSending)
                let news = await connection.wait(until: deadline, sending: sends ? outgoing.bytes : nil) {
                    loop.attend(to: $0, until: deadline, sends: sends, orWriting: isSending)
                }
                if let sent = news.sent { course.note(sent, of: outgoing.bytes.count) }
                if let end = news.end { throw end }
                course.arrival = news.arrival
                (leavesSending, mayRead) = (false, true)
            }
        }
        course.isWhole = course.sentAt != nil
    }

    private func send(over connection: HTTP1Connection, _ course: inout Course) {
        course.note(connection.send(outgoing.bytes[course.sentCount...]), of: outgoing.bytes.count)
    }

    /// Whether the sender goes on looking for the answer itself: for a moment, while no other request is under way.
    private func mayLook(until limit: inout TimeInterval) -> Bool {
        guard limit > -.infinity else { return false }
        let isInTime = pulse_monotonic_now() < limit
        if isInTime, !loop.plain.isShared { return true }
        if !isInTime { loop.plain.noteVainHaste() }
        limit = -.infinity
        return false
    }

    /// False if there is nothing to read yet.
    private func read(_ connection: HTTP1Connection, _ course: inout Course) throws -> Bool {
        switch course.arrival.take() {
        case .bytes(let bytes): try bytes.withUnsafeBytes { try read($0, &course) }
        case .end: try readEnd(&course)
        case .broken(let failure): throw failure
        case nil:
            return try withUnsafeTemporaryAllocation(byteCount: 32 << 10, alignment: 16) { buffer in
                switch try connection.receive(buffer) {
                case .bytes(let count): try read(UnsafeRawBufferPointer(rebasing: buffer[..<count]), &course)
                case .end: try readEnd(&course)
                case .nothingYet: return false
                }
                return true
            }
        }
        return true
    }

    private func read(_ bytes: UnsafeRawBufferPointer, _ course: inout Course) throws {
        course.lastActivity = pulse_monotonic_now()
        if course.firstByteAt == nil { course.firstByteAt = course.lastActivity }
        try course.reader.read(bytes)
    }

    private func readEnd(_ course: inout Course) throws {
        guard try course.reader.readEnd() else { throw HTTP1Connection.Broken(number: 0) }
    }

    // MARK: The outcome

    private func response(
        _ course: Course, _ timings: inout TransferTimings, _ connection: HTTP1Connection, now: TimeInterval
    ) throws -> PulseResponse {
        guard let head = course.reader.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        var headers = head.headers
        if course.reader.isDecoded { headers.removeContentFields() }
        timings.requestSent = course.sentAt.map { $0 - startedAt }
        timings.firstByte = course.firstByteAt.map { $0 - startedAt }
        timings.lastByte = now - startedAt
        timings.networkProtocol = course.reader.isVersion10 ? "http/1.0" : "http/1.1"
        timings.remoteAddress = connection.remoteAddress
        timings.bytesReceived = course.reader.body.receivedCount
        timings.bytesDecoded = Int64(course.reader.body.data.count)
        return PulseResponse(
            statusCode: head.statusCode, headers: headers, data: course.reader.body.data, request: request.urlRequest,
            timings: timings, isTruncated: false)
    }

    /// What an error means; nil if nothing has left over a connection that was used before: another one can take its
    /// place.
    private func failure(_ error: any Error, _ course: Course) -> (any Error)? {
        let phase: PulseError.Phase =
            course.reader.hasBegun ? .responseStarted : course.sentCount > 0 ? .maybeSent : .beforeSend
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
            if course.isReused, phase == .beforeSend { return nil }
            // The server closed it as the request was on its way, or a router had forgotten it. Whether the request
            // goes out again is decided where plugins and events see it.
            let isStale = course.isReused && phase == .maybeSent
            if isStale { loop.plain.dropIdle(origin) }
            let cause = broken.number == 0 ? nil : POSIXErrorCode(rawValue: broken.number).map { POSIXError($0) }
            return TransportFailure(
                code: .networkConnectionLost, phase: phase, underlying: cause, isStaleConnection: isStale)
        case var failure as TransportFailure where failure.code == .cannotDecodeContentData:
            failure.response = course.reader.head.map {
                PulseResponse(statusCode: $0.statusCode, headers: $0.headers, request: request.urlRequest)
            }
            return failure
        default:
            return error
        }
    }
}
#endif
