// SPDX-License-Identifier: MIT

extension PulseError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable, LocalizedError {
    /// One line for a log: the failure and its request, without secrets and control characters.
    public var description: String { text.onOneLine }

    private var text: String {
        switch self {
        case .invalidURL(let reason): "invalid URL: \(Redaction.standard.text(reason))"
        case .invalidRequest(let reason): "invalid request: \(Redaction.standard.text(reason))"
        case .encodingFailed(let error): "the body could not be encoded: \(Self.text(of: error))"
        case .unsupported(let what): "unsupported: \(Redaction.standard.text(what))"
        case .noConnection: "no connection: there is no path to the network, and nothing was sent"
        case .timeout(let request):
            "timed out: \(Self.withoutQueries(Self.text(of: request))), no byte was sent or received for the idle timeout"
        case .transport(let code, let error):
            "transport failed: " + code.symbol(because: Self.text(of: error)) + Self.target(of: error)
        case .sslPinningFailed(let host):
            "no pinned key in the certificate chain of \(host); the event pinningFailed names the keys that it has"
        case .proxyRefused(let refusal): Redaction.standard.text("\(refusal)")
        case .cancelled: "cancelled by the calling task, or by cancelAll or shutdown of the client"
        case .deadlineExceeded(let last):
            "deadline exceeded" + (last.map { ", after: \($0)" } ?? ": the call had no response by its deadline")
        case .unauthorized(let response):
            "unauthorized" + (response.map { ": \($0)" } ?? ": there is no valid token, and no response to show")
        case .sessionExpired: "session expired: it cannot be refreshed, the user has to log in"
        case .rateLimited(let seconds):
            "rate limited, " + (seconds.map { "retry after \($0) s" } ?? "without a time to retry after")
        case .http(let response): "HTTP error: \(response)"
        case .decodingFailed(let type, let error): "the body does not decode as \(type): \(Self.text(of: error))"
        case .emptyBody: "the body is empty; for a call that may have none ask for an optional, or for EmptyResponse"
        case .responseTooLarge(let limit):
            "the body, or one line or event of a stream, is larger than its limit, \(limit) bytes"
        case .circuitOpen(let name, let seconds):
            "the circuit of \(Redaction.standard.text(name)) is open, "
                + (seconds < .infinity ? "retry after \(seconds) s" : "until it is reset manually")
        case .retryExhausted(let last, let attempts): "failed after \(attempts) attempts: \(last)"
        case .cacheMiss: "not in the cache, and the call asks for nothing else (onlyIfCached)"
        case .queuedOffline(let id): "not sent yet: in the offline queue as \(id), to be sent later"
        case .offlineQueueFull: "the offline queue is full, and the call is not in it (maxQueueSize, whenFull)"
        case .graphQL(let errors):
            "GraphQL: " + errors.map(\.description).joined(separator: "; ")
        case .socketClosed(let code, let reason): "socket closed, \(code): \(Redaction.standard.text(reason))"
        case .custom(let error): Self.text(of: error)
        }
    }

    public var debugDescription: String { description }

    public var errorDescription: String? { description }

