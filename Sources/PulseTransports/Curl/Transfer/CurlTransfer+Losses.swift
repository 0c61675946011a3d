// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

// libcurl resends a request by itself if its connection ends before the first response byte, or if an HTTP/2 server
// refuses it. The transport stops it: resends are decided where plugins and events see them.
extension CurlTransfer {
    /// How a request was lost that was sent and got no response byte.
    enum Loss {
        /// The reused connection ended.
        case stale
        /// An HTTP/2 server reported that it did not process the request.
        case refused
        /// The same, because the server requires HTTP/1.1.
        case downgraded
        /// A new connection ended, or the server reported an error.
        case other
    }

    /// Whether libcurl announces a resend in its log.
    static func announcesResend(_ text: UnsafeRawBufferPointer) -> Bool {
        text.hasPrefix("Connection died, retrying") || text.hasPrefix("REFUSED_STREAM, retrying")
    }

    /// Called before libcurl 7.80 resends the request: it needs a new connection for that.
    func willSendAgain(_ text: UnsafeRawBufferPointer) {
        if text.hasPrefix("REFUSED_STREAM") { progress.isRefused = true }
        progress.isReused = pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_NUM_CONNECTS)) == 0
        _ = pulse_curl_set_long(easy, Int32(PULSE_CURLOPT_FRESH_CONNECT), 1)
    }

    /// Records why the transfer ends when libcurl is about to resend the request.
    func refuseResend() {
        guard progress.failure == nil else { return }
        // A connection that the server ends because it refuses the client certificate is not stale.
        if let refusal = progress.notes?.refusal {
            progress.failure = TransportFailure(code: refusal, phase: .maybeSent)
            return
        }
        progress.failure = failure(of: loss(resendResult), resendResult, text: String(cString: errorText))
    }

    /// The failure of a request that libcurl reports as lost with this result.
    func failure(lostWith result: Int32, text: String) -> TransportFailure {
        failure(of: loss(result), result, text: text)
    }

    private func failure(of loss: Loss, _ result: Int32, text: String) -> TransportFailure {
        let isRefused = loss == .refused || loss == .downgraded
        let text = isRefused && text.isEmpty ? "the server did not process the request" : text
        return TransportFailure(
            code: .networkConnectionLost, phase: isRefused ? .beforeSend : .maybeSent,
            underlying: CurlFailure(code: result, text: text, asksForHTTP1: loss == .downgraded),
            isStaleConnection: isRefused || loss == .stale)
    }

    /// libcurl's result when it is about to resend a request.
    private var resendResult: Int32 { Int32(PULSE_CURLE_SEND_FAIL_REWIND) }

    /// Interprets the results, texts and behavior of libcurl 7.88. The text belongs to this transfer: libcurl clears it
    /// at the start and keeps the first one.
    private func loss(_ result: Int32) -> Loss {
        let text = String(cString: errorText)
        if progress.isRefused { return .refused }
        if text.contains("HTTP_1_1_REQUIRED") { return .downgraded }
        switch Int(result) {
        case PULSE_CURLE_SEND_FAIL_REWIND:
            // On a new connection libcurl resends only for these two reasons.
            guard progress.isReused else { return text.isEmpty ? .refused : .downgraded }
            // Each end of an HTTP/2 connection has a text; a refusal has none.
            return progress.isMultiplexed && (text.isEmpty || text.contains("refused by server")) ? .refused : .stale
        case PULSE_CURLE_HTTP2:
            // A GOAWAY that excludes the stream.
            return progress.isMultiplexed && text.isEmpty ? .refused : .other
        case PULSE_CURLE_HTTP2_STREAM:
            if text.contains("REFUSED_STREAM") { return .refused }
            return progress.isReused && text.contains("before end of the underlying stream") ? .stale : .other
        case PULSE_CURLE_PARTIAL_FILE, PULSE_CURLE_GOT_NOTHING, PULSE_CURLE_SEND_ERROR, PULSE_CURLE_RECV_ERROR:
            return progress.isReused ? .stale : .other
        default:
            return .other
        }
    }
}
#endif
