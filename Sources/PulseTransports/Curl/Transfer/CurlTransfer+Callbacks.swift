// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

// The callbacks of libcurl, which run in the loop while it owns the transfer.
extension CurlTransfer {
    /// Called when the connection is up and nothing of the request was sent. False ends the transfer.
    ///
    /// - Parameter isQuiet: whether a reused connection has nothing to read.
    /// - Parameter idleTimeLeft: for how many more seconds the server keeps an idle connection.
    func willSend(isQuiet: () -> Bool, idleTimeLeft: () -> TimeInterval) -> Bool {
        // The transfer has now got a connection that another one opened.
        guard !isAbandoned else { return false }
        guard upload.sendCount == 0 else {
            refuseResend()
            return false
        }
        let isMultiplexed = request.isSecure && handle.isMultiplexed
        let isReused = handle.isConnectionReused
        if isReused, !isMultiplexed {
            let margin = request.mayBeResent ? 0 : KeepAliveTimeout.margin
            guard !request.needsNewConnection, isQuiet(), idleTimeLeft() > margin else {
                progress.needsAnotherConnection = true
                return false
            }
        }
        if request.isSecure { progress.notes = CurlTLSNotes(of: handle.easy) ?? progress.notes }
        if request.hasBody { pulse_tls_outlast_writing(handle.easy) }
        upload.sendCount += 1
        (upload.isReused, upload.isMultiplexed) = (isReused, isMultiplexed)
        timing.connectedAt = pulse_monotonic_now()
        if let pins = request.pins, library.readsVerifiedChain { return accepts(pins) }
        return true
    }

    /// Makes a connection trust the system's authorities, unless the request has its own. Returns a `CURLcode`.
    func trustSystem(_ context: UnsafeMutableRawPointer) -> Int32 {
        guard request.tls.certificateAuthorities.isEmpty, let system = handle.library.systemAuthorities else {
            return Int32(PULSE_CURLE_OK)
        }
        return system.apply(to: context)
    }

    private func accepts(_ pins: PinnedKeys) -> Bool {
        switch pins.verdict(onKeys: verifiedKeys()) {
        case .accepted:
            return true
        case .reported(let keys):
            progress.unpinnedKeys = keys
            return true
        case .refused(let keys):
            progress.failure = CurlFailure.Unpinned(keys: keys)
            return false
        }
    }

