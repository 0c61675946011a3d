// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A handle of libcurl and the request that it carries; requests use it one after the other.
///
/// It belongs to the sender until the request is handed to the loop, then to the loop, and with a whole answer to the
/// sender again. The sender gives it back for the next request, also after a failure if libcurl is done with it.
final class CurlTransfer: @unchecked Sendable {
    // Unchecked: it belongs to one of them at a time, as above; the inbox and `handover` pass it on.

    /// What the sender gets.
    enum Reply: Sendable {
        /// The whole answer is there: the transfer belongs to the sender again, which reads it.
        case ended
        /// The head of an answer whose body continues in the request's pipe.
        case goesOn(CurlResponse)
    }

    enum TimeoutCheck {
        case struck(any Error)
        case notBefore(TimeInterval)
    }

    /// What the transfers of a loop have in common.
    struct Environment {
        let library: CurlLibrary
        let poller: OpaquePointer
        let sessions: CurlSessions
        let certificates = CurlCertificates()
        /// Where the holder of the driver's lock leaves what must wait until it is given back.
        let deferred: CurlDeferredActions
        /// Whether no environment variable names a proxy.
        let hasNoProxyAround: Bool
    }

    let easy: UnsafeMutableRawPointer
    let environment: Environment
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
    /// Lives as long as libcurl may read it.
    var headerList: UnsafeMutablePointer<pulse_curl_slist>?
    /// How the handle is set up, if another usual request can use it so.
    var appliedSettings: CurlRequest.ReusableSettings?
    /// Whether nothing is set on the handle.
    var isFresh = true

    private(set) var request: CurlRequest
    private(set) var id: UInt64 = 0
    private(set) var startedAt: TimeInterval = 0
    let replySlot = CurlReplySlot()
    /// Whether nobody waits for it any more, so that it must not open another socket.
    private(set) var isAbandoned = false
    var parser = CurlResponseParser()
    var progress = Progress()
    /// The socket of a request that only connects; whoever takes it out closes it.
    private var socket: Int32?

    /// How far the request has got.
    struct Progress {
        var hasSocket = false
        /// Whether the system had no descriptor for the latest socket.
        var lacksSocket = false
        var hasTriedIPv4 = false
        var hasTriedIPv6 = false
        /// Why this side ended the transfer, which libcurl does not know.
        var failure: (any Error)?
        /// Whether the connection that libcurl took up again cannot be used, and nothing has been sent.
        var needsAnotherConnection = false
        var sendCount = 0
        /// Whether the connection was not made for this request, and whether it takes several at a time.
        var isReused = false
        var isMultiplexed = false
        /// Whether libcurl has told that the server refused to process the request.
        var isRefused = false
        var connectedAt: TimeInterval?
        var bodyOffset = 0
        var requestSentAt: TimeInterval?
        var unpinnedKeys: [[UInt8]]?
        /// What the server has said on the connection used last, beneath HTTP.
        var notes: CurlTLSNotes?
        var isReceivingPaused = false
        var isSendingPaused = false
        var lastActivity: TimeInterval = 0
        var uploadCount = UploadCount()
    }

    /// Nil where there is no memory for a handle.
    init?(_ request: CurlRequest, _ environment: Environment) {
        guard let easy = environment.sessions.makeHandle() else { return nil }
        self.easy = easy
        self.environment = environment
        self.request = request
        errorText.initialize(repeating: 0, count: 256)
    }

    deinit {
        environment.sessions.free(easy)
        if let socket { close(socket) }
        free(headerList)
        errorText.deallocate()
    }

    var library: CurlLibrary { environment.library }
    var poller: OpaquePointer { environment.poller }

    /// Gets ready for a request, while the sender has it. Throws ``PulseError`` for what this libcurl cannot do.
    func prepare(_ request: CurlRequest, id: UInt64) throws {
        self.request = request
        self.id = id
        errorText[0] = 0
        try configure()
        isFresh = false
    }

