// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The transfer of a request, on a handle that carries one after another.
///
/// The sender owns it until the loop gets the request. Then the loop owns it; a complete response returns it to the
/// sender. The sender gives it back for the next request, also after a failure if libcurl has finished with it.
final class CurlTransfer: @unchecked Sendable {
    // Unchecked: it has one owner at a time, as described above; the queue and `handover` transfer it.

    /// The reply to the sender.
    enum Reply: Sendable {
        /// The response is complete: the sender owns the transfer again and reads the response.
        case ended
        /// The head of a response whose body continues in the request's pipe.
        case streaming(Response)
    }

    /// A response, as the sender's task takes it from the transfer; the loop takes the head of a streamed one.
    struct Response: Sendable {
        /// Nil if the first line is not a status line.
        let head: ResponseHead?
        let body: Data
        /// The content codings of the body, the one applied last first. A buffered body is already decoded; a streamed
        /// one is not.
        let codings: [ContentCoding]
        let isTruncated: Bool
        let timings: PulseResponse.Timings
        /// The keys of the verified chain, if none is pinned and the policy only reports.
        let unpinnedKeys: [[UInt8]]?
    }

    /// Checked: the `resume` of an unsafe one is inlined here, and the sanitizer sees it read the sender's frame.
    typealias Waiter = CheckedContinuation<Void, Never>

    /// Where the sender waits.
    ///
    /// The reply goes through a lock and not through the continuation. If a continuation is resumed before its task
    /// has suspended, the runtime synchronizes with an atomic that the thread sanitizer does not see. The lock makes
    /// the loop's writes visible to the sender.
    private struct Handover {
        var waiter: Waiter?
        var reply: Result<Reply, any Error>?
    }

    /// The way of the request to its connection, whether its response waits, and why this client ends it.
    struct Progress {
        var hasSocket = false
        /// Whether the system had no descriptor for the latest socket.
        var lacksSocket = false
        var hasTriedIPv4 = false
        var hasTriedIPv6 = false
        /// Whether the reused connection is unusable and nothing was sent.
        var needsAnotherConnection = false
        /// The TLS notes of the latest connection.
        var notes: CurlTLSNotes?
        var unpinnedKeys: [[UInt8]]?
        var isReceivingPaused = false
        /// Why this client ended the transfer, which libcurl does not know.
        var failure: (any Error)?
    }

    let handle: CurlHandle
    private(set) var request: CurlRequest
    private(set) var id: UInt64 = 0
    /// For how many seconds the request waited before the transfer.
    private var queued: TimeInterval = 0
    private let handover = Locked(Handover())
    /// The transfers that it belongs to while it is in the loop.
    private(set) var owner: CurlTransfers?
    /// Whether the transfer has no caller any more, so that it must not open another socket.
    private(set) var isAbandoned = false
    var progress = Progress()
    var upload = CurlUpload()
    var parser = CurlResponseParser()
    var timing = CurlTiming()

    /// Nil without memory for a handle.
    init?(_ request: CurlRequest, _ environment: CurlEnvironment) {
        guard let handle = CurlHandle(environment) else { return nil }
        self.handle = handle
        self.request = request
    }

    var library: CurlLibrary { handle.library }
    var poller: OpaquePointer { handle.environment.poller }

    // MARK: Sender side

    /// Prepares for a request while the sender owns the transfer. Throws ``PulseError`` for what this libcurl does not
    /// support.
    func prepare(_ request: CurlRequest, id: UInt64, queued: TimeInterval = 0) throws {
        (self.request, self.id, self.queued) = (request, id, queued)
        try handle.prepare(request, for: self)
    }

    /// Passes the ownership to the loop.
    func begin(_ waiter: Waiter) {
        handover.withLock { $0.waiter = waiter }
        timing = CurlTiming(startedAt: pulse_monotonic_now())
    }

    /// The reply, once, for the resumed sender.
    func takeReply() throws -> Reply {
        let reply = handover.withLock { handover in
            defer { handover.reply = nil }
            return handover.reply
        }
        guard let reply else { throw CancellationError() }
        return try reply.get()
    }

    /// Moves the response out.
    func takeResponse(isStreamed: Bool = false) -> Response {
        Response(
            head: ResponseHead(parser.head), body: parser.takeBody(), codings: parser.codings,
            isTruncated: parser.isTruncated, timings: timings(isComplete: !isStreamed),
            unpinnedKeys: progress.unpinnedKeys)
    }

    private func timings(isComplete: Bool) -> PulseResponse.Timings {
        PulseResponse.Timings(
            handle, queued: queued, requestSent: upload.endedAt.map { $0 - timing.startedAt },
            bytesDecoded: parser.byteCount, isComplete: isComplete)
    }

    /// Releases the resources of the last request.
    func rest() {
        handle.rest()
        if let nothing = CurlRequest.nothing { request = nothing }
        progress = Progress()
        upload = CurlUpload()
        parser.reset()
    }

    // MARK: Loop side

    /// Lets libcurl begin. False without memory.
    func join(_ owner: CurlTransfers) -> Bool {
        let hasJoined = handle.join(request.group)
        if hasJoined { self.owner = owner }
        return hasJoined
    }

    /// Takes the transfer from libcurl.
    func leave() {
        handle.leave(request.group)
        owner = nil
    }

    /// Prepares for a restart. libcurl has closed the unusable connection, but may have another one like it.
    func restart() {
        progress.needsAnotherConnection = false
        handle.useNewConnection()
    }

    /// Continues after a pipe was full or empty.
    func resume() {
        guard progress.isReceivingPaused || upload.isPaused else { return }
        (progress.isReceivingPaused, upload.isPaused) = (false, false)
        timing.lastActivity = pulse_monotonic_now()
        handle.proceed()
    }