    private func verifiedKeys() -> [[UInt8]] {
        let (length, capacity) = (Int(PULSE_KEY_HASH_LENGTH), 32)
        var hashes = [UInt8](repeating: 0, count: length * capacity)
        let count = Int(pulse_tls_verified_key_hashes(handle.easy, &hashes, Int32(capacity)))
        return (0..<count).map { Array(hashes[$0 * length..<($0 + 1) * length]) }
    }

    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        timing.lastActivity = pulse_loop_now(poller)
        let step = parser.receive(line, for: request.traits) { handle.long(PULSE_CURLINFO_RESPONSE_CODE) }
        switch step {
        case .proceed: return true
        case .head: return receivedHead()
        case .bad: return fail(.badServerResponse)
        }
    }

    private func receivedHead() -> Bool {
        noteIdleLimit()
        if endsAtHead {
            handle.closeConnectionAtEnd()
            return false
        }
        // After a refusal libcurl sends no more, but would still wait for the paused body.
        if parser.status >= 300, upload.isPaused {
            upload.isPaused = false
            handle.proceed()
        }
        if parser.framing.isAmbiguous || parser.framing.isMisdirected { handle.closeConnectionAtEnd() }
        do {
            switch request.delivery {
            case .streamed where isStreaming: continueStreaming()
            case .streamed: try parser.beginBody(limit: PulseResponse.errorBodyLimit, cuts: true)
            case .buffered(let limit): try parser.beginBody(limit: limit, cuts: false)
            }
            return true
        } catch {
            handle.closeConnectionAtEnd()
            progress.failure = error
            return false
        }
    }

    private func noteIdleLimit() {
        guard let seconds = parser.idleLimit, !upload.isMultiplexed, let socket = handle.connection else { return }
        pulse_loop_note_idle_limit(poller, socket, seconds)
    }

    /// Whether the body goes into the pipe: only a 2xx body of a stream or download.
    private var isStreaming: Bool { (200..<300).contains(parser.status) }

    /// Consumes bytes of the body. Returns the accepted count to libcurl.
    func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        timing.lastActivity = pulse_loop_now(poller)
        guard parser.isFinal else { return fail(.badServerResponse) ? bytes.count : 0 }
        if case .streamed(let pipe, _) = request.delivery, isStreaming {
            guard pipe.offer(bytes, resume: { owner?.add(.pipe($0)) }) else {
                progress.isReceivingPaused = true
                return Int(PULSE_CURL_WRITEFUNC_PAUSE)
            }
            return bytes.count
        }
        do {
            try parser.receive(bytes)
            return bytes.count
        } catch {
            handle.closeConnectionAtEnd()
            // A truncated body ends as intended: `isTruncated` distinguishes it from a failure.
            if !parser.isTruncated { progress.failure = error }
            return Self.refusal(bytes)
        }
    }

    /// A return value that differs from the byte count, which ends the transfer.
    private static func refusal(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytes.count == 0 ? 1 : 0
    }

    /// Copies bytes of the request's body into the buffer. Returns their count to libcurl.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !pulse_tls_has_outlasted_writing(handle.easy) else {
            return upload.fillDiscarded(buffer, of: request.bodyLength ?? 0)
        }
        timing.lastActivity = pulse_monotonic_now()
        do {
            return try upload.fill(buffer, from: request.body, now: timing.lastActivity) { owner?.add(.pipe($0)) }
        } catch {
            progress.failure = error
            return Int(PULSE_CURL_READFUNC_ABORT)
        }
    }

    private func fail(_ code: URLError.Code) -> Bool {
        handle.closeConnectionAtEnd()
        progress.failure = TransportFailure(code: code, phase: .responseStarted)
        return false
    }

    /// Called when libcurl requests a socket. False ends the transfer.
    func willOpenSocket(family: Int32) -> Bool {
        guard !mayHaveSent, !upload.isRefused else {
            refuseResend()
            return false
        }
        progress.hasSocket = true
        if family == AF_INET { progress.hasTriedIPv4 = true }
        if family == AF_INET6 { progress.hasTriedIPv6 = true }
        return !isAbandoned
    }

    // MARK: Resends

    // libcurl resends a request by itself if its connection ends before the first response byte, or if an HTTP/2 server
    // refuses it. The transport stops it: resends are decided where plugins and events see them.

    /// Called with libcurl's log before 7.80, and from 8.19 on. Before a resend it makes libcurl open a connection.
    func receive(logLine line: UnsafeRawBufferPointer) {
        guard !library.logsRefusals else {
            if line.hasPrefix("HTTP/2 stream ") { upload.note(String(decoding: line, as: UTF8.self)) }
            return
        }
        let isRefused = line.hasPrefix("REFUSED_STREAM, retrying")
        guard isRefused || line.hasPrefix("Connection died, retrying") else { return }
        if isRefused { upload.isRefused = true }
        upload.isReused = handle.isConnectionReused
        handle.useNewConnection()
    }

    /// Records why the transfer ends when libcurl is about to resend the request.
    private func refuseResend() {
        guard progress.failure == nil else { return }
        // A connection that the server ends because it refuses the client certificate is not stale.
        if let refusal = progress.notes?.refusal {
            progress.failure = TransportFailure(code: refusal, phase: .maybeSent)
        } else {
            progress.failure = failure(lostWith: Int32(PULSE_CURLE_SEND_FAIL_REWIND), text: handle.text)
        }
    }

    /// The failure of a request that libcurl reports as lost with this result.
    func failure(lostWith result: Int32, text: String) -> TransportFailure {
        let loss = upload.loss(result, handle.text, isLogged: library.logsRefusals)
        let isRefused = loss == .refused || loss == .downgraded
        let text = isRefused && text.isEmpty ? "the server did not process the request" : text
        return TransportFailure(
            code: .networkConnectionLost, phase: isRefused ? .beforeSend : .maybeSent,
            underlying: CurlFailure(code: result, text: text, asksForHTTP1: loss == .downgraded),
            isStaleConnection: isRefused || loss == .stale)
    }
}
#endif
