// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

// The callbacks of libcurl, which run in the loop while it owns the transfer.
extension CurlTransfer {
    /// The maximum size of an error's body that a stream or download returns.
    private static let errorBodyLimit = 64 << 10

    /// Called when the connection is up and nothing of the request was sent. False ends the transfer.
    ///
    /// - Parameter isQuiet: whether a reused connection has nothing to read.
    /// - Parameter idleTimeLeft: for how many more seconds the server keeps an idle connection.
    func willSend(isQuiet: () -> Bool, idleTimeLeft: () -> TimeInterval) -> Bool {
        // The transfer has now got a connection that another one opened.
        guard !isAbandoned else { return false }
        guard progress.sendCount == 0 else {
            refuseResend()
            return false
        }
        let isMultiplexed = request.isSecure && pulse_tls_state(easy) == PULSE_TLS_MULTIPLEXED
        let isReused = pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_NUM_CONNECTS)) == 0
        if isReused, !isMultiplexed {
            let margin = request.mayBeResent ? 0 : KeepAliveTimeout.margin
            guard !request.needsNewConnection, isQuiet(), idleTimeLeft() > margin else {
                progress.needsAnotherConnection = true
                return false
            }
        }
        if request.isSecure { progress.notes = CurlTLSNotes(of: easy) ?? progress.notes }
        if request.hasBody { pulse_tls_outlast_writing(easy) }
        progress.sendCount += 1
        (progress.isReused, progress.isMultiplexed) = (isReused, isMultiplexed)
        progress.connectedAt = pulse_monotonic_now()
        if let pins = request.pins, library.readsVerifiedChain { return accepts(pins) }
        return true
    }

    /// Whether this client checks the pins itself, and not libcurl.
    var checksPins: Bool { library.hasPrerequest && library.readsVerifiedChain }

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
        let count = Int(pulse_tls_verified_key_hashes(easy, &hashes, Int32(capacity)))
        return (0..<count).map { Array(hashes[$0 * length..<($0 + 1) * length]) }
    }

    func receive(headerLine line: UnsafeRawBufferPointer) -> Bool {
        progress.lastActivity = pulse_loop_now(poller)
        let step = parser.receive(line, for: request.traits) { [easy] in
            pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_RESPONSE_CODE))
        }
        switch step {
        case .proceed: return true
        case .head: return receivedHead()
        case .bad: return fail(.badServerResponse)
        }
    }

    private func receivedHead() -> Bool {
        noteIdleLimit()
        if endsAtHead {
            closeConnectionAtEnd()
            return false
        }
        // After a refusal libcurl sends no more, but would still wait for the paused body.
        if parser.status >= 300 { resumeSending() }
        if parser.framing.isAmbiguous { closeConnectionAtEnd() }
        do {
            switch request.delivery {
            case .streamed where isStreaming: continueStreaming()
            case .streamed: try parser.beginBody(limit: Self.errorBodyLimit, cuts: true)
            case .buffered(let limit): try parser.beginBody(limit: limit, cuts: false)
            }
            return true
        } catch {
            closeConnectionAtEnd()
            progress.failure = error
            return false
        }
    }

    private func noteIdleLimit() {
        guard let seconds = parser.idleLimit, !progress.isMultiplexed else { return }
        var socket = pulse_socket()
        if pulse_loop_connection(poller, easy, &socket) { pulse_loop_note_idle_limit(poller, socket, seconds) }
    }

    /// Whether the body goes into the pipe: only a 2xx body of a stream or download.
    private var isStreaming: Bool { (200..<300).contains(parser.status) }

    /// Consumes bytes of the body. Returns the accepted count to libcurl.
    func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        progress.lastActivity = pulse_loop_now(poller)
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
            closeConnectionAtEnd()
            // A truncated body ends as intended: `isTruncated` distinguishes it from a failure.
            if !parser.isTruncated { progress.failure = failure(ofBody: error) }
            return Self.refusal(bytes)
        }
    }

    /// A return value that differs from the byte count, which ends the transfer.
    private static func refusal(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytes.count == 0 ? 1 : 0
    }

    /// Copies bytes of the request's body into the buffer. Returns their count to libcurl.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        progress.lastActivity = pulse_monotonic_now()
        if pulse_tls_has_outlasted_writing(easy) { return fillDiscarded(buffer) }
        switch request.body {
        case .none:
            return 0
        case .bytes(let data):
            let count = min(buffer.count, data.count - progress.bodyOffset)
            let start = data.startIndex + progress.bodyOffset
            data.copyBytes(to: buffer, from: start..<start + count)
            progress.bodyOffset += count
            if progress.bodyOffset == data.count { progress.requestSentAt = progress.lastActivity }
            return count
        case .pipe(let pipe, let length):
            switch pipe.take(into: buffer, resume: { owner?.add(.pipe($0)) }) {
            case .bytes(let count):
                progress.bodyOffset += count
                if let length, progress.bodyOffset >= length { progress.requestSentAt = progress.lastActivity }
                return count
            case .nothingYet:
                progress.isSendingPaused = true
                return Int(PULSE_CURL_READFUNC_PAUSE)
            case .end:
                progress.requestSentAt = progress.lastActivity
                return 0
            case .failed(let error):
                progress.failure = error
                return Int(PULSE_CURL_READFUNC_ABORT)
            }
        }
    }

    /// Fills the buffer with bytes that are discarded, on a connection that accepts no more. libcurl reads the response
    /// only after it has sent the declared length.
    private func fillDiscarded(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        if case .pipe(_, nil) = request.body { return 0 }
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return buffer.count
    }

    /// Seeks in the request's body before libcurl sends it again.
    func seek(to offset: Int64) -> Bool {
        switch request.body {
        case .none: return offset == 0
        case .bytes(let data):
            guard offset >= 0, offset <= data.count else { return false }
            progress.bodyOffset = Int(offset)
            return true
        case .pipe: return offset == Int64(progress.bodyOffset)
        }
    }

    private func fail(_ code: URLError.Code) -> Bool {
        closeConnectionAtEnd()
        progress.failure = TransportFailure(code: code, phase: .responseStarted)
        return false
    }
}

