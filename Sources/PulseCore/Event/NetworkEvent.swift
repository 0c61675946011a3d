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
public struct CallSummary: Sendable {
    /// What stays the same while the call is on its way: events are many, and handing on one reference is cheap.
    package final class Identity: Sendable, Equatable {
        let id: UUID
        /// The call that began and ends: `id`, or for work that is detached from a call that call's.
        let rootID: UUID
        let endpointPath: String
        let route: String
        let method: HTTPMethod
        let host: String

        init(id: UUID, rootID: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String) {
            self.id = id
            self.rootID = rootID
            self.endpointPath = endpointPath
            self.route = route
            self.method = method
            self.host = host
        }

        func moved(to host: String, by method: HTTPMethod) -> Identity {
            Identity(id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host)
        }

        // Without the root: nobody outside can name it, and so could make an equal one.
        package static func == (one: Identity, other: Identity) -> Bool {
            one === other
                || one.id == other.id && one.endpointPath == other.endpointPath && one.route == other.route
                    && one.method == other.method && one.host == other.host
        }
    }

    /// In a box, as the identity: most calls are part of no trace, and need not carry the room for its texts.
    private final class Span: Sendable, Equatable {
        let traceID: String?
        let parentSpanID: String?
        let spanID: String?

        init(traceID: String?, parentSpanID: String?, spanID: String?) {
            self.traceID = traceID
            self.parentSpanID = parentSpanID
            self.spanID = spanID
        }

        static func == (one: Span, other: Span) -> Bool {
            one.traceID == other.traceID && one.parentSpanID == other.parentSpanID && one.spanID == other.spanID
        }
    }

    private let identity: Identity
    private let span: Span?
    /// Of the retry loop, counted from 1.
    public let attempt: Int
    /// Seconds until the coming attempt; 0 in every event but ``NetworkEvent/requestRetrying(_:_:attempt:)``.
    public let retryDelay: TimeInterval

    public init(
        id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, attempt: Int = 1,
        retryDelay: TimeInterval = 0, traceID: String? = nil, parentSpanID: String? = nil, spanID: String? = nil
    ) {
        identity = Identity(
            id: id, rootID: id, endpointPath: endpointPath, route: route, method: method, host: host)
        self.attempt = attempt
        self.retryDelay = retryDelay
        let isTraced = traceID != nil || parentSpanID != nil || spanID != nil
        span = isTraced ? Span(traceID: traceID, parentSpanID: parentSpanID, spanID: spanID) : nil
    }

    init(
        _ identity: Identity, attempt: Int = 1, retryDelay: TimeInterval = 0, of trace: Call.Trace?,
        spanID: String? = nil
    ) {
        self.identity = identity
        self.attempt = attempt
        self.retryDelay = retryDelay
        span = trace.map { Span(traceID: $0.id, parentSpanID: $0.parentSpanID, spanID: spanID) }
    }

    /// The same on all events of one call. Requests that plugins make for a call and others at once, or behind its back,
    /// have one of their own.
    public var id: UUID { identity.id }
    /// The call that an event is due to: its start and its end are told under this id.
    package var rootID: UUID { identity.rootID }
    /// Without its query.
    public var endpointPath: String { identity.endpointPath }
    /// The name under which metrics count the call: a template, a type name, or what its options say.
    public var route: String { identity.route }
    public var method: HTTPMethod { identity.method }
    public var host: String { identity.host }
    /// The W3C trace the call belongs to, if a tracing plugin set one.
    public var traceID: String? { span?.traceID }
    /// The caller's span that the trace continues, if the plugin found one.
    public var parentSpanID: String? { span?.parentSpanID }
    /// The span that a request takes along; in ``NetworkEvent/attemptStarted(_:)`` and
    /// ``NetworkEvent/responseReceived(_:status:byteCount:)`` alone, if a tracing plugin set one.
    public var spanID: String? { span?.spanID }
}

extension CallSummary: Hashable {
    public static func == (one: CallSummary, other: CallSummary) -> Bool {
        one.identity == other.identity && one.attempt == other.attempt && one.retryDelay == other.retryDelay
            && one.span == other.span
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(attempt)
    }
}

/// How a call succeeded.
public struct ResponseSummary: Sendable {
    public let statusCode: Int
    /// Of the body, decoded.
    public let byteCount: Int
    public let origin: PulseResponse.Origin
    private let measured: Measured?

    public init(statusCode: Int, byteCount: Int, origin: PulseResponse.Origin, timings: TransferTimings? = nil) {
        self.statusCode = statusCode
        self.byteCount = byteCount
        self.origin = origin
        measured = timings.map(Measured.init)
    }

    public var timings: TransferTimings? { measured?.timings }

    /// In a box: every event has room for the largest, and is handed on from listener to listener.
    private final class Measured: Sendable, CustomDebugStringConvertible {
        let timings: TransferTimings

        init(_ timings: TransferTimings) {
            self.timings = timings
        }

        var debugDescription: String { "\(timings)" }
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
