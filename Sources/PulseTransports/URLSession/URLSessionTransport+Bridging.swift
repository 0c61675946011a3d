// SPDX-License-Identifier: MIT

import PulseCore

#if os(Linux)
import CPulsePlatform
#endif

// The differences between Foundation's two implementations, and nothing else.
#if canImport(FoundationNetworking)

extension URLSessionTransport {
    /// Measured on Swift 6.3.1: a POST on a stale connection is resent, without its body.
    static let resendsOnStaleConnections = true

    /// Measured on Swift 6.3.1: a 401 that asks for Basic credentials waits for them, or is cancelled, but is never
    /// delivered.
    static let withholdsChallenges = true

    /// Measured on Swift 6.3.1: suspending a task applies no backpressure, and in the middle of a body it crashes the
    /// process.
    static let appliesBackpressure = false
    static func suspend(_ task: URLSessionTask) {}
    static func resume(_ task: URLSessionTask) {}

    /// Foundation drops fractions: 0.9 would become 0, which expires at once. A value beyond the range of milliseconds
    /// would crash the process.
    static func timeoutInterval(_ seconds: TimeInterval) -> TimeInterval {
        min(max(1, seconds.rounded(.up)), 1_000_000_000)
    }

    static let makeChannel: UpgradeConnector.ChannelMaker? = nil
    static func assumeNoHTTP3(_ request: inout URLRequest) {}
}

extension SessionProxy {
    static let hasConfigurations = false
}

extension SessionSecurity {
    static let system: SessionSecurity? = nil
}

extension URLSessionConfiguration {
    /// Does nothing: Foundation on Linux has none of these settings, and the transport refuses them.
    func apply(_ tls: TLSSettings, _ proxy: SessionProxy) throws {}

    /// Does nothing: Foundation on Linux never waits.
    func disableWaiting() {}
}

extension SessionChallenge.Kind {
    // Foundation on Linux has no such challenges, and marks Apple's constants as unavailable.
    static let serverTrustMethod = "NSURLAuthenticationMethodServerTrust"
    static let clientCertificateMethod = "NSURLAuthenticationMethodClientCertificate"
}

extension HTTPURLResponse {
    /// Whether the end of the body is determinate (RFC 9112, section 6.3). It is not if Content-Length is not a number,
    /// or if several differ. libcurl uses the last one and its leading digits.
    var hasValidLength: Bool {
        guard value(forHTTPHeaderField: "Transfer-Encoding") == nil,
            let value = value(forHTTPHeaderField: "Content-Length")
        else { return true }
        let lengths = Set(value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        return lengths.count == 1 && lengths.allSatisfy { Int64($0).map { $0 >= 0 } ?? false }
    }
}

extension URLError {
    /// The code of this error, and whether nothing can have been sent.
    ///
    /// Foundation has codes for few of libcurl's errors, and some are wrong. A response that is not HTTP is
    /// `unsupportedURL`; any failure after one of the host's addresses refused is `cannotConnectToHost`. The error's
    /// text from libcurl distinguishes them. An unknown error counts as a bad response: the request may have been
    /// processed.
    var meaning: (code: Code, isBeforeSend: Bool) {
        switch code {
        case .badURL, .fileDoesNotExist, .noPermissionsToReadFile: return (code, true)
        default: break
        }
        // A timeout of Foundation itself, possibly while connecting: the error does not say.
        guard let cause = errorUserInfo[NSUnderlyingErrorKey] as? NSError else { return (code, false) }
        let text = cause.localizedDescription
        func says(_ parts: String...) -> Bool { parts.contains { text.contains($0) } }

        if says("File system error") { return (.cannotOpenFile, true) }
        // These texts take precedence: they imply that there was a connection, whatever else the text says.
        if says("transfer closed", "Empty reply", "Recv failure", "Send failure", "SSL_read:", "SSL_write:") {
            return (.networkConnectionLost, false)
        }
        if says("Could not resolve", "Couldn't resolve", "Failed to connect", "Couldn't connect"),
            pulse_lacks_descriptors()
        {
            return (.resourceUnavailable, true)
        }
        if says("Could not resolve", "Couldn't resolve") { return (.cannotFindHost, true) }
        if says("Failed to connect", "Couldn't connect", "Connection timed out") {
            // The text does not give the cause. Foundation recognizes a refusal and a timeout; the rest is almost
            // always an unreachable network or host.
            return (code == .unknown ? .notConnectedToInternet : .cannotConnectToHost, true)
        }
        if says("certificate") { return (.serverCertificateUntrusted, true) }
        if says("SSL", "TLS") { return (.secureConnectionFailed, true) }
        if says("content unencoding", "content encoding") { return (.cannotDecodeContentData, false) }
        return (code == .networkConnectionLost ? code : .badServerResponse, false)
    }
}

#else

extension URLSessionTransport {
    static let resendsOnStaleConnections = false
    static let withholdsChallenges = false
    static let appliesBackpressure = true
    static func suspend(_ task: URLSessionTask) { task.suspend() }
    static func resume(_ task: URLSessionTask) { task.resume() }

    /// Thirty years stand for no limit, for which the system documents no value.
    static func timeoutInterval(_ seconds: TimeInterval) -> TimeInterval { min(seconds, 1_000_000_000) }

    static let makeChannel: UpgradeConnector.ChannelMaker? = { try NetworkChannel($0) }
    static func assumeNoHTTP3(_ request: inout URLRequest) { request.assumesHTTP3Capable = false }
}

extension URLSessionConfiguration {
    func disableWaiting() { waitsForConnectivity = false }
}

extension SessionChallenge.Kind {
    static let serverTrustMethod = NSURLAuthenticationMethodServerTrust
    static let clientCertificateMethod = NSURLAuthenticationMethodClientCertificate
}

extension HTTPURLResponse {
    /// True: Foundation has already validated it.
    var hasValidLength: Bool { true }
}

extension URLError {
    /// The code of this error, and whether nothing can have been sent. A timeout may have expired while connecting; the
    /// error does not say.
    var meaning: (code: Code, isBeforeSend: Bool) {
        switch code {
        case .cannotConnectToHost where Self.isUnreachable(errorUserInfo): (.notConnectedToInternet, true)
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed,
            .internationalRoamingOff, .callIsActive, .secureConnectionFailed, .serverCertificateUntrusted,
            .serverCertificateHasBadDate, .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot,
            .clientCertificateRejected, .clientCertificateRequired, .badURL, .unsupportedURL,
            .appTransportSecurityRequiresSecureConnection, .fileDoesNotExist, .fileIsDirectory, .cannotOpenFile,
            .noPermissionsToReadFile:
            (code, true)
        default: (code, false)
        }
    }
}

#endif

extension HTTPHeaders {
    #if canImport(FoundationNetworking)
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity"]
    #else
    static let decodedCodings: Set<String> = ["gzip", "x-gzip", "deflate", "br", "identity"]
    #endif
}
