// SPDX-License-Identifier: MIT

/// What happens to calls, as values. No event holds a body, a header value, a query or a secret.
public enum NetworkEvent: Sendable {
    case requestStarted(CallSummary)
    /// A request leaves for the wire.
    case attemptStarted(CallSummary)
    case responseReceived(CallSummary, status: Int, byteCount: Int)
    case requestRedirected(CallSummary, status: Int)
    /// Once a call, whatever its end; latency in seconds.
    case requestCompleted(Result<ResponseSummary, ErrorSummary>, CallSummary, latency: TimeInterval)
    /// `attempt` is the number of the coming attempt, ``CallSummary/retryDelay`` the wait before it.
    case requestRetrying(CallSummary, ErrorSummary, attempt: Int)
    /// The failure would be retried, and attempts, deadline, budget or the server's `Retry-After` forbid it.
    case retryGivenUp(CallSummary, ErrorSummary)
    case transferProgress(CallSummary, completed: Int64, total: Int64?)
    case authRefreshStarted(CallSummary)
    case authRefreshSucceeded(CallSummary)
    case authRefreshFailed(CallSummary, ErrorSummary)
    case sessionExpired(CallSummary)
    case cacheHit(CallSummary)
    case cacheMiss(CallSummary)
    case cacheRevalidated(CallSummary)
    case cacheStored(CallSummary)
    case cacheInvalidated(url: URL)
    /// The breaker's key: an origin by default.
    case circuitBreakerOpened(endpoint: String)
    case circuitBreakerHalfOpened(endpoint: String)
    case circuitBreakerClosed(endpoint: String)
    case rateLimited(CallSummary, retryAfter: TimeInterval?)
    case offlineQueueEnqueued(id: UUID)
    case offlineQueueDraining(count: Int)
    case offlineQueueRequestCompleted(id: UUID, success: Bool)
    case offlineQueueExpired(id: UUID)
    case offlineQueueDeadLettered(id: UUID)
    case pinningFailed(host: String, seen: [String])
    case connectivityChanged(ConnectivityStatus)
    case socketStateChanged(CallSummary, state: String)
    /// Something that a developer should know and no call fails by.
    case warning(String)
}

/// Which call an event is about.
public struct CallSummary: Sendable, Hashable {
    /// The same on all events of one call.
    public let id: UUID
    /// Without its query.
    public let endpointPath: String
    /// The name under which metrics count the call: a template, a type name, or what its options say.
    public let route: String
    public let method: HTTPMethod
    public let host: String
    /// Of the retry loop, counted from 1.
    public let attempt: Int
    /// Seconds until the coming attempt; 0 in every event but ``NetworkEvent/requestRetrying(_:_:attempt:)``.
    public let retryDelay: TimeInterval
    /// The W3C trace the call belongs to, if a tracing plugin set one.
    public let traceID: String?

    public init(
        id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, attempt: Int = 1,
        retryDelay: TimeInterval = 0, traceID: String? = nil
    ) {
        self.id = id
        self.endpointPath = endpointPath
        self.route = route
        self.method = method
        self.host = host
        self.attempt = attempt
        self.retryDelay = retryDelay
        self.traceID = traceID
    }
}

/// How a call succeeded.
public struct ResponseSummary: Sendable {
    public let statusCode: Int
    /// Of the body, decoded.
    public let byteCount: Int
    public let origin: PulseResponse.Origin
    public let timings: TransferTimings?

    public init(statusCode: Int, byteCount: Int, origin: PulseResponse.Origin, timings: TransferTimings? = nil) {
        self.statusCode = statusCode
        self.byteCount = byteCount
        self.origin = origin
        self.timings = timings
    }

    package init(_ response: PulseResponse) {
        self.init(
            statusCode: response.statusCode, byteCount: response.data.count, origin: response.origin,
            timings: response.timings)
    }
}

/// How a call failed: the kind and a redacted text, without the request or the answer.
public struct ErrorSummary: Error, Sendable, Hashable, CustomStringConvertible {
    public let kind: PulseError.Kind
    public let statusCode: Int?
    public let message: String

    public init(kind: PulseError.Kind, statusCode: Int? = nil, message: String) {
        self.kind = kind
        self.statusCode = statusCode
        self.message = message
    }

    package init(_ error: PulseError) {
        // The error's own text names the URL, whose query an event must not hold.
        self.init(kind: error.kind, statusCode: error.statusCode, message: error.summary)
    }

    public var description: String { message }
}
