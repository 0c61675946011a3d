// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A libcurl handle and its current request. A handle carries one request after another.
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
        case streaming(CurlResponse)
    }

    enum TimeoutCheck {
        case expired(any Error)
        case notBefore(TimeInterval)
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

    let easy: UnsafeMutableRawPointer
    let environment: CurlEnvironment
    /// Whether the handle is for one link.
    let hasLink: Bool
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
    /// Must live as long as libcurl may read it.
    var headerList: UnsafeMutablePointer<pulse_curl_slist>?
    /// The settings on the handle, if another common request can reuse them.
    var appliedSettings: CurlRequest.ReusableSettings?
    /// Whether nothing is set on the handle.
    var isFresh = true

    private(set) var request: CurlRequest
    private(set) var id: UInt64 = 0
    private(set) var startedAt: TimeInterval = 0
    private let handover = Locked(Handover())
    /// The transfers that it belongs to while libcurl has it.
    private(set) var owner: CurlTransfers?
    /// Whether the transfer has no caller any more, so that it must not open another socket.
    private(set) var isAbandoned = false
    var parser = CurlResponseParser()
    var progress = Progress()
    /// The socket of a connect-only request. The code that takes it out must close it, unless it has the link.
    private var socket: Int32?
    /// The multi handle of a connection that stays with this handle; nil without one, or once another owner has it.
    private(set) var link: OpaquePointer?

    /// The progress of the request.
    struct Progress {
        var hasSocket = false
        /// Whether the system had no descriptor for the latest socket.
        var lacksSocket = false
        var hasTriedIPv4 = false
        var hasTriedIPv6 = false
        /// Why this client ended the transfer, which libcurl does not know.
        var failure: (any Error)?
        /// Whether the reused connection is unusable and nothing was sent.
        var needsAnotherConnection = false
        var sendCount = 0
        /// Whether the connection is reused, and whether it is multiplexed.
        var isReused = false
        var isMultiplexed = false
        /// Whether libcurl has reported that the server refused to process the request.
        var isRefused = false
        var connectedAt: TimeInterval?
        var bodyOffset = 0
        var requestSentAt: TimeInterval?
        var unpinnedKeys: [[UInt8]]?
        /// The TLS notes of the latest connection.
        var notes: CurlTLSNotes?
        var isReceivingPaused = false
        var isSendingPaused = false
        var lastActivity: TimeInterval = 0
        var uploadCount = UploadCount()
    }

    /// Nil without memory for a handle.
    init?(_ request: CurlRequest, _ environment: CurlEnvironment) {
        guard let easy = environment.makeHandle(sharing: !request.hasLink) else { return nil }
        self.easy = easy
        self.environment = environment
        self.request = request
        hasLink = request.hasLink
        errorText.initialize(repeating: 0, count: 256)
        guard request.hasLink else { return }
        link = pulse_link_create(environment.poller, easy, !environment.library.writesWithoutSignal)
        if link == nil { return nil }
    }

    deinit {
        if let link { pulse_link_close(link) } else if let socket { close(socket) }
        environment.free(easy)
        free(headerList)
        errorText.deallocate()
    }

    var library: CurlLibrary { environment.library }
    var poller: OpaquePointer { environment.poller }

    /// Prepares for a request while the sender owns the transfer. Throws ``PulseError`` for what this libcurl does not
    /// support.
    func prepare(_ request: CurlRequest, id: UInt64) throws {
        self.request = request
        self.id = id
        errorText[0] = 0
        try configure()
        isFresh = false
    }

    /// Passes the ownership to the loop.
    func begin(_ waiter: Waiter) {
        handover.withLock { $0.waiter = waiter }
        startedAt = pulse_monotonic_now()
        progress.lastActivity = startedAt
    }

    /// Stores the reply, if it is the first, and returns the sender to resume; nil without a waiting one.
    private func reply(_ reply: Result<Reply, any Error>) -> Waiter? {
        handover.withLock { handover in
            guard let waiter = handover.waiter else { return nil }
            handover = Handover(waiter: nil, reply: reply)
            return waiter
        }
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

    /// Releases the resources of the last request.
    func rest() {
        free(headerList)
        headerList = nil
        if appliedSettings == nil {
            pulse_curl_easy_reset(easy)
            isFresh = true
        }
        if let nothing = CurlRequest.nothing { request = nothing }
        progress = Progress()
        if let socket { close(socket) }
        socket = nil
        parser.reset()
    }

    // libcurl expects no body after HEAD only if the request has none.
    var endsAtHead: Bool {
        request.method == "HEAD" && request.hasBody
            // If Expect is refused, libcurl would resend the request without it and merge both responses.
            || parser.status == 417 && request.expectsContinue
    }

    var isReadingHead: Bool { parser.hasBegun && !parser.isFinal }

    var phase: PulseError.Phase {
        !mayHaveSent ? .beforeSend : parser.hasBegun ? .responseStarted : .maybeSent
    }

    /// Whether anything of the request may have been sent.
    var mayHaveSent: Bool {
        library.hasPrerequest
            ? progress.sendCount > 0 : pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_PRETRANSFER_TIME_T)) > 0
    }

    /// Prepares for a restart. libcurl has closed the unusable connection, but may have another one like it.
    func restart() {
        progress.needsAnotherConnection = false
        appliedSettings = nil
        _ = pulse_curl_set_long(easy, Int32(PULSE_CURLOPT_FRESH_CONNECT), 1)
    }

    /// Makes libcurl close the connection when the transfer ends, unless others are using it.
    ///
    /// Necessary before an early end over HTTP/2: libcurl 7.88 tells the server of it only with the next request.
    func closeConnectionAtEnd() {
        appliedSettings = nil
        _ = pulse_curl_set_long(easy, Int32(PULSE_CURLOPT_FORBID_REUSE), 1)
    }

    /// Continues after a pipe was full or empty.
    func resume() {
        guard progress.isReceivingPaused || progress.isSendingPaused else { return }
        (progress.isReceivingPaused, progress.isSendingPaused) = (false, false)
        progress.lastActivity = pulse_monotonic_now()
        _ = pulse_curl_easy_pause(easy, Int32(PULSE_CURLPAUSE_CONT))
    }

    /// Makes libcurl request the body again, which may still be empty.
    func resumeSending() {
        guard progress.isSendingPaused else { return }
        progress.isSendingPaused = false
        _ = pulse_curl_easy_pause(easy, Int32(PULSE_CURLPAUSE_CONT))
    }

    /// Lets libcurl begin. False without memory.
    func join(_ owner: CurlTransfers) -> Bool {
        self.owner = owner
        let hasJoined = link.map { pulse_link_connect($0) } ?? pulse_loop_add(poller, request.group, easy)
        if !hasJoined { self.owner = nil }
        return hasJoined
    }

    /// Takes the transfer from libcurl. A connected link has left already.
    func leave() {
        defer { owner = nil }
        guard hasLink else { return pulse_loop_remove(poller, request.group, easy) }
        guard socket == nil, let link else { return }
        pulse_link_close(link)
        self.link = nil
    }

    // MARK: Ending

    /// Ends the transfer at its next socket request: until then libcurl would block on name resolution.
    func abandon() {
        isAbandoned = true
    }

    /// Called when libcurl requests a socket. False ends the transfer.
    func willOpenSocket(family: Int32) -> Bool {
        guard !mayHaveSent, !progress.isRefused else {
            refuseResend()
            return false
        }
        progress.hasSocket = true
        if family == AF_INET { progress.hasTriedIPv4 = true }
        if family == AF_INET6 { progress.hasTriedIPv6 = true }
        return !isAbandoned
    }

    /// The outcome of a transfer that libcurl has ended.
    func outcome(of result: Int32) -> Result<Void, any Error> {
        if let failure = progress.failure { return .failure(failure) }
        if request.connectsOnly, result == PULSE_CURLE_OK { return takeSocket() }
        guard result == PULSE_CURLE_OK || parser.isTruncated || endsAtHead && parser.isFinal else {
            return .failure(CurlFailure.error(result, of: self))
        }
        guard parser.isFinal else {
            let phase: PulseError.Phase = parser.hasBegun ? .responseStarted : .maybeSent
            return .failure(TransportFailure(code: .networkConnectionLost, phase: phase))
        }
        guard !parser.isTruncated, !endsAtHead else { return .success(()) }
        // Without the close alert a body that ends with the connection may be truncated (RFC 9112, section 9.8).
        // libcurl does not check this.
        if request.isSecure, parser.endsWithConnection, progress.notes?.isClosed == false {
            return .failure(TransportFailure(code: .networkConnectionLost, phase: .responseStarted))
        }
        return Result { try parser.finishBody() }.mapError(failure(ofBody:))
    }

    /// The failure of a buffered body, with the head if it is useful.
    func failure(ofBody error: any Error) -> any Error {
        guard let failure = error as? TransportFailure, failure.code == .cannotDecodeContentData,
            let head = ResponseHead(parser.head)
        else { return error }
        return CurlFailure.Undecodable(failure: failure, head: head)
    }

    /// Takes over the new connection before libcurl closes it.
    private func takeSocket() -> Result<Void, any Error> {
        if let pins = request.pins, !pins.isReportOnly, checksPins, progress.sendCount == 0 {
            return .failure(CurlFailure.Unpinned(keys: []))
        }
        let descriptor = link.map { pulse_link_leave_loop($0) } ?? pulse_loop_take_socket(poller, easy)
        guard descriptor >= 0 else {
            return .failure(TransportFailure(code: .resourceUnavailable, phase: .beforeSend))
        }
        socket = descriptor
        return .success(())
    }

    /// A connection for another owner.
    struct Connected {
        let channel: SocketChannel
        let timings: TransferTimings
    }

    /// Hands the connection over, once.
    func connected(queued: TimeInterval) throws -> Connected {
        guard let descriptor = socket else {
            throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend)
        }
        let timings = TransferTimings(measurements, queued: queued, isComplete: false)
        socket = nil
        guard let link else { return Connected(channel: SocketChannel(descriptor), timings: timings) }
        self.link = nil
        return Connected(channel: SocketChannel(CurlLink(self, link, descriptor: descriptor)), timings: timings)
    }

    /// Notifies the waiters: the sender or the reader of its stream, and the writer of the body.
    func finish(_ outcome: Result<Void, any Error>) {
        if case .pipe(let pipe, _) = request.body { pipe.finish(CancellationError()) }
        if let waiter = reply(outcome.map { .ended }) {
            waiter.resume()
        } else if case .streamed(let pipe, let measured) = request.delivery {
            measured(measurements)
            switch outcome {
            case .success: pipe.finish()
            case .failure(let error): pipe.finish(error)
            }
        }
    }

    /// Passes the sender the head of a response whose body continues.
    func continueStreaming() {
        guard let waiter = reply(.success(.streaming(takeResponse(isStreamed: true)))) else { return }
        owner?.add(.resume(waiter))
    }

    /// Moves the response out.
    func takeResponse(isStreamed: Bool = false) -> CurlResponse {
        CurlResponse(
            head: ResponseHead(parser.head), body: parser.takeBody(), codings: parser.codings,
            isStreamed: isStreamed, isTruncated: parser.isTruncated, measured: measurements,
            unpinnedKeys: progress.unpinnedKeys)
    }

    private var measurements: CurlResponse.Measurements {
        var measured = CurlResponse.Measurements(easy, bytesDecoded: parser.byteCount)
        measured.requestSent = progress.requestSentAt.map { Int64(($0 - startedAt) * 1e6) }
        return measured
    }
}
#endif