// MARK: C entry points

private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
    context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
}

let curlReceiveHeader: pulse_curl_data_callback = { bytes, size, count, context in
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receive(headerLine: line) == true ? line.count : 0
}

let curlReceiveBody: pulse_curl_data_callback = { bytes, size, count, context in
    transfer(context)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
}

let curlFillBody: pulse_curl_data_callback = { bytes, size, count, context in
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.fill(buffer) ?? Int(PULSE_CURL_READFUNC_ABORT)
}

let curlSeekBody: pulse_curl_seek_callback = { context, offset, origin in
    // libcurl always seeks relative to the start.
    let isThere = origin == 0 && transfer(context)?.seek(to: offset) == true
    return Int32(isThere ? PULSE_CURL_SEEKFUNC_OK : PULSE_CURL_SEEKFUNC_CANTSEEK)
}

let curlPrerequest: pulse_curl_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let transfer = transfer(context) else { return Int32(PULSE_CURL_PREREQFUNC_ABORT) }
    let maySend = transfer.willSend {
        pulse_loop_is_quiet(transfer.poller, transfer.easy, remote, remotePort, localPort)
    } idleTimeLeft: {
        pulse_loop_idle_time_left(transfer.poller, remote, remotePort, localPort)
    }
    return Int32(maySend ? PULSE_CURL_PREREQFUNC_OK : PULSE_CURL_PREREQFUNC_ABORT)
}

let curlSecure: pulse_curl_ssl_ctx_callback = { _, tls, context in
    if let tls { transfer(context)?.progress.notes = CurlTLSNotes(begunWith: tls) }
    return Int32(PULSE_CURLE_OK)
}

let curlListen: pulse_curl_debug_callback = { _, kind, bytes, count, context in
    // CURLINFO_TEXT. All other kinds are transferred data.
    guard kind == 0 else { return 0 }
    let text = UnsafeRawBufferPointer(start: bytes, count: count)
    if CurlTransfer.announcesResend(text) { transfer(context)?.willSendAgain(text) }
    return 0
}

let curlOpenSocket: pulse_curl_opensocket_callback = { context, _, address in
    guard let transfer = transfer(context), let address, transfer.willOpenSocket(family: address.pointee.family) else {
        return Int32(PULSE_CURL_SOCKET_BAD)
    }
    let socket = pulse_loop_open_socket(transfer.poller, address)
    transfer.progress.lacksSocket = socket < 0 && [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
    return socket
}
#endif
