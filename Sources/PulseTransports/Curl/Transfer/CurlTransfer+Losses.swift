// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

// libcurl sends a request again by itself if its connection ends before a byte of the response, or if an HTTP/2 server
// refuses it. It is stopped before that: whether a request goes out again is decided where plugins and events see it.
extension CurlTransfer {
    /// How a request was lost that had left, and of whose response nothing has come.
    enum Loss {
        /// With a connection that was used before.
        case stale
        /// An HTTP/2 server has said that it did not process the request.
        case refused
        /// The same, since the server wants HTTP/1.1 for it.
        case downgraded
        /// With a connection that was made for it, or by an error of the server's.
        case other
    }

    /// Whether libcurl tells in its log that it is about to send a request again.
    static func announcesResend(_ text: UnsafeRawBufferPointer) -> Bool {
        text.hasPrefix("Connection died, retrying") || text.hasPrefix("REFUSED_STREAM, retrying")
    }

    /// Called before libcurl 7.80 sends the request again: over a new connection, for which it must ask.
    func willSendAgain(_ text: UnsafeRawBufferPointer) {
        if text.hasPrefix("REFUSED_STREAM") { progress.isRefused = true }
        progress.isReused = pulse_curl_get_long(easy, Int32(PULSE_CURLINFO_NUM_CONNECTS)) == 0
        _ = pulse_curl_set_long(easy, Int32(PULSE_CURLOPT_FRESH_CONNECT), 1)
    }

    /// Notes why the transfer ends now that libcurl is about to send the request again.
    func refuseResend() {
        guard progress.failure == nil else { return }
        progress.failure = failure(of: loss(wantedResend), wantedResend, text: String(cString: errorText))
    }

    /// The failure of a request that was lost with that result of libcurl.
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

    /// The result that libcurl has at hand when it is about to send a request again.
    private var wantedResend: Int32 { Int32(PULSE_CURLE_SEND_FAIL_REWIND) }

    /// What libcurl 7.88 tells by its results, its texts and what it does. A text is one of this transfer: libcurl
    /// clears it at the start and keeps the first.
    private func loss(_ result: Int32) -> Loss {
        let text = String(cString: errorText)
        if progress.isRefused { return .refused }
        if text.contains("HTTP_1_1_REQUIRED") { return .downgraded }
        switch Int(result) {
        case PULSE_CURLE_SEND_FAIL_REWIND:
            // Over a connection that was made for the request libcurl does so for these two reasons alone.
            guard progress.isReused else { return text.isEmpty ? .refused : .downgraded }
            // It has a text for each end of an HTTP/2 connection, and none for a refusal.
            return progress.isMultiplexed && (text.isEmpty || text.contains("refused by server")) ? .refused : .stale
        case PULSE_CURLE_HTTP2:
            // After a GOAWAY that leaves the stream out.
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
