// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// One request on the caller's side: feeds its body, waits for the response and parses it.
struct CurlExchange: Sendable {
    /// Connects pipes to the loop, and keeps the loop alive until it is released.
    final class Ticket: Sendable {
        private let id: UInt64
        private let loop: Locked<CurlLoop?>
        /// The timings of the whole transfer, once libcurl has ended it.
        let timings = Locked<PulseResponse.Timings?>(nil)

        init(_ loop: CurlLoop, id: UInt64) {
            self.id = id
            self.loop = Locked(loop)
        }

        func resume() {
            loop.withLock { $0 }?.resume(id)
        }

        func cancel() {
            loop.withLock { $0 }?.cancel(id)
        }

        /// Releases the loop, so that an ended stream that is still held keeps no thread alive.
        func giveUp() {
            let last = loop.withLock { loop in
                defer { loop = nil }
                return loop
            }
            withExtendedLifetime(last) {}
        }
    }

    private let request: TransportRequest
    private let origin: Origin
    private let loop: CurlLoop
    private let id: UInt64
    private let outgoing: CurlRequest
    private let ticket: Ticket?
    private let upload: (feed: BodyFeed, pipe: BytePipe)?

    /// - Parameter id: of the transfer in its loop.
    init(
        _ request: TransportRequest, _ file: FileSource?, _ url: URL, _ origin: Origin, _ unixSocketPath: String?,
        _ loop: CurlLoop, id: UInt64
    ) throws {
        self.request = request
        self.origin = origin
        self.loop = loop
        self.id = id
        let feed = try request.feed(file)
        let isBuffered = if case .buffered = request.delivery { true } else { false }
        let ticket = feed == nil && isBuffered ? nil : Ticket(loop, id: id)
        self.ticket = ticket
        let wake: @Sendable () -> Void = { ticket?.resume() }
        upload = feed.map { ($0, BodyFeed.pipe(wake: wake)) }
        let body: CurlRequest.Body =
            if let upload { .pipe(upload.pipe, length: upload.feed.length) } else { .init(bytes: request.body) }
        let delivery: CurlRequest.Delivery =
            if case .buffered(let limit) = request.delivery { .buffered(limit: limit) } else {
                .streamed(BytePipe(wake: wake)) { timings in ticket?.timings.withLock { $0 = timings } }
            }
        outgoing = try CurlRequest(
            request, url: url, isSecure: origin.scheme == "https", body: body, delivery: delivery,
            unixSocketPath: unixSocketPath,
            needsHTTP1: origin.scheme == "https" && (request.httpVersions == .http1 || loop.needsHTTP1(origin)))
    }

    func run(queued: TimeInterval, holding slot: HostSlots.Slot) async throws -> PulseResponse {
        let transfer = try loop.transfer(for: outgoing, id: id, queued: queued)
        let feeding = upload.map { $0.feed.start(into: $0.pipe) }
        let reply: CurlTransfer.Reply
        do {
            reply = try await loop.run(transfer)
        } catch {
            feeding?.end()
            if ((error as? TransportFailure)?.underlying as? CurlFailure)?.asksForHTTP1 == true {
                loop.noteHTTP1(origin)
            }
            if let error = error as? CurlFailure.OfBody {
                throw TransportFailure(ofBody: error.cause, of: error.head.response(to: request.urlRequest))
                    ?? error.cause
            }
            guard let error = error as? CurlFailure.Unpinned else { throw error }
            throw request.pinningFailure(error.keys)
        }
        guard case .streaming(let received) = reply, case .streamed(let pipe, _) = outgoing.delivery, let ticket else {
            feeding?.end()
            let received = transfer.takeResponse()
            loop.reuse(transfer)
            return try response(from: received)
        }
        // Created before anything can fail: dropping the stream ends the transfer.
        let stream = stream(of: received, from: pipe, ticket, holding: slot, feeding)
        var response = try response(from: received)
        try await response.deliver(stream, for: request)
        return response
    }

    /// The stream keeps the loop and the slot until it ends.
    private func stream(
        of received: CurlTransfer.Response, from pipe: BytePipe, _ ticket: Ticket, holding slot: HostSlots.Slot,
        _ feeding: BodyFeed.Feeding?
    ) -> ByteStream {
        let decoded = DecodedStream(received.codings, of: received.head?.response(to: request.urlRequest)) {
            try await pipe.read()
        }
        let stream = ByteStream {
            try await decoded.read()
        } cancel: {
            pipe.finish(CancellationError())
            ticket.cancel()
        }
        stream.timingsAtEnd = {
            guard var timings = ticket.timings.withLock({ $0 }) else { return nil }
            timings.bytesDecoded = decoded.decodedCount ?? timings.bytesReceived
            return timings
        }
        stream.onEnd { _ in
            feeding?.end()
            ticket.giveUp()
            withExtendedLifetime(slot) {}
        }
        return stream
    }

    private func response(from received: CurlTransfer.Response) throws -> PulseResponse {
        if let keys = received.unpinnedKeys { request.tellUnpinned(keys) }
        guard let head = received.head else {
            throw TransportFailure(code: .badServerResponse, phase: .responseStarted)
        }
        var headers = head.headers
        if !received.codings.isEmpty { headers.removeContentFields() }
        var response = PulseResponse(
            statusCode: head.statusCode, headers: headers, data: received.body, request: request.urlRequest,
            timings: received.timings, isTruncated: received.isTruncated)
        if !received.codings.isEmpty { response.isDecoded = true }
        return response
    }
}

extension CurlRequest.Body {
    fileprivate init(bytes body: TransportRequest.Body) {
        if case .bytes(let data) = body { self = .bytes(data) } else { self = .none }
    }
}
#endif
