// SPDX-License-Identifier: MIT

extension PulseError {
    /// The case without its values: what tests and `switch` statements compare.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case invalidURL, invalidRequest, encodingFailed, unsupported
        case noConnection, timeout, transport, sslPinningFailed, cancelled, deadlineExceeded
        case unauthorized, sessionExpired, rateLimited, http
        case decodingFailed, emptyBody, responseTooLarge
        case circuitOpen, retryExhausted, cacheMiss, queuedOffline, offlineQueueFull, graphQL, socketClosed, custom
    }

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

    /// Whether the default ``RetryPolicy`` counts this failure as one that may pass: statuses 408, 425, 429, 500, 502,
    /// 503, 504, a timeout, a failed name resolution or connect, a lost connection, no connection.
    ///
    /// Whether the *request* may be repeated depends on its method and on ``phase``; that is the policy's rule.
    public var isRetryable: Bool {
        RetryPolicy.default.counts(self)
    }

    /// How far the request had got, or nil where that has no meaning. A ``rateLimited(retryAfter:)`` counts as a server's, as
    /// the error does not tell that it is a limit's of this side.
    public var phase: Phase? {
        switch self {
        case .invalidURL, .invalidRequest, .encodingFailed, .unsupported, .noConnection, .sslPinningFailed,
            .circuitOpen, .cacheMiss, .queuedOffline, .offlineQueueFull:
            .beforeSend
        // It strikes within an attempt, whatever the one before had come to.
        case .timeout, .deadlineExceeded: .maybeSent
        case .transport(let code, let underlying):
            (underlying as? TransportFailure)?.phase ?? (code.isBeforeSend ? .beforeSend : .maybeSent)
        case .unauthorized, .rateLimited, .http, .decodingFailed, .emptyBody, .responseTooLarge, .graphQL:
            .responseStarted
        case .retryExhausted(let last, _): last.phase
        case .cancelled, .sessionExpired, .socketClosed, .custom: nil
        }
    }

    /// The status behind this failure, if a server gave one.
    public var statusCode: Int? {
        switch self {
        case .http(let response): response.statusCode
        case .unauthorized: 401
        case .rateLimited: 429
        case .retryExhausted(let last, _): last.statusCode
        case .deadlineExceeded(let last): last?.statusCode
        default: nil
        }
    }

    /// The answer behind this failure, if the error carries one.
    public var response: PulseResponse? {
        switch self {
        case .http(let response): response
        case .unauthorized(let response): response
        case .retryExhausted(let last, _): last.response
        case .deadlineExceeded(let last): last?.response
        default: nil
        }
    }

    /// Seconds until the server wants to be asked again, if it said so (`Retry-After`, RFC 9110, section 10.2.3).
    ///
    /// A date is counted against the answer's own `Date`; without one, against the system clock at the time of the call.
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
    /// The failure that a status stands for, or nil if the call accepts it: 401 is ``unauthorized(_:)``, 429 is
    /// ``rateLimited(retryAfter:)``, any other is ``http(_:)``.
    public init?(validating response: PulseResponse, accepted: AcceptedStatuses) {
        self.init(validating: response, accepted: accepted, now: SystemClock.wallNow)
    }

    package init?(validating response: PulseResponse, accepted: AcceptedStatuses, now: @autoclosure () -> Date) {
        guard !accepted.contains(response.statusCode) else { return nil }
        switch response.statusCode {
        case 401: self = .unauthorized(response)
        case 429: self = .rateLimited(retryAfter: RetryAfter.seconds(in: response.headers, now: now()))
        default: self = .http(response)
        }
    }

    /// Any error as a `PulseError`: one of its own unchanged, a `CancellationError` as ``cancelled``, a `URLError` or
    /// ``TransportFailure`` as its case, anything else as ``custom(_:)``.
    public init(wrapping error: any Error) {
        self.init(wrapping: error, request: nil)
    }

    /// `request` is what a ``timeout(_:)`` tells about; without one, the URL in the error serves.
    package init(wrapping error: any Error, request: URLRequest?) {
        switch error {
        case let error as PulseError:
            self = error
        case is CancellationError:
            self = .cancelled
        case let failure as TransportFailure:
            self.init(code: failure.code, phase: failure.phase, underlying: failure, request: request)
        case let error as URLError:
            let request = request ?? error.failingURL.map { URLRequest(url: $0) }
            self.init(
                code: error.code, phase: error.code.isBeforeSend ? .beforeSend : .maybeSent, underlying: error,
                request: request)
        default:
            self = .custom(error)
        }
    }

    private init(code: URLError.Code, phase: Phase, underlying: any Error, request: URLRequest?) {
        switch code {
        case .cancelled:
            self = .cancelled
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
            // The same cause after bytes had left is a lost connection: the server may have the request.
            self = phase == .beforeSend ? .noConnection : .transport(.networkConnectionLost, underlying: underlying)
        case .timedOut:
            // A connect timeout has sent nothing, and a retry may rely on it.
            if phase == .beforeSend {
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

extension URLError.Code {
    /// Of a bare `URLError`, whose author says nothing about the phase, these alone are known to precede the request.
    fileprivate var isBeforeSend: Bool {
        switch self {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost: true
        case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: true
        default: false
        }
    }
}
