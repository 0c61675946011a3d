// SPDX-License-Identifier: MIT

/// What happens to calls, as values. No event holds a body, a header value or a query. A secret in a path is shown with
/// the path.
public enum NetworkEvent: Sendable {
    /// A call has begun. Emitted once per call.
    case requestStarted(CallSummary)
    /// A request is about to go to the wire.
    case attemptStarted(CallSummary)
    /// A server has answered a request; `byteCount` is the size of the buffered body in bytes, 0 for a streamed one.
    case responseReceived(CallSummary, status: Int, byteCount: Int)
    /// A redirect is followed; `status` is the 3xx that asked for it.
    case requestRedirected(CallSummary, status: Int)
    /// A call has ended, whatever the outcome. Emitted once per call; `latency` is in seconds.
    case requestCompleted(Result<ResponseSummary, ErrorSummary>, CallSummary, latency: TimeInterval)
    /// A failed attempt will be repeated. `attempt` is the number of the next attempt, ``CallSummary/retryDelay`` the
    /// wait before it in seconds.
    case requestRetrying(CallSummary, ErrorSummary, attempt: Int)
    /// A failure would be retried, but the number of attempts, the deadline, the budget or the server's `Retry-After`
    /// forbids it.
    case retryGivenUp(CallSummary, ErrorSummary)
    /// A transfer has moved on; `completed` and `total` are bytes, and `total` is nil if it is not known.
    case transferProgress(CallSummary, completed: Int64, total: Int64?)
    /// A token refresh has begun, on behalf of that call.
    case authRefreshStarted(CallSummary)
    /// A token refresh has given a new token.
    case authRefreshSucceeded(CallSummary)
    /// A token refresh has failed or timed out.
    case authRefreshFailed(CallSummary, ErrorSummary)
    /// The session cannot be refreshed any more: the user has to log in.
    case sessionExpired(CallSummary)
    /// A call is answered from the cache, by a fresh or a stale answer.
    case cacheHit(CallSummary)
    /// The cache has no answer that may be used for a call.
    case cacheMiss(CallSummary)
    /// A server has confirmed a stored answer, which is served again.
    case cacheRevalidated(CallSummary)
    /// An answer was stored in the cache.
    case cacheStored(CallSummary)
    /// The stored answers for a URL were removed or marked as invalid.
    case cacheInvalidated(url: URL)
    /// A circuit breaker refuses calls from now on; `endpoint` is its key, which is an origin by default.
    case circuitBreakerOpened(endpoint: String)
    /// A circuit breaker lets calls through on trial; `endpoint` is its key.
    case circuitBreakerHalfOpened(endpoint: String)
    /// A circuit breaker lets all calls through again; `endpoint` is its key.
    case circuitBreakerClosed(endpoint: String)
    /// A rate limit makes a call wait or fail, or the server answered 429; `retryAfter` is the wait in seconds, if it
    /// is known.
    case rateLimited(CallSummary, retryAfter: TimeInterval?)
    /// A call without a connection was stored in the offline queue under that id.
    case offlineQueueEnqueued(id: UUID)
    /// The offline queue begins to send its entries; `count` of them are pending.
    case offlineQueueDraining(count: Int)
    /// An entry of the offline queue has ended: the server accepted it if `success`, else it was dropped or went to the
    /// dead letters.
    case offlineQueueRequestCompleted(id: UUID, success: Bool)
    /// An entry of the offline queue was removed because its time ran out.
    case offlineQueueExpired(id: UUID)
    /// An entry of the offline queue has gone to the dead letters.
    case offlineQueueDeadLettered(id: UUID)
    /// A server has shown none of the pinned keys; `seen` are the pins of its chain, as `sha256/…`. Emitted in
    /// report-only mode too.
    case pinningFailed(host: String, seen: [String])
    /// The way to the network has changed.
    case connectivityChanged(ConnectivityStatus)
    /// A socket is in another state, named by `state`.
    case socketStateChanged(CallSummary, state: String)
    /// Something that a developer should know, and that no call fails because of.
    case warning(String)
}

/// The call that an event is about: its identity, its attempt and its trace, without headers, query or body.
public struct CallSummary: Sendable {
    /// What stays the same while the call is under way, in one object: there are many events, and passing on a
    /// reference is cheap.
    package final class Identity: Sendable, Equatable {
        let id: UUID
        /// The call whose start and end were emitted: `id`, or for work detached from a call the id of that call.
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

        func rebased(onto host: String, by method: HTTPMethod) -> Identity {
            Identity(id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host)
        }

        // The root is not compared: nobody outside can name it, and so could not make an equal value.
        package static func == (one: Identity, other: Identity) -> Bool {
            one === other
                || one.id == other.id && one.endpointPath == other.endpointPath && one.route == other.route
                    && one.method == other.method && one.host == other.host
        }
    }

    /// In a box like the identity: most calls are part of no trace, and need not carry the room for its texts.
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
    /// The number of the attempt in the retry loop, counted from 1.
    public let attempt: Int
    /// The seconds until the next attempt; 0 in every event but ``NetworkEvent/requestRetrying(_:_:attempt:)``.
    public let retryDelay: TimeInterval

    /// Creates a summary, for tests and for tools that make events of their own. `retryDelay` is in seconds.
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

    /// The identifier of the call, the same in all its events. Requests that plugins make in the background, or for
    /// several calls at once, have an identifier of their own.
    public var id: UUID { identity.id }
    /// The identifier of the call that caused the event: its start and end are emitted under it.
    package var rootID: UUID { identity.rootID }
    /// The path of the endpoint, without its query.
    public var endpointPath: String { identity.endpointPath }
    /// The name under which metrics count the call: a method and a template, a type's name, or the name that its
    /// options set.
    public var route: String { identity.route }
    /// The method of the request; a redirect may have changed it.
    public var method: HTTPMethod { identity.method }
    /// The host that the request goes to; a redirect may have changed it.
    public var host: String { identity.host }
    /// The identifier of the W3C trace that the call belongs to, if a tracing plugin set one.
    public var traceID: String? { span?.traceID }
    /// The identifier of the caller's span that the trace continues, if the plugin found one.
    public var parentSpanID: String? { span?.parentSpanID }
    /// The identifier of the span of this request, if a tracing plugin set one. Only
    /// ``NetworkEvent/attemptStarted(_:)`` and ``NetworkEvent/responseReceived(_:status:byteCount:)`` have it.
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
    /// The status of the answer.
    public let statusCode: Int
    /// The size of the buffered body in bytes, after decompression.
    public let byteCount: Int
    /// Where the answer came from.
    public let origin: PulseResponse.Origin
    private let measured: Measured?

    /// Creates a summary; `byteCount` is in bytes.
    public init(statusCode: Int, byteCount: Int, origin: PulseResponse.Origin, timings: TransferTimings? = nil) {
        self.statusCode = statusCode
        self.byteCount = byteCount
        self.origin = origin
        measured = timings.map(Measured.init)
    }

    /// When the phases of the exchange ended; nil if the transport measured nothing.
    public var timings: TransferTimings? { measured?.timings }

    /// In a box: every event has the size of the largest one, and is passed on from listener to listener.
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

/// How a call failed: the kind of error and a redacted text, without the request or the answer.
public struct ErrorSummary: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the error.
    public let kind: PulseError.Kind
    /// The status behind the failure, if a server gave one.
    public let statusCode: Int?
    /// What happened, in one line without queries, secrets or the words of a server.
    public let message: String

    /// Creates a summary. The message is shown as it is, so it must not hold a secret.
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