    /// Ends the transfer at its next socket request: until then libcurl would block on name resolution.
    func abandon() {
        isAbandoned = true
    }

    /// Passes the sender the head of a response whose body continues.
    func continueStreaming() {
        if let waiter = reply(.success(.streaming(takeResponse(isStreamed: true)))) { owner?.add(.resume(waiter)) }
    }

    /// Notifies the waiters: the sender or the reader of its stream, and the writer of the body.
    func finish(_ outcome: Result<Void, any Error>) {
        if case .pipe(let pipe, _) = request.body { pipe.finish(CancellationError()) }
        if let waiter = reply(outcome.map { .ended }.mapError(withHead)) {
            waiter.resume()
        } else if case .streamed(let pipe, let report) = request.delivery {
            report(timings(isComplete: true))
            switch outcome {
            case .success: pipe.finish()
            case .failure(let error): pipe.finish(error)
            }
        }
    }

    /// Stores the reply, if it is the first, and returns the sender to resume; nil without a waiting one.
    private func reply(_ reply: Result<Reply, any Error>) -> Waiter? {
        handover.withLock { handover in
            guard let waiter = handover.waiter else { return nil }
            handover = Handover(waiter: nil, reply: reply)
            return waiter
        }
    }

    // MARK: Outcome

    // libcurl expects no body after HEAD only if the request has none.
    var endsAtHead: Bool {
        request.method == "HEAD" && request.hasBody
            // If Expect is refused, libcurl would resend the request without it and merge both responses.
            || parser.status == 417 && request.expectsContinue
    }

    var isReadingHead: Bool { parser.hasBegun && !parser.isFinal }

    var phase: PulseError.Phase { mayHaveSent ? phaseOfSent : .beforeSend }

    private var phaseOfSent: PulseError.Phase { parser.hasBegun ? .responseStarted : .maybeSent }

    /// Whether anything of the request may have been sent.
    var mayHaveSent: Bool {
        library.hasPrerequest ? upload.sendCount > 0 : handle.offset(PULSE_CURLINFO_PRETRANSFER_TIME_T) > 0
    }

    /// The outcome of a transfer that libcurl has ended.
    func outcome(of result: Int32) -> Result<Void, any Error> {
        if let failure = progress.failure { return .failure(failure) }
        guard result == PULSE_CURLE_OK || parser.isTruncated || endsAtHead && parser.isFinal else {
            return .failure(CurlFailure.error(result, of: self))
        }
        guard parser.isFinal else {
            return .failure(TransportFailure(code: .networkConnectionLost, phase: phaseOfSent))
        }
        guard !parser.isTruncated, !endsAtHead else { return .success(()) }
        // Without the close alert a body that ends with the connection may be truncated (RFC 9112, section 9.8).
        // libcurl does not check this.
        if request.isSecure, parser.endsWithConnection, progress.notes?.isClosed == false {
            return .failure(TransportFailure(code: .networkConnectionLost, phase: .responseStarted))
        }
        return Result { try parser.finishBody() }
    }

    /// The same failure with the head of its response, if that has arrived.
    private func withHead(_ error: any Error) -> any Error {
        guard parser.isFinal, let head = ResponseHead(parser.head) else { return error }
        return CurlFailure.OfBody(cause: error, head: head)
    }

    // MARK: Timeouts

    /// The error of a timeout that has expired; otherwise the next check is no later than the next that can.
    func timeout(now: TimeInterval, nextCheck: inout TimeInterval) -> TransportFailure? {
        if timing.connectedAt == nil, !library.hasPrerequest, mayHaveSent {
            // Uses the time, not just the fact: this may be the first check for as long as the timeout.
            let ready = handle.offset(PULSE_CURLINFO_PRETRANSFER_TIME_T)
            timing.connectedAt = min(now, timing.startedAt + TimeInterval(ready) / 1e6)
        }
        if timing.connectedAt != nil, !isBlocked, let length = request.bodyLength,
            upload.moves(to: handle.offset(PULSE_CURLINFO_SIZE_UPLOAD_T), of: length)
        {
            timing.lastActivity = now
        }
        // The activity of a connection that serves other transfers says nothing about this one.
        let timeout = timing.timeout(request, now: now, isBlocked: isBlocked) {
            sharesConnection ? 0 : pulse_loop_last_activity(poller, handle.easy)
        }
        switch timeout {
        case .notBefore(let time):
            nextCheck = min(nextCheck, time)
            return nil
        case .idle:
            return TransportFailure(code: .timedOut, phase: phaseOfSent)
        case .connect:
            return TransportFailure(code: .timedOut, phase: .beforeSend, underlying: CurlFailure.slowProxy(request))
        }
    }

    /// Whether a pipe on this side is blocked, which does not make the server slow. With an error response libcurl
    /// sends no more and requests no more of the body.
    private var isBlocked: Bool { progress.isReceivingPaused || upload.isPaused && parser.status < 300 }

    /// For how many seconds it tolerates a silent server.
    var patience: TimeInterval { isBlocked ? .infinity : request.idleTimeout }

    /// Whether a part of the request's body is unsent.
    var isSendingBody: Bool {
        guard let length = request.bodyLength, upload.endedAt == nil else { return false }
        return handle.offset(PULSE_CURLINFO_SIZE_UPLOAD_T) < length
    }

    /// The version is known from the status line on; before that TLS knows the negotiated protocol. Without OpenSSL
    /// only the version is available.
    private var sharesConnection: Bool {
        handle.long(PULSE_CURLINFO_HTTP_VERSION) >= PULSE_CURL_HTTP_VERSION_2_0 || handle.isMultiplexed
    }
}
#endif
