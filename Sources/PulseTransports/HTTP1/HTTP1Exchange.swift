// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// One request over a cleartext connection, on its sender's task.
struct HTTP1Exchange: Sendable {
    let origin: Origin
    private let request: TransportRequest
    private let outgoing: HTTP1Request
    private let limit: Int
    private let transport: HTTP1Transport
    private let startedAt: TimeInterval

    /// Nil for a request that libcurl must handle.
    init?(_ request: TransportRequest, _ transport: HTTP1Transport, startedAt: TimeInterval) throws {
        guard case .buffered(let limit) = request.delivery, let url = request.urlRequest.url, let origin = Origin(url),
            let outgoing = try HTTP1Request(
                request, url, origin, hasNoProxyAround: transport.hasNoProxyAround)
        else { return nil }
        try CurlRequest.validate(request)
        (self.request, self.outgoing, self.origin, self.limit) = (request, outgoing, origin, limit)
        (self.transport, self.startedAt) = (transport, startedAt)
    }

    /// - Parameter isBatched: whether the loop sends the request, together with others.
    func run(isBatched: Bool) async throws -> PulseResponse {
        let queuedAt = pulse_monotonic_now()
        var timings = TransferTimings()
        timings.queued = queuedAt - startedAt
        timings.isConnectionReused = true
        while !request.needsNewConnection,
            let pooled = try transport.pool.take(origin, now: queuedAt, mayBeResent: request.mayBeResent)
        {
            // Nothing was sent on a stale connection, so the request can use another one.
            if let response = try await exchange(over: pooled, timings, isReused: true, isBatched) {
                return response
            }
        }
        let made = try await transport.connect(
            to: outgoing.server, origin, for: request, queued: pulse_monotonic_now() - startedAt)
        timings = made.timings
        timings.queued = queuedAt - startedAt
        guard let response = try await exchange(over: made.pooled, timings, isReused: false, isBatched) else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        return response
    }

    /// Nil if a reused connection turned out stale before a byte of the request was sent.
    private func exchange(
        over pooled: PooledConnection, _ timings: TransferTimings, isReused: Bool, _ isBatched: Bool
    ) async throws -> PulseResponse? {
        let connection = pooled.connection
        var parser = HTTP1ResponseParser(isHead: outgoing.isHead, limit: limit)
        var timings = timings
        do {
            connection.begin(idleTimeout: request.idleTimeout)
            connection.send(outgoing.bytes, ifIdle: isReused, isBatched: isBatched)
            try await read(from: connection, into: &parser, &timings)
        } catch {
            // Before the sent bytes are counted: the loop may be about to send.
            connection.close()
            if let failure = failure(error, parser, isReused: isReused, sentCount: connection.sent.count) {
                throw failure
            }
            return nil
        }
        let now = pulse_monotonic_now()
        let sent = connection.sent
        // The response may have come before the whole request was sent.
        let isSent = sent.count == outgoing.bytes.count
        if isSent { timings.requestSent = sent.time - startedAt }
        timings.lastByte = now - startedAt
        if isSent, parser.keepsConnection {
            var pooled = pooled
            pooled.idleLimit = parser.idleLimit ?? pooled.idleLimit
            transport.pool.keep(pooled, now: now)
        }
        return try response(parser, timings, connection.remoteAddress)
    }

    /// The connection has failed or ended early.
    private struct Lost: Error {
        let cause: any Error
    }

    /// Reads until the response is complete.
    private func read(
        from connection: any ReusableConnection, into parser: inout HTTP1ResponseParser,
        _ timings: inout TransferTimings
    ) async throws {
        var readCount = 0
        while !parser.isComplete {
            let bytes: Data?
            do {
                bytes = try await connection.read()
            } catch {
                throw Lost(cause: error)
            }
            if timings.firstByte == nil { timings.firstByte = pulse_monotonic_now() - startedAt }
            if let bytes {
                try bytes.withUnsafeBytes { try parser.read($0) }
            } else if try !parser.readEnd() {
                throw Lost(cause: TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
            }
            readCount += 1
            // The cooperative pool has few threads.
            if readCount % 64 == 0 { await Task.yield() }
        }
    }

    // MARK: Outcome

    private func response(
        _ parser: HTTP1ResponseParser, _ timings: TransferTimings, _ remoteAddress: String?
    ) throws -> PulseResponse {
        guard let head = parser.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        var headers = head.headers
        if parser.isDecoded { headers.removeContentFields() }
        var timings = timings
        timings.networkProtocol = parser.isVersion10 ? "http/1.0" : "http/1.1"
        timings.remoteAddress = remoteAddress
        timings.bytesReceived = parser.body.receivedCount
        timings.bytesDecoded = Int64(parser.body.data.count)
        return PulseResponse(
            statusCode: head.statusCode, headers: headers, data: parser.body.data, request: request.urlRequest,
            timings: timings, isTruncated: false)
    }

    /// The meaning of an error; nil if nothing was sent over a reused connection, so that another one can replace it.
    private func failure(
        _ error: any Error, _ parser: HTTP1ResponseParser, isReused: Bool, sentCount: Int
    ) -> (any Error)? {
        let phase: PulseError.Phase = parser.hasBegun ? .responseStarted : sentCount > 0 ? .maybeSent : .beforeSend
        switch error {
        case is HTTP1ResponseParser.Malformed:
            return TransportFailure(code: .badServerResponse, phase: .responseStarted)
        case let lost as Lost:
            guard let cause = lost.cause as? TransportFailure else { return lost.cause }
            let isLost = cause.code == .networkConnectionLost
            if isLost, isReused, phase == .beforeSend { return nil }
            // The server closed it while the request was on its way, or a router had dropped it. Resends are decided
            // where plugins and events see them.
            let isStale = isLost && isReused && phase == .maybeSent
            if isStale { transport.pool.dropIdle(origin) }
            return TransportFailure(
                code: cause.code, phase: phase, underlying: cause.underlying, isStaleConnection: isStale)
        case var failure as TransportFailure where failure.code == .cannotDecodeContentData:
            failure.response = parser.head.map {
                PulseResponse(statusCode: $0.statusCode, headers: $0.headers, request: request.urlRequest)
            }
            return failure
        default:
            return error
        }
    }
}
#endif
