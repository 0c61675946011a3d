// SPDX-License-Identifier: MIT

extension PulseError {
    /// The cases of ``PulseError`` without their values, for comparisons in tests and `switch` statements.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Before anything is sent: the cases of the same names in ``PulseError``.
        case invalidURL, invalidRequest, encodingFailed, unsupported
        /// In transit.
        case noConnection, timeout, transport, sslPinningFailed, proxyRefused, cancelled, deadlineExceeded
        /// The server's status.
        case unauthorized, sessionExpired, rateLimited, http
        /// The body.
        case decodingFailed, emptyBody, responseTooLarge
        /// Plugins, queue, GraphQL and sockets.
        case circuitOpen, retryExhausted, cacheMiss, queuedOffline, offlineQueueFull, graphQL, socketClosed, custom
    }

    /// The case of the error without its values.
    public var kind: Kind {
        switch self {
        case .invalidURL: .invalidURL
        case .invalidRequest: .invalidRequest
        case .encodingFailed: .encodingFailed
        case .unsupported: .unsupported
        case .noConnection: .noConnection
        case .timeout: .timeout
        case .transport: .transport
        case .sslPinningFailed: .sslPinningFailed
        case .proxyRefused: .proxyRefused
        case .cancelled: .cancelled
        case .deadlineExceeded: .deadlineExceeded
        case .unauthorized: .unauthorized
        case .sessionExpired: .sessionExpired
        case .rateLimited: .rateLimited
        case .http: .http
        case .decodingFailed: .decodingFailed
        case .emptyBody: .emptyBody
        case .responseTooLarge: .responseTooLarge
        case .circuitOpen: .circuitOpen
        case .retryExhausted: .retryExhausted
        case .cacheMiss: .cacheMiss
        case .queuedOffline: .queuedOffline
        case .offlineQueueFull: .offlineQueueFull
        case .graphQL: .graphQL
        case .socketClosed: .socketClosed
        case .custom: .custom
        }
    }

    /// Whether the default ``RetryPolicy`` counts this failure as transient: statuses 408, 425, 429, 500, 502, 503,
    /// 504, a timeout, a failed name resolution, connect or TLS handshake, a lost connection, no connection. A
    /// ``PulseError/PoolTimeout`` is none of them.
    ///
    /// Whether the *request* may be repeated depends on its method and on ``phase``; that is the policy's rule.
    public var isRetryable: Bool {
        RetryPolicy.default.counts(self)
    }

    /// How far the request got, or nil where that has no meaning.
    ///
    /// A ``rateLimited(retryAfter:)`` counts as a server's response: the error does not distinguish a client-side
    /// limit.
    public var phase: Phase? {
        switch self {
        case .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .noConnection, .sslPinningFailed,
            .proxyRefused, .circuitOpen, .cacheMiss, .queuedOffline, .offlineQueueFull:
            .beforeSend
        // A deadline may expire during an attempt, whatever the failure of the previous one.
        case .timeout, .deadlineExceeded: .maybeSent
        case .transport(let code, let underlying):
            (underlying as? TransportFailure)?.phase ?? (code.isBeforeSend ? .beforeSend : .maybeSent)
        case .unauthorized, .rateLimited, .http, .decodingFailed, .emptyBody, .responseTooLarge, .graphQL:
            .responseStarted
        case .retryExhausted(let last, _): last.phase
        case .cancelled, .sessionExpired, .socketClosed, .custom: nil
        }
    }

    /// Whether the request failed on a reused connection: the connection ended before the first byte of the response,
    /// or an HTTP/2 server refused to process the request on it. In the second case, ``phase`` is ``Phase/beforeSend``.
    ///
    /// It says little about the server's health. The retry loop resends such a request once, immediately, if it may be
    /// repeated. The resend does not count as an attempt, and is not made if the policy allows only one.
    public var isStaleConnection: Bool {
        switch self {
        case .transport(_, let underlying): (underlying as? TransportFailure)?.isStaleConnection ?? false
        case .retryExhausted(let last, _): last.isStaleConnection
        default: false
        }
    }

    /// The status of this failure, from the server or from a proxy that refused.
    public var statusCode: Int? {
        switch self {
        case .http(let response): response.statusCode
        case .unauthorized: 401
        case .rateLimited: 429
        case .proxyRefused(let refusal): refusal.statusCode
        case .transport(_, let failure as TransportFailure): failure.response?.statusCode
        case .retryExhausted(let last, _): last.statusCode
        case .deadlineExceeded(let last): last?.statusCode
        case .custom(let summary as Summary): summary.statusCode
        default: nil
        }
    }

    /// The response of this failure, if the error carries one.
    public var response: PulseResponse? {
        switch self {
        case .http(let response): response
        case .unauthorized(let response): response
        case .transport(_, let failure as TransportFailure): failure.response
        case .retryExhausted(let last, _): last.response
        case .deadlineExceeded(let last): last?.response
        default: nil
        }
    }

    /// The seconds until the server accepts another request, if it says so (`Retry-After`, RFC 9110, section 10.2.3).
    ///
    /// A date is relative to the response's own `Date`; without one, to the system clock at the time of the call.
    public var retryAfter: TimeInterval? {
        retryAfter(now: SystemClock.wallNow)
    }

    package func retryAfter(now: Date) -> TimeInterval? {
        switch self {
        case .rateLimited(let seconds): seconds
        case .circuitOpen(_, let seconds): seconds
        case .retryExhausted(let last, _): last.retryAfter(now: now)
        case .deadlineExceeded(let last): last?.retryAfter(now: now)
        default: response.flatMap { RetryAfter.seconds(in: $0.headers, now: now) }
        }
    }
}

