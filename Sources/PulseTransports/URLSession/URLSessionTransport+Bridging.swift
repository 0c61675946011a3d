// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(CPulsePlatform)
import CPulsePlatform
#endif

// Where Foundation's two implementations differ, and nothing else.
#if canImport(FoundationNetworking)

extension URLSessionTransport {
    /// Measured on Swift 6.3.1: a POST on a kept-alive connection that died is sent again, without its body.
    static let repeatsOnDeadConnections = true

    /// Measured on Swift 6.3.1: a 401 that asks for Basic credentials waits for them, or is cancelled, but never comes.
    static let withholdsChallenges = true

    /// Measured on Swift 6.3.1: suspending a task holds no server back, and in the middle of a body it ends the
    /// process.
    static let holdsServersBack = false
    static func suspend(_ task: URLSessionTask) {}
    static func resume(_ task: URLSessionTask) {}

    /// Foundation cuts fractions off: 0.9 would be 0, which strikes at once. A value that is no number of milliseconds
    /// would end the process.
    static func timeoutInterval(_ seconds: TimeInterval) -> TimeInterval {
        min(max(1, seconds.rounded(.up)), 1_000_000_000)
    }
}

extension HTTPURLResponse {
    /// Whether the end of the body can be told (RFC 9112, section 6.3): not with a Content-Length that is not a number,
    /// or several that differ. libcurl goes by the last of them and by the digits in front.
    var hasValidLength: Bool {
        guard value(forHTTPHeaderField: "Transfer-Encoding") == nil,
            let value = value(forHTTPHeaderField: "Content-Length")
        else { return true }
        let lengths = Set(value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        return lengths.count == 1 && lengths.allSatisfy { Int64($0).map { $0 >= 0 } ?? false }
    }
}

extension URLError {
    /// The code that this error stands for, and whether nothing can have been sent.
    ///
    /// Foundation has codes for few of libcurl's errors, and some are wrong: an answer that is not HTTP is
    /// `unsupportedURL`, and any failure after one of the host's addresses refused is `cannotConnectToHost`. libcurl's
    /// text, which it keeps, tells them apart. An unknown error counts as a bad answer: the request may have been
    /// processed.
    var meaning: (code: Code, isBeforeSend: Bool) {
        switch code {
        case .badURL, .fileDoesNotExist, .noPermissionsToReadFile: return (code, true)
        default: break
        }
        // A timeout of Foundation's own, which may have struck while connecting: that cannot be told.
        guard let cause = errorUserInfo[NSUnderlyingErrorKey] as? NSError else { return (code, false) }
        let text = cause.localizedDescription
        func says(_ parts: String...) -> Bool { parts.contains { text.contains($0) } }

        if says("File system error") { return (.cannotOpenFile, true) }
        // These texts come first: they mean that there was a connection, whatever else the text says.
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
            // The text does not say why. Foundation knows a refusal and a timeout; the rest is almost always a network
            // or host that cannot be reached.
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
    static let repeatsOnDeadConnections = false
    static let withholdsChallenges = false
    static let holdsServersBack = true
    static func suspend(_ task: URLSessionTask) { task.suspend() }
    static func resume(_ task: URLSessionTask) { task.resume() }

    static func timeoutInterval(_ seconds: TimeInterval) -> TimeInterval { seconds }
}

extension HTTPURLResponse {
    /// True: Foundation has judged it before.
    var hasValidLength: Bool { true }
}

extension URLError {
    /// The code that this error stands for, and whether nothing can have been sent. A timeout may have struck while
    /// connecting, which cannot be told.
    var meaning: (code: Code, isBeforeSend: Bool) {
        switch code {
        case .cannotConnectToHost where Self.tellsOfNoRoute(errorUserInfo): (.notConnectedToInternet, true)
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
