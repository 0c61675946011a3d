// SPDX-License-Identifier: MIT

import PulseCore

/// Performs one request over HTTP/1.1, on the sender's task. An upgrade uses a new connection and keeps it.
struct HTTP1Exchange: Sendable {
    private let request: TransportRequest
    private let outgoing: HTTP1Request
    private let feed: BodyFeed?
    private let isUpgrade: Bool
    private let pool: (any IdleConnections)?
    private let startedAt: TimeInterval

    /// - Parameter pool: receives the connection after the response; nil to close it instead.
    init(
        _ request: TransportRequest, _ outgoing: HTTP1Request, _ feed: BodyFeed?, _ pool: (any IdleConnections)?,
        startedAt: TimeInterval
    ) {
        (self.request, self.outgoing, self.feed) = (request, outgoing, feed)
        isUpgrade = request.delivery == .upgrade
        (self.pool, self.startedAt) = (pool, startedAt)
    }

    /// Sends the request, and reads the response, or the head of a streamed one. Nil if a reused connection turned out
    /// stale before a byte of the request was sent: another one can replace it.
    ///
    /// - Parameters:
    ///   - timings: has the phases of the opening, if the connection is new.
    ///   - isBatched: whether the loop sends the request, together with others.
    ///   - slot: held until the response is complete, or its stream has ended.
    func run(
        over pooled: PooledConnection, _ timings: PulseResponse.Timings, isReused: Bool, isBatched: Bool = false,
        holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse? {
        guard let received = try await exchange(over: pooled, timings, isReused: isReused, isBatched) else {
            return nil
        }
        return try await response(received, holding: slot)
    }

    /// The pool, unless the request itself ends the connection.
    private var nextOwner: (any IdleConnections)? { outgoing.closesConnection ? nil : pool }

    /// What was read: a whole response, or the head of a streamed one.
    private struct Received {
        let pooled: PooledConnection
        let upload: BodyUpload?
        let parser: HTTP1ResponseParser
        let timings: PulseResponse.Timings
    }

    /// Nil if a reused connection turned out stale before a byte of the request was sent.
    private func exchange(
        over pooled: PooledConnection, _ timings: PulseResponse.Timings, isReused: Bool, _ isBatched: Bool
    ) async throws -> Received? {
        let connection = pooled.connection
        var parser = parser
        var timings = timings
        connection.begin(idleTimeout: request.idleTimeout)
        connection.send(outgoing.bytes, ifIdle: isReused, isBatched: isBatched && feed == nil)
        let upload = feed.map { feed in
            BodyUpload(feed, over: HTTP1UploadChannel(connection, for: feed, idleTimeout: request.idleTimeout))
        }
        do {
            try await read(from: connection, upload, into: &parser, &timings)
            // The server may keep reading after a response that does not refuse the body.
            if let upload, !parser.isStreaming, !parser.refusesBody { try await upload.end() }
            return Received(pooled: pooled, upload: upload, parser: parser, timings: timings)
        } catch {
            upload?.cancel()
            // Before its outcome is read: the loop may be about to send.
            connection.close()
            if let failure = upload?.failure { throw failure }
            guard let failure = failure(error, parser, of: pooled, isReused: isReused) else { return nil }
            guard parser.status != nil else { throw failure }
            throw TransportFailure(ofBody: failure, of: parser.head?.response(to: request.urlRequest)) ?? failure
        }
    }

    /// The parser of the response.
    private var parser: HTTP1ResponseParser {
        if case .buffered(let limit) = request.delivery {
            HTTP1ResponseParser(outgoing.traits, limit: limit)
        } else {
            HTTP1ResponseParser(
                outgoing.traits, limit: PulseResponse.errorBodyLimit, cuts: true, isStreamed: !isUpgrade)
        }
    }

    /// The connection has failed or ended early.
    private struct Lost: Error {
        let cause: any Error
    }

    /// Reads until the response is complete, or the head of a streamed one.
    private func read(
        from connection: any ReusableConnection, _ upload: BodyUpload?, into parser: inout HTTP1ResponseParser,
        _ timings: inout PulseResponse.Timings
    ) async throws {
        var readCount = 0
        while !parser.isComplete, !parser.body.isTruncated, !parser.isStreaming {
            let length = parser.lengthToCopy
            let bytes: Data?
            do {
                bytes =
                    if let length {
                        try await connection.read(parser.body.data, upTo: length)
                    } else {
                        try await connection.read()
                    }
            } catch {
                throw Lost(cause: error)
            }
            if timings.firstByte == nil { timings.firstByte = SystemClock().uptime - startedAt }
            if let bytes {
                if length == nil { try parser.readOrTruncate(bytes) } else { try parser.take(whole: bytes) }
            } else if try !parser.readEnd() {
                throw Lost(cause: TransportFailure(code: .networkConnectionLost, phase: .maybeSent))
            }
            if let upload, parser.refusesBody { upload.stop() }
            readCount += 1
            // The cooperative pool has few threads.
            if readCount % 64 == 0 { await Task.yield() }
        }
    }

    // MARK: Outcome

    private func response(_ received: Received, holding slot: ConnectionSlots.Slot) async throws -> PulseResponse {
        let (connection, parser) = (received.pooled.connection, received.parser)
        if let keys = received.pooled.unpinnedKeys { request.tellUnpinned(keys) }
        var timings = received.timings
        timings.networkProtocol = parser.isVersion10 ? "http/1.0" : "http/1.1"
        timings.remoteAddress = connection.remoteAddress
        let now = SystemClock().uptime
        let sent = connection.sent
        // The response may have arrived before the whole request was sent.
        let isSent = received.upload?.isSent ?? (sent.count == outgoing.bytes.count)
        if isSent { timings.requestSent = sent.time - startedAt }
        if parser.isStreaming { return try await stream(received, timings, holding: slot) }
        timings.lastByte = now - startedAt
        timings.bytesReceived = parser.body.receivedCount
        timings.bytesDecoded = Int64(parser.body.data.count)
        var response = try response(parser, timings, data: parser.body.data)
        if parser.isUpgrade {
            // A server cannot accept a request that it has not received.
            guard isSent else { throw TransportFailure(code: .badServerResponse, phase: .responseStarted) }
            connection.upgrade(unread: parser.surplus)
            response.body = .connection(connection)
        } else {
            received.pooled.release(to: nextOwner, after: parser, isSent: isSent, now: now)
            received.upload?.cancel()
        }
        return response
    }

    private func response(
        _ parser: HTTP1ResponseParser, _ timings: PulseResponse.Timings, data: Data = Data()
    ) throws -> PulseResponse {
        guard let head = parser.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        return head.response(
            to: request.urlRequest, timings, without: parser.codings, data: data,
            isTruncated: parser.body.isTruncated, trailers: parser.trailers)
    }

    private func stream(
        _ received: Received, _ timings: PulseResponse.Timings, holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse {
        let parser = received.parser
        let reader = HTTP1BodyReader(
            parser, timings, from: received.pooled, to: nextOwner, received.upload,
            headSize: outgoing.bytes.count, startedAt: startedAt)
        let head = parser.head?.response(to: request.urlRequest)
        // Created before anything can fail: dropping the stream closes the connection.
        let stream = reader.stream(parser.codings, of: head, holding: slot)
        var response = try response(parser, timings)
        try await response.deliver(stream, for: request)
        return response
    }

    /// The meaning of an error; nil if nothing was sent over a reused connection, so that another one can replace it.
    private func failure(
        _ error: any Error, _ parser: HTTP1ResponseParser, of pooled: PooledConnection, isReused: Bool
    ) -> (any Error)? {
        let phase: PulseError.Phase =
            parser.hasBegun ? .responseStarted : pooled.connection.mayHaveSent ? .maybeSent : .beforeSend
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
            if isStale { pool?.dropIdle(pooled.key) }
            return TransportFailure(
                code: cause.code, phase: phase, underlying: cause.underlying, isStaleConnection: isStale)
        default:
            return error
        }
    }
}

extension HTTP1ResponseParser {
    /// Whether the status says that the server does not want the rest of the request's body.
    fileprivate var refusesBody: Bool { status.map { $0 >= 300 } ?? false }

    /// Reads bytes. Truncation of the body at its limit is not an error.
    fileprivate mutating func readOrTruncate(_ bytes: Data) throws {
        do {
            try bytes.withUnsafeBytes { try read($0) }
        } catch  where body.isTruncated {}
    }
}
