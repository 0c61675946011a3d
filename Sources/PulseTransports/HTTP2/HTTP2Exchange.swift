// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// Performs one request over HTTP/2, on the sender's task.
struct HTTP2Exchange: Sendable {
    /// The server processes the request over HTTP/1.1 only, and has not processed it.
    struct RequiresHTTP1: Error {}

    private let request: TransportRequest
    private let outgoing: HTTP2Request
    private let feed: BodyFeed?
    private let startedAt: TimeInterval

    /// Throws ``PulseError`` for a request that cannot be sent.
    ///
    /// - Parameter feed: sends the body; nil for a body that is sent with the header fields.
    init(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ feed: BodyFeed?, startedAt: TimeInterval
    ) throws {
        try request.validate()
        outgoing = try HTTP2Request(request, url, origin, feed)
        (self.request, self.feed, self.startedAt) = (request, feed, startedAt)
    }

    /// Runs in a reserved slot of the connection, which it uses up in any case. Returns nil if nothing was sent and
    /// another connection can take the request. Also throws ``RequiresHTTP1``.
    ///
    /// - Parameters:
    ///   - timings: those of the opening, and of the wait before it.
    ///   - isReused: whether the connection had carried other requests, or others may have used it first.
    ///   - isBatched: whether the loop sends the request, together with others.
    ///   - unpinnedKeys: the keys of the verified chain, if none is pinned and the policy is report-only.
    ///   - slot: held until the response is complete, or its stream has ended.
    func run(
        over connection: HTTP2Connection, _ timings: PulseResponse.Timings, isReused: Bool, isBatched: Bool = false,
        unpinnedKeys: [[UInt8]]?, holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse? {
        guard !Task.isCancelled else {
            connection.giveBack()
            throw CancellationError()
        }
        guard
            let stream = connection.open(
                outgoing, isFed: feed != nil, isBatched: isBatched && feed == nil, idleTimeout: request.idleTimeout)
        else {
            if isReused { return nil }
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend)
        }
        let upload = feed.map { BodyUpload($0, over: stream) }
        var received = HTTP2Response(to: request.delivery, isHeadRequest: outgoing.isHead)
        do {
            try await read(from: stream, upload, into: &received)
            // The server may keep reading after a response that does not refuse the body.
            if let upload, !received.isStreaming, !received.refusesBody, !received.body.isTruncated {
                try await upload.end()
            }
        } catch {
            upload?.cancel()
            stream.release()
            if let failure = upload?.failure { throw failure }
            guard let failure = try failure(error, received, isReused: isReused) else { return nil }
            guard received.head != nil else { throw failure }
            throw TransportFailure(ofBody: failure, of: received.head?.response(to: request.urlRequest)) ?? failure
        }
        if received.isMisdirected { connection.retire() }
        if let unpinnedKeys { request.tellUnpinned(unpinnedKeys) }
        var timings = timings
        timings.networkProtocol = "h2"
        timings.remoteAddress = connection.remoteAddress
        return try await response(received, from: stream, upload, timings, holding: slot)
    }

    /// Reads until the response is complete or truncated, or the head of a streamed one.
    private func read(
        from stream: HTTP2Stream, _ upload: BodyUpload?, into received: inout HTTP2Response
    ) async throws {
        try received.begin(try await stream.head())
        if received.refusesBody { upload?.stop() }
        guard !received.isStreaming else { return }
        var readCount = 0
        while let pieces = try await stream.bytes(upTo: .max) {
            for piece in pieces { try received.take(piece) }
            if received.body.isTruncated { return }
            readCount += 1
            // The cooperative pool has few threads.
            if readCount % 64 == 0 { await Task.yield() }
        }
        try received.finish()
    }

    // MARK: Outcome

    private func response(
        _ received: HTTP2Response, from stream: HTTP2Stream, _ upload: BodyUpload?, _ timings: PulseResponse.Timings,
        holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse {
        if received.isStreaming {
            return try await self.stream(received, from: stream, upload, timings, holding: slot)
        }
        let known = stream.state
        upload?.cancel()
        // The rest of a truncated body is not needed, nor is that of a refused request.
        stream.release()
        var timings = timings
        if let known { timings.note(known, startedAt: startedAt) }
        timings.lastByte = timings.lastByte ?? SystemClock().uptime - startedAt
        timings.bytesReceived = received.body.receivedCount
        timings.bytesDecoded = Int64(received.body.data.count)
        return try response(
            received, timings, data: received.body.data, trailers: known?.trailers ?? HTTPHeaders())
    }

    private func response(
        _ received: HTTP2Response, _ timings: PulseResponse.Timings, data: Data = Data(),
        trailers: HTTPHeaders = HTTPHeaders()
    ) throws -> PulseResponse {
        guard let head = received.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        return head.response(
            to: request.urlRequest, timings, without: received.codings, data: data,
            isTruncated: received.body.isTruncated, trailers: trailers)
    }

    private func stream(
        _ received: HTTP2Response, from source: HTTP2Stream, _ upload: BodyUpload?, _ timings: PulseResponse.Timings,
        holding slot: ConnectionSlots.Slot
    ) async throws -> PulseResponse {
        let reader = HTTP2BodyReader(timings, from: source, upload, startedAt: startedAt)
        let head = received.head?.response(to: request.urlRequest)
        // Created before anything can fail: dropping the stream cancels the HTTP/2 stream.
        let stream = reader.stream(received.codings, of: head, holding: slot)
        var response = try response(received, reader.timings)
        try await response.deliver(stream, for: request)
        return response
    }

    /// The meaning of an error; nil if nothing was sent over a reused connection, so that another one can replace it.
    private func failure(_ error: any Error, _ received: HTTP2Response, isReused: Bool) throws -> (any Error)? {
        switch error {
        case is HTTP1ResponseParser.Malformed:
            return TransportFailure(code: .badServerResponse, phase: .responseStarted)
        case let ended as HTTP2Stream.Ended:
            let progress = HTTP2Outcome.Progress(
                isBegun: ended.isBegun, hasHead: received.head != nil, isReused: isReused)
            switch HTTP2Outcome(of: ended.cause, progress) {
            case .replaces: return nil
            case .requiresHTTP1: throw RequiresHTTP1()
            case .failed(let error): return error
            }
        default:
            return error
        }
    }
}
#endif