    /// From here on it belongs to the loop.
    func begin(_ waiter: CurlReplySlot.Waiter) {
        replySlot.wait(waiter)
        startedAt = pulse_monotonic_now()
        progress.lastActivity = startedAt
    }

    /// Lets go of what its request held, until there is another one.
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
        parser.startOver()
    }

    // libcurl expects no body after HEAD only if it sends none with it.
    var endsAtHead: Bool {
        request.method == "HEAD" && request.hasBody
            // If its Expect is refused, libcurl would send the request again without it, and give both answers as one.
            || parser.status == 417 && request.expectsContinue
    }

    var isReadingHead: Bool { parser.hasBegun && !parser.isFinal }

    var phase: PulseError.Phase {
        !mayHaveSent ? .beforeSend : parser.hasBegun ? .responseStarted : .maybeSent
    }

    /// Whether anything of the request can have left.
    var mayHaveSent: Bool {
        library.hasPrerequest
            ? progress.sendCount > 0 : pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_PRETRANSFER_TIME_T)) > 0
    }

    /// Gets ready to start again. libcurl has closed the unusable connection, but may have another one like it.
    func startAgain() {
        progress.needsAnotherConnection = false
        appliedSettings = nil
        _ = pulse_curl_set_long(easy, Int32(PULSE_CURLOPT_FRESH_CONNECT), 1)
    }

    /// Goes on after a pipe had turned this transfer away.
    func resume() {
        guard progress.isReceivingPaused || progress.isSendingPaused else { return }
        (progress.isReceivingPaused, progress.isSendingPaused) = (false, false)
        progress.lastActivity = pulse_monotonic_now()
        _ = pulse_curl_easy_pause(easy, Int32(PULSE_CURLPAUSE_CONT))
    }

    /// Has libcurl ask for the request's body again, of which there may be nothing yet.
    func resumeSending() {
        guard progress.isSendingPaused else { return }
        progress.isSendingPaused = false
        _ = pulse_curl_easy_pause(easy, Int32(PULSE_CURLPAUSE_CONT))
    }

    // MARK: Ends

    /// Ends the transfer at the next socket that it asks for: until then libcurl would wait for a name to be resolved.
    func abandon() {
        isAbandoned = true
    }

    /// Called when libcurl wants a socket; false ends the transfer.
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
        // Without the closure alert a body that ends with the connection may have been cut (RFC 9112, section 9.8).
        // libcurl does not look for one.
        if request.isSecure, parser.endsWithConnection, progress.notes?.isClosed == false {
            return .failure(TransportFailure(code: .networkConnectionLost, phase: .responseStarted))
        }
        return Result { try parser.finishBody() }.mapError(failure(ofBody:))
    }

    /// The failure of a buffered body, with its head if that is worth showing.
    func failure(ofBody error: any Error) -> any Error {
        guard let failure = error as? TransportFailure, failure.code == .cannotDecodeContentData,
            let head = ResponseHead(parser.head)
        else { return error }
        return CurlFailure.Undecodable(failure: failure, head: head)
    }

    /// Takes the connection that was made over, before libcurl closes it.
    private func takeSocket() -> Result<Void, any Error> {
        let descriptor = pulse_loop_take_socket(poller, easy)
        guard descriptor >= 0 else {
            return .failure(TransportFailure(code: .resourceUnavailable, phase: .beforeSend))
        }
        socket = descriptor
        return .success(())
    }

    /// A connection that was made for somebody else to use.
    struct Connected {
        let descriptor: Int32
        let timings: TransferTimings
    }

    /// Hands the connection over, once.
    func connected(queued: TimeInterval) throws -> Connected {
        guard let descriptor = socket else {
            throw TransportFailure(code: .cannotConnectToHost, phase: .beforeSend)
        }
        socket = nil
        return Connected(
            descriptor: descriptor, timings: TransferTimings(measurements, queued: queued, isComplete: false))
    }

    /// Tells those who wait: the sender or the reader of its stream, and the writer of the body.
    func finish(_ outcome: Result<Void, any Error>) {
        if case .pipe(let pipe, _) = request.body { pipe.finish(CancellationError()) }
        if let waiter = replySlot.leave(outcome.map { .ended }) {
            waiter.resume()
        } else if case .streamed(let pipe, let measured) = request.delivery {
            measured(measurements)
            switch outcome {
            case .success: pipe.finish()
            case .failure(let error): pipe.finish(error)
            }
        }
    }

    /// Gives the sender the head of an answer whose body continues.
    func continueStreaming() {
        guard let waiter = replySlot.leave(.success(.goesOn(answer(isStreamed: true)))) else { return }
        environment.deferred.add(.resume(waiter))
    }

    /// Takes the answer out.
    func answer(isStreamed: Bool = false) -> CurlResponse {
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

    // MARK: Timeouts

    /// Seconds from one look at the clock to the next.
    ///
    /// While a body goes out over a connection that serves others too, nothing but the count of its bytes tells of
    /// activity: it is looked at more often, and the timeout strikes so much later at most.
    var lookPeriod: TimeInterval {
        request.hasBody ? request.idleTimeout / 4 : request.idleTimeout
    }

    /// For how many seconds it lets the server be silent.
    var patience: TimeInterval {
        // A pipe that is held up on this side does not make the server slow. With an error in hand libcurl sends no
        // more, and asks for no more to send.
        let isHeldUp = progress.isReceivingPaused || progress.isSendingPaused && parser.status < 300
        return isHeldUp ? .infinity : request.idleTimeout
    }

    /// For how many seconds nothing is known to have happened.
    func idleTime(now: TimeInterval) -> TimeInterval {
        now - max(progress.lastActivity, progress.connectedAt ?? startedAt)
    }

    /// Whether a part of the request's body has not left.
    var isSendingBody: Bool {
        guard let length = request.bodyLength, progress.requestSentAt == nil else { return false }
        return pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_SIZE_UPLOAD_T)) < length
    }

    /// Whether its connection may serve others too, so that what happens there tells nothing about this transfer.
    ///
    /// The version is known from the answer's first line on, and before that the TLS knows what was agreed on; the
    /// version alone where there is another TLS than OpenSSL.
    private var sharesConnection: Bool {
        pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_HTTP_VERSION)) >= PULSE_CURL_HTTP_VERSION_2_0
            || pulse_tls_state(easy) == PULSE_TLS_MULTIPLEXED
    }

    func timeout(now: TimeInterval) -> TimeoutCheck {
        if progress.connectedAt == nil, !library.hasPrerequest, mayHaveSent {
            // When, not that: this may be the first look for as long as the timeout is.
            let ready = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_PRETRANSFER_TIME_T))
            progress.connectedAt = min(now, startedAt + TimeInterval(ready) / 1e6)
        }
        guard let connectedAt = progress.connectedAt else {
            let limit = startedAt + request.connectTimeout
            guard now < limit else {
                return .struck(
                    TransportFailure(code: .timedOut, phase: .beforeSend, underlying: CurlFailure.slowProxy(request)))
            }
            return .notBefore(min(limit, now + lookPeriod))
        }
        guard patience < .infinity else { return .notBefore(now + request.idleTimeout) }
        if let length = request.bodyLength {
            let uploaded = pulse_curl_get_offset(easy, Int32(PULSE_CURLINFO_SIZE_UPLOAD_T))
            if progress.uploadCount.moves(to: uploaded, of: length) { progress.lastActivity = now }
        }
        var latest = max(progress.lastActivity, connectedAt)
        if now >= latest + request.idleTimeout {
            if !sharesConnection {
                progress.lastActivity = max(progress.lastActivity, pulse_loop_last_activity(poller, easy))
            }
            latest = max(progress.lastActivity, latest)
        }
        guard now >= latest + request.idleTimeout else {
            return .notBefore(min(latest + request.idleTimeout, now + lookPeriod))
        }
        let phase: PulseError.Phase = parser.hasBegun ? .responseStarted : .maybeSent
        return .struck(TransportFailure(code: .timedOut, phase: phase))
    }
}
#endif
