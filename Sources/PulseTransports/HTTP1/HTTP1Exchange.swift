// SPDX-License-Identifier: MIT

import PulseCore

/// What an exchange gets its connections from.
protocol HTTP1Connector: Sendable {
    /// The idle connections; nil without any.
    var pool: HTTP1ConnectionPool? { get }

    /// Opens a connection to the server of a URL.
    ///
    /// - Parameter queued: the seconds for which the request has waited.
    func open(
        to server: String, isSecure: Bool, for request: TransportRequest, queued: TimeInterval
    ) async throws -> (connection: any ReusableConnection, timings: TransferTimings)
}

/// One request over HTTP/1.1, on its sender's task. An upgrade has a new connection, which it keeps.
struct HTTP1Exchange: Sendable {
    /// The maximum size of a refused upgrade's body.
    private static let refusalLimit = 64 << 10

    let origin: Origin
    private let key: ConnectionKey
    private let request: TransportRequest
    private let outgoing: HTTP1Request
    private let isUpgrade: Bool
    private let connector: any HTTP1Connector
    private let startedAt: TimeInterval

    /// An upgrade on any connection.
    init(
        upgrade request: TransportRequest, _ url: URL, _ origin: Origin, _ connector: any HTTP1Connector,
        startedAt: TimeInterval
    ) throws {
        let outgoing = try HTTP1Request(upgrade: request, url, origin)
        try self.init(request, outgoing, origin, connector, startedAt: startedAt)
    }

    init(
        _ request: TransportRequest, _ outgoing: HTTP1Request, _ origin: Origin, _ connector: any HTTP1Connector,
        startedAt: TimeInterval
    ) throws {
        try request.validate()
        (self.request, self.outgoing, self.origin) = (request, outgoing, origin)
        key = ConnectionKey(origin: origin, policies: origin.scheme == "https" ? request.policies : nil)
        isUpgrade = request.delivery == .upgrade
        (self.connector, self.startedAt) = (connector, startedAt)
    }

    /// - Parameter isBatched: whether the loop sends the request, together with others.
    func run(isBatched: Bool = false) async throws -> PulseResponse {
        let queuedAt = SystemClock().uptime
        var timings = TransferTimings()
        timings.queued = queuedAt - startedAt
        timings.isConnectionReused = true
        while !request.needsNewConnection, !isUpgrade,
            let pooled = try connector.pool?.take(key, now: queuedAt, mayBeResent: request.mayBeResent)
        {
            // Nothing was sent on a stale connection, so the request can use another one.
            if let response = try await exchange(over: pooled, timings, isReused: true, isBatched) {
                return response
            }
        }
        let made = try await connector.open(
            to: outgoing.server, isSecure: origin.scheme == "https", for: request,
            queued: SystemClock().uptime - startedAt)
        timings = made.timings
        timings.queued = queuedAt - startedAt
        let pooled = PooledConnection(connection: made.connection, key: key)
        guard let response = try await exchange(over: pooled, timings, isReused: false, isBatched) else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        return response
    }

    /// Nil if a reused connection turned out stale before a byte of the request was sent.
    private func exchange(
        over pooled: PooledConnection, _ timings: TransferTimings, isReused: Bool, _ isBatched: Bool
    ) async throws -> PulseResponse? {
        let connection = pooled.connection
        var parser = parser
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
        let now = SystemClock().uptime
        let sent = connection.sent
        // The response may have come before the whole request was sent.
        let isSent = sent.count == outgoing.bytes.count
        if isSent { timings.requestSent = sent.time - startedAt }
        timings.lastByte = now - startedAt
        var response = try response(parser, timings, connection.remoteAddress)
        if parser.isUpgrade {
            // A server cannot accept a request that it has not got.
            guard isSent else { throw TransportFailure(code: .badServerResponse, phase: .responseStarted) }
            connection.upgrade(unread: parser.surplus)
            response.body = .connection(connection)
        } else if isSent, !isUpgrade, parser.keepsConnection {
            var pooled = pooled
            pooled.idleLimit = parser.idleLimit ?? pooled.idleLimit
            connector.pool?.keep(pooled, now: now)
        } else {
            connection.close()
        }
        return response
    }

    /// The parser of the response.
    private var parser: HTTP1ResponseParser {
        if case .buffered(let limit) = request.delivery {
            HTTP1ResponseParser(outgoing.traits, limit: limit)
        } else {
            HTTP1ResponseParser(outgoing.traits, limit: Self.refusalLimit, cuts: true)
        }
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
        while !parser.isComplete, !parser.body.isTruncated {
            let bytes: Data?
            do {
                bytes = try await connection.read()
            } catch {
                throw Lost(cause: error)
            }
            if timings.firstByte == nil { timings.firstByte = SystemClock().uptime - startedAt }
            if let bytes {
                try parser.readOrTruncate(bytes)
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
            timings: timings, isTruncated: parser.body.isTruncated)
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
            if isStale { connector.pool?.dropIdle(key) }
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

extension HTTP1ResponseParser {
    /// Reads bytes. A body that is truncated at its limit is no error.
    fileprivate mutating func readOrTruncate(_ bytes: Data) throws {
        do {
            try bytes.withUnsafeBytes { try read($0) }
        } catch  where body.isTruncated {}
    }
}
