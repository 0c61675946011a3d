// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// An error of libcurl: its code and text. The text may quote a URL, which error descriptions redact.
struct CurlFailure: Error, Sendable, CustomStringConvertible {
    let code: Int32
    let text: String
    /// Whether the server requires HTTP/1.1 for the request, which it refused over HTTP/2.
    var asksForHTTP1 = false
    /// The proxy that could not be reached, if that is the cause.
    var proxy: String?

    var description: String {
        "libcurl \(code)" + (proxy.map { ", by the proxy \($0)" } ?? "") + (text.isEmpty ? "" : ": \(text.onOneLine)")
    }

    /// The cause of a connect timeout through a proxy; nil without a proxy.
    static func slowProxy(_ request: CurlRequest) -> CurlFailure? {
        guard case .proxy = request.proxy.route, let name = CurlProxy.name(for: request) else { return nil }
        return CurlFailure(code: Int32(PULSE_CURLE_OPERATION_TIMEDOUT), text: "connect timeout", proxy: name)
    }

    /// The verified chain contains none of the pinned keys.
    struct Unpinned: Error {
        let keys: [[UInt8]]
    }

    /// The failure of a buffered body, whose header fields had arrived.
    struct OfBody: Error {
        let cause: any Error
        let head: ResponseHead
    }

    /// The error for the end of a transfer, including how far the request had got.
    static func error(_ result: Int32, of transfer: CurlTransfer) -> any Error {
        var text = transfer.handle.text(of: result)
        if Int(result) == PULSE_CURLE_URL_MALFORMAT { return PulseError.invalidURL(text) }
        if Int(result) == PULSE_CURLE_SSL_PINNEDPUBKEYNOTMATCH { return Unpinned(keys: []) }
        if Int(result) == PULSE_CURLE_SSL_CERTPROBLEM { return TLSSettings.ClientCertificate.unusable(text) }
        if Int(result) == PULSE_CURLE_SSL_CACERT_BADFILE, !transfer.request.tls.certificateAuthorities.isEmpty {
            return PulseError.invalidRequest(reason: "the certificate authorities of the TLS settings: \(text)")
        }
        if Int(result) == PULSE_CURLE_SSL_CACERT_BADFILE, let system = transfer.handle.library.systemAuthorities {
            text = "the certificate authorities of the system cannot be read: \(system.places)"
        }
        let phase = transfer.phase
        let code = code(Int(result), phase, text, transfer)
        if code == .networkConnectionLost, phase == .maybeSent {
            return transfer.failure(lostWith: result, text: text)
        }
        var cause = CurlFailure(code: result, text: text)
        if phase == .beforeSend {
            if lacksDescriptors(Int(result), transfer) {
                return TransportFailure(code: .resourceUnavailable, phase: phase, underlying: cause)
            }
            if let refusal = CurlProxy.refusal(Int(result), of: transfer) { return PulseError.proxyRefused(refusal) }
            cause.proxy = CurlProxy.unreached(Int(result), text, transfer.request)
        }
        return TransportFailure(code: code, phase: phase, underlying: cause)
    }

    /// Whether this process could not open a file that a connection needs: a socket, a CA file, or a resolver's files.
    private static func lacksDescriptors(_ result: Int, _ transfer: CurlTransfer) -> Bool {
        switch result {
        case PULSE_CURLE_COULDNT_CONNECT: transfer.progress.lacksSocket
        case PULSE_CURLE_COULDNT_RESOLVE_HOST, PULSE_CURLE_COULDNT_RESOLVE_PROXY, PULSE_CURLE_SSL_CACERT_BADFILE,
            PULSE_CURLE_OUT_OF_MEMORY:
            pulse_lacks_descriptors()
        default: false
        }
    }