    /// The kind and the redacted text. The default mirror would print the request and response in full.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind.rawValue, "description": description], displayStyle: .enum)
    }

    /// The text for events: the description without URLs, and without text from a server or third-party code.
    package var summary: String {
        switch self {
        case .timeout: "timed out: no byte was sent or received for the idle timeout"
        case .http(let response): "HTTP status \(response.statusCode)"
        case .unauthorized: "unauthorized"
        case .deadlineExceeded(let last?): "deadline exceeded, after: \(last.summary)"
        case .retryExhausted(let last, let attempts): "failed after \(attempts) attempts: \(last.summary)"
        case .invalidURL: "invalid URL"
        case .encodingFailed(let error): "the body could not be encoded: \(Self.summary(of: error))"
        case .decodingFailed(let type, let error): "the body does not decode as \(type): \(Self.summary(of: error))"
        case .transport(let code, let error): "transport failed: " + code.symbol(because: Self.summary(of: error))
        case .graphQL(let errors): "GraphQL: \(errors.count) errors"
        case .socketClosed(let code, _): "socket closed, \(code)"
        case .custom(let error): Self.summary(of: error)
        default: Self.withoutQueries(description)
        }
    }

    /// Drops queries, also from the URL of an error that does not know which names its client masks.
    private static func withoutQueries(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { $0.prefix { $0 != "?" } }
            .joined(separator: " ")
    }

    private static func summary(of error: any Error) -> String {
        switch error {
        case let error as PulseError: error.summary
        case let error as URLError: error.code.symbol
        case let error as DecodingError: text(of: error, withRequest: false)
        case let error as EncodingError: text(of: error, withRequest: false)
        // The engine's text gives the reason, and may quote the URL.
        case let failure as TransportFailure: withoutQueries(failure.description)
        case let failure as TransferFailure: failure.reason.text
        default: FileFault(error)?.cause ?? "\(type(of: error))"
        }
    }

    package static func text(of error: any Error) -> String {
        switch error {
        case let error as PulseError: return error.description
        case let error as TransportFailure: return error.description
        case let error as URLError: return error.code.symbol
        case let error as DecodingError: return text(of: error, withRequest: true)
        case let error as EncodingError: return text(of: error, withRequest: true)
        case let failure as TransferFailure: return failure.description
        default:
            if let fault = FileFault(error) { return fault.description }
            // A type's name before a colon, such as `TokenError`, would look like a key with a secret.
            return "\(type(of: error)): " + Redaction.standard.text("\(error)")
        }
    }

    /// The type and the location of the value, and the request, if it is known. The context's own text may quote the
    /// value.
    private static func text(of error: EncodingError, withRequest: Bool) -> String {
        guard case .invalidValue(let value, let context) = error else { return "encoding error" }
        let request = withRequest ? (context.underlyingError as? RequestNote).map { ", \($0.request)" } : nil
        return "a \(type(of: value)) at \(path(context.codingPath)) is not a valid value" + (request ?? "")
    }

    /// The location and kind of the failure, then the response, if it is known. The decoder's own text is omitted: it
    /// quotes values of the body.
    private static func text(of error: DecodingError, withRequest: Bool) -> String {
        location(of: error) + (error.note.map { " (\($0.text(withRequest: withRequest)))" } ?? "")
    }

    private static func location(of error: DecodingError) -> String {
        switch error {
        case .typeMismatch(let type, let context):
            "\(path(context.codingPath)) is " + (error.found.map { "\($0), expected \(type)" } ?? "not \(type)")
        case .valueNotFound(let type, let context): "\(path(context.codingPath)) is null, expected \(type)"
        case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted(let context):
            if context.codingPath.isEmpty, let note = error.note, note.expectsJSON {
                note.nature
            } else {
                "\(path(context.codingPath)) is not a valid value"
            }
        @unknown default: "decoding error"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "$") { $0 += $1.intValue.map { "[\($0)]" } ?? ".\(name(of: $1))" }
    }

    /// The name of a key that the program declares as an enumeration case. Any other key comes from the body, such as a
    /// dictionary's key, and may be an address or a token.
    private static func name(of key: any CodingKey) -> String {
        let mirror = Mirror(reflecting: key)
        return mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "*"
    }

    /// The same error with the request and the file for its text, where it names none.
    package func naming(request: @autoclosure () -> String?, file: URL? = nil) -> PulseError {
        switch self {
        case .transport(let code, var failure as TransportFailure):
            failure.request = failure.request ?? request()
            // The cause may name the file as well.
            if let path = file.map({ Redaction.standard.text($0.path) }),
                !"\(failure) \(failure.request ?? "")".contains(path)
            {
                failure.request = [failure.request, path].compactMap { $0 }.joined(separator: ", ")
            }
            return .transport(code, underlying: failure)
        case .transport(let code, var failure as TransferFailure):
            failure.request = failure.request ?? request()
            failure.file = failure.file ?? file
            return .transport(code, underlying: failure)
        case .encodingFailed(var failure as TransferFailure):
            failure.request = failure.request ?? request()
            failure.file = failure.file ?? file
            return .encodingFailed(underlying: failure)
        case .encodingFailed(let error as EncodingError):
            guard case .invalidValue(let value, let context) = error, !(context.underlyingError is RequestNote),
                let request = request()
            else { return self }
            let noted = EncodingError.Context(
                codingPath: context.codingPath, debugDescription: context.debugDescription,
                underlyingError: RequestNote(request: request, underlying: context.underlyingError))
            return .encodingFailed(underlying: EncodingError.invalidValue(value, noted))
        default:
            return self
        }
    }

    /// Names the request of a value that could not be encoded. In the context of the `EncodingError`, so that the error
    /// keeps its type.
    private struct RequestNote: Error {
        let request: String
        /// The previous underlying error of the context.
        let underlying: (any Error)?
    }

    package static func text(of request: URLRequest, maskedBy redaction: Redaction = .standard) -> String {
        (request.httpMethod ?? "GET") + " " + (request.url.map { redaction.url($0) } ?? "(no URL)")
    }

    /// The request of a transport failure, if it is known.
    private static func target(of error: any Error) -> String {
        switch error {
        case let failure as TransportFailure: failure.request.map { ", \($0)" } ?? ""
        case let error as URLError: error.failingURL.map { ", \(withoutQueries(Redaction.standard.url($0)))" } ?? ""
        default: ""
        }
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
