// SPDX-License-Identifier: MIT

extension PulseError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    /// One line for a log: what happened, to which request, without secrets.
    public var description: String {
        switch self {
        case .invalidURL(let reason): "invalid URL: \(Redaction.standard.text(reason))"
        case .invalidRequest(let reason): "invalid request: \(Redaction.standard.text(reason))"
        case .encodingFailed(let error): "the body could not be encoded: \(Self.text(of: error))"
        case .unsupported(let what): "unsupported: \(Redaction.standard.text(what))"
        case .noConnection: "no connection"
        case .timeout(let request): "timed out: \(Self.text(of: request))"
        case .transport(let code, let error): "transport failed: " + code.symbol(because: Self.text(of: error))
        case .sslPinningFailed(let host): "no pinned key in the certificate chain of \(host)"
        case .proxyRefused(let refusal): Redaction.standard.text("\(refusal)")
        case .cancelled: "cancelled"
        case .deadlineExceeded(let last): "deadline exceeded" + (last.map { ", after: \($0)" } ?? "")
        case .unauthorized(let response): "unauthorized" + (response.map { ": \($0)" } ?? "")
        case .sessionExpired: "session expired"
        case .rateLimited(let seconds): "rate limited" + (seconds.map { ", retry after \($0) s" } ?? "")
        case .http(let response): "HTTP error: \(response)"
        case .decodingFailed(let type, let error): "the body is no \(type): \(Self.text(of: error))"
        case .emptyBody: "the body is empty"
        case .responseTooLarge(let limit): "the body is larger than \(limit) bytes"
        case .circuitOpen(let name, let seconds):
            "the circuit of \(Redaction.standard.text(name)) is open, retry after \(seconds) s"
        case .retryExhausted(let last, let attempts): "failed after \(attempts) attempts: \(last)"
        case .cacheMiss: "not in the cache"
        case .queuedOffline(let id): "queued until there is a connection, as \(id)"
        case .offlineQueueFull: "the offline queue is full"
        case .graphQL(let errors):
            "GraphQL: " + errors.map { Redaction.standard.text($0.message) }.joined(separator: "; ")
        case .socketClosed(let code, let reason): "socket closed, \(code): \(Redaction.standard.text(reason))"
        case .custom(let error): Self.text(of: error)
        }
    }

    public var debugDescription: String { description }

    public var errorDescription: String? { description }

    /// The kind and the redacted text: a reflected error would otherwise print its request and response in full.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind.rawValue, "description": description], displayStyle: .enum)
    }

    /// The text that events may hold: the description without URLs, and without the words of a server or of code from
    /// outside.
    package var summary: String {
        switch self {
        case .timeout: "timed out"
        case .http(let response): "HTTP status \(response.statusCode)"
        case .unauthorized: "unauthorized"
        case .deadlineExceeded(let last): "deadline exceeded" + (last.map { ", after: \($0.summary)" } ?? "")
        case .retryExhausted(let last, let attempts): "failed after \(attempts) attempts: \(last.summary)"
        case .invalidURL: "invalid URL"
        case .encodingFailed(let error): "the body could not be encoded: \(Self.summary(of: error))"
        case .decodingFailed(let type, let error): "the body is no \(type): \(Self.summary(of: error))"
        case .transport(let code, let error): "transport failed: " + code.symbol(because: Self.summary(of: error))
        case .graphQL(let errors): "GraphQL: \(errors.count) errors"
        case .socketClosed(let code, _): "socket closed, \(code)"
        case .custom(let error): Self.summary(of: error)
        default: Self.withoutQueries(description)
        }
    }

    private static func withoutQueries(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { $0.prefix { $0 != "?" } }
            .joined(separator: " ")
    }

    private static func summary(of error: any Error) -> String {
        switch error {
        case let error as PulseError: error.summary
        case is URLError, is DecodingError, is EncodingError: text(of: error)
        // An engine's words tell the reason, and may quote the URL.
        case let failure as TransportFailure: withoutQueries(failure.description)
        default: "\(type(of: error))"
        }
    }

    package static func text(of error: any Error) -> String {
        switch error {
        case let error as PulseError: return error.description
        case let error as TransportFailure: return error.description
        case let error as URLError: return error.code.symbol
        case let error as DecodingError: return text(of: error)
        case EncodingError.invalidValue(let value, let context):
            // The context's own text may quote the value.
            return "a \(type(of: value)) at \(path(context.codingPath)) is no valid value"
        default: return Redaction.standard.text("\(type(of: error)): \(error)")
        }
    }

    /// The place and kind of the failure, without the decoder's own text: it quotes values of the body.
    private static func text(of error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context): "\(path(context.codingPath)) is no \(type)"
        case .valueNotFound(let type, let context): "\(path(context.codingPath)) is null, expected \(type)"
        case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted(let context): "\(path(context.codingPath)) is corrupt"
        @unknown default: "decoding error"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "$") { $0 += $1.intValue.map { "[\($0)]" } ?? ".\(name(of: $1))" }
    }

    /// The name of a key that the program declares as a case of an enumeration. Any other key is text out of the body,
    /// such as a dictionary's key, and may be an address or a token as well as a value may.
    private static func name(of key: any CodingKey) -> String {
        let mirror = Mirror(reflecting: key)
        return mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "*"
    }

    private static func text(of request: URLRequest) -> String {
        (request.httpMethod ?? "GET") + " " + (request.url.map { Redaction.standard.url($0) } ?? "")
    }
}

extension URLError.Code {
    fileprivate func symbol(because cause: String) -> String {
        cause.hasPrefix(symbol) ? cause : "\(symbol) (\(cause))"
    }

    /// The code's name in Swift, for texts; `URLError.Code` itself prints a number.
    package var symbol: String {
        switch self {
        case .cancelled: "cancelled"
        case .badURL: "badURL"
        case .unsupportedURL: "unsupportedURL"
        case .timedOut: "timedOut"
        case .cannotFindHost: "cannotFindHost"
        case .cannotConnectToHost: "cannotConnectToHost"
        case .dnsLookupFailed: "dnsLookupFailed"
        case .networkConnectionLost: "networkConnectionLost"
        case .notConnectedToInternet: "notConnectedToInternet"
        case .httpTooManyRedirects: "httpTooManyRedirects"
        case .badServerResponse: "badServerResponse"
        case .cannotParseResponse: "cannotParseResponse"
        case .cannotDecodeContentData: "cannotDecodeContentData"
        case .cannotDecodeRawData: "cannotDecodeRawData"
        case .secureConnectionFailed: "secureConnectionFailed"
        case .serverCertificateUntrusted: "serverCertificateUntrusted"
        case .serverCertificateHasBadDate: "serverCertificateHasBadDate"
        case .serverCertificateHasUnknownRoot: "serverCertificateHasUnknownRoot"
        case .serverCertificateNotYetValid: "serverCertificateNotYetValid"
        case .clientCertificateRejected: "clientCertificateRejected"
        case .clientCertificateRequired: "clientCertificateRequired"
        case .resourceUnavailable: "resourceUnavailable"
        case .fileDoesNotExist: "fileDoesNotExist"
        case .cannotOpenFile: "cannotOpenFile"
        case .cannotWriteToFile: "cannotWriteToFile"
        case .requestBodyStreamExhausted: "requestBodyStreamExhausted"
        default: "URLError \(rawValue)"
        }
    }
}