    private static func code(
        _ result: Int, _ phase: PulseError.Phase, _ text: String, _ transfer: CurlTransfer
    ) -> URLError.Code {
        if let refusal = transfer.progress.notes?.refusal { return refusal }
        switch result {
        // The server reports this during the handshake, or with TLS 1.3 after it.
        case PULSE_CURLE_SSL_CONNECT_ERROR where refusesCertificate(text),
            PULSE_CURLE_RECV_ERROR where refusesCertificate(text):
            return .clientCertificateRejected
        case PULSE_CURLE_COULDNT_RESOLVE_HOST, PULSE_CURLE_COULDNT_RESOLVE_PROXY:
            return pulse_has_default_route() ? .cannotFindHost : .notConnectedToInternet
        case PULSE_CURLE_COULDNT_CONNECT:
            return connectCode(
                transfer.handle.long(PULSE_CURLINFO_OS_ERRNO),
                hasTriedBothFamilies: transfer.progress.hasTriedIPv4 && transfer.progress.hasTriedIPv6,
                hasDefaultRoute: pulse_has_default_route())
        case PULSE_CURLE_OPERATION_TIMEDOUT:
            return .timedOut
        case PULSE_CURLE_SSL_CONNECT_ERROR, PULSE_CURLE_SSL_CIPHER, PULSE_CURLE_SSL_CACERT_BADFILE:
            return .secureConnectionFailed
        case PULSE_CURLE_PEER_FAILED_VERIFICATION:
            let result = transfer.handle.long(PULSE_CURLINFO_SSL_VERIFYRESULT)
            return TLSFailure.trustCode(result) ?? .serverCertificateUntrusted
        case _ where isInvalidResponse(result, text, phase, isReadingHead: transfer.isReadingHead),
            _ where transfer.upload.isMultiplexed && isProtocolError(result, text):
            return .badServerResponse
        // With TLS 1.3 a server requires a certificate only after the handshake.
        case PULSE_CURLE_RECV_ERROR where text.contains("certificate required"):
            return .clientCertificateRequired
        case PULSE_CURLE_PROXY:
            return .cannotConnectToHost
        case PULSE_CURLE_OUT_OF_MEMORY:
            return .resourceUnavailable
        default:
            return phase == .beforeSend ? .cannotConnectToHost : .networkConnectionLost
        }
    }

    /// Whether libcurl has ended the transfer because of an invalid response, which each version reports differently.
    static func isInvalidResponse(
        _ result: Int, _ text: String, _ phase: PulseError.Phase, isReadingHead: Bool
    ) -> Bool {
        switch result {
        // The last code concerns transfer codings: this client never lets libcurl decode content codings.
        case PULSE_CURLE_UNSUPPORTED_PROTOCOL, PULSE_CURLE_WEIRD_SERVER_REPLY, PULSE_CURLE_BAD_CONTENT_ENCODING: true
        // "chunked-encoding", or "chunk hex-length" in later versions.
        case PULSE_CURLE_RECV_ERROR: text.contains("chunk") || text.contains("response headers")
        // libcurl 7.88 reports memory exhaustion with the first, and a head that begins with a folded line with the
        // second.
        case PULSE_CURLE_TOO_LARGE, PULSE_CURLE_BAD_FUNCTION_ARGUMENT: phase != .beforeSend
        // A line beyond libcurl's limit, which may be the first one.
        case PULSE_CURLE_OUT_OF_MEMORY: isReadingHead || phase == .maybeSent
        default: false
        }
    }

    /// Whether libcurl has ended an HTTP/2 stream or connection because of a malformed frame or field (RFC 9113,
    /// section 5.4), or because the server says that it got one.
    static func isProtocolError(_ result: Int, _ text: String) -> Bool {
        switch result {
        // libcurl 7.88 says no more of a new connection, and nothing of a reused one. Any other end has another code.
        case PULSE_CURLE_GOT_NOTHING: true
        case PULSE_CURLE_HTTP2: text.contains("nghttp2 shuts down")
        case PULSE_CURLE_HTTP2_STREAM:
            ["PROTOCOL_ERROR", "invalid frame", "Invalid HTTP header", "closed cleanly, but before"].contains {
                text.contains($0)
            }
        default: false
        }
    }

    /// Whether this is OpenSSL's text for an alert about the client's certificate (RFC 8446, section 6.2).
    private static func refusesCertificate(_ text: String) -> Bool {
        [
            "alert bad certificate", "alert unsupported certificate", "alert certificate revoked",
            "alert certificate expired", "alert certificate unknown", "alert unknown ca", "alert access denied",
        ].contains { text.contains($0) }
    }

    /// The code of a failed connection: only the host itself can refuse; any other failure means that it is
    /// unreachable.
    ///
    /// - Parameter number: the errno of the last address, which hides the others: a host may have refused at its IPv4
    ///   address while its IPv6 address is unreachable.
    static func connectCode(
        _ number: Int, hasTriedBothFamilies: Bool, hasDefaultRoute: @autoclosure () -> Bool
    ) -> URLError.Code {
        switch Int32(truncatingIfNeeded: number) {
        case ENETUNREACH where hasTriedBothFamilies && hasDefaultRoute(): .cannotConnectToHost
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN: .notConnectedToInternet
        default: .cannotConnectToHost
        }
    }
}
#endif