extension PulseError {
    /// Creates the failure for a status, or nil if the call accepts it: 401 is ``unauthorized(_:)``, 429 is
    /// ``rateLimited(retryAfter:)``, any other is ``http(_:)``.
    public init?(validating response: PulseResponse, accepted: RequestOptions.AcceptedStatuses) {
        self.init(validating: response, accepted: accepted, now: SystemClock.wallNow)
    }

    package init?(
        validating response: PulseResponse, accepted: RequestOptions.AcceptedStatuses, now: @autoclosure () -> Date
    ) {
        guard !accepted.contains(response.statusCode) else { return nil }
        switch response.statusCode {
        case 401: self = .unauthorized(response)
        case 429: self = .rateLimited(retryAfter: RetryAfter.seconds(in: response.headers, now: now()))
        default: self = .http(response)
        }
    }

    /// Creates a `PulseError` from any error: a `PulseError` is unchanged, a `CancellationError` is ``cancelled``, a
    /// `URLError` or ``TransportFailure`` becomes its case, and anything else is ``custom(_:)``.
    public init(wrapping error: any Error) {
        self.init(wrapping: error, request: nil)
    }

    /// Creates a `PulseError` from any error. A ``timeout(_:)`` holds `request`; without one, it uses the URL in the
    /// error.
    ///
    /// - Parameter redaction: masks the request in the text of the error.
    package init(wrapping error: any Error, request: URLRequest?, maskedBy redaction: Redaction = .standard) {
        switch error {
        case let error as PulseError:
            self = error
        case is CancellationError:
            self = .cancelled
        case let failure as TransportFailure where (failure.underlying as? PulseError)?.kind == .responseTooLarge:
            self.init(wrapping: failure.underlying ?? failure, request: request)
        case var failure as TransportFailure:
            failure.request = failure.request ?? request.map { Self.text(of: $0, maskedBy: redaction) }
            self.init(code: failure.code, phase: failure.phase, underlying: failure, request: request)
        case let error as URLError:
            self.init(
                code: error.code, phase: error.code.isBeforeSend ? .beforeSend : .maybeSent,
                underlying: error.naming(request?.url),
                request: request ?? error.failingURL.map { URLRequest(url: $0) })
        default:
            self = .custom(error)
        }
    }

    private init(code: URLError.Code, phase: Phase, underlying: any Error, request: URLRequest?) {
        switch code {
        case .cancelled:
            self = .cancelled
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
            // The same cause after bytes were sent is a lost connection: the server may have the request.
            self = phase == .beforeSend ? .noConnection : .transport(.networkConnectionLost, underlying: underlying)
        case .timedOut:
            if (underlying as? TransportFailure)?.underlying is PoolTimeout {
                self = .transport(.timedOut, underlying: underlying)
            } else if phase == .beforeSend {
                // A connect timeout means that nothing was sent, and a retry may rely on it.
                self = .transport(.cannotConnectToHost, underlying: underlying)
            } else if let request {
                self = .timeout(request)
            } else {
                self = .transport(.timedOut, underlying: underlying)
            }
        default:
            self = .transport(code, underlying: underlying)
        }
    }
}

extension URLError {
    /// Adds the URL to an error that has none.
    fileprivate func naming(_ url: URL?) -> URLError {
        guard let url, failingURL == nil else { return self }
        return URLError(code, userInfo: userInfo.merging([NSURLErrorFailingURLErrorKey: url]) { own, _ in own })
    }
}

extension URLError.Code {
    /// Whether the failure certainly precedes the request. A bare `URLError` has no phase, so only these codes qualify.
    fileprivate var isBeforeSend: Bool {
        switch self {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost: true
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: true
        default: false
        }
    }
}
