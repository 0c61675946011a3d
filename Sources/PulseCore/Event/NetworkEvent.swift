// SPDX-License-Identifier: MIT

/// Events of calls, as values. No event holds a body, a header value or a query, except in the error of a
/// ``SocketState``, whose description has none of them. In a path, what ``Redaction`` recognizes is masked; another
/// secret is shown with the path. The only text from a
/// server is ``SocketDisconnection/reason``, masked.
public enum NetworkEvent: Sendable {
    /// A call has begun. Emitted once per call.
    case requestStarted(CallSummary)
    /// A request is about to be sent.
    case attemptStarted(CallSummary)
    /// A server has responded to a request; `byteCount` is the size of the buffered body in bytes, 0 for a streamed
    /// one.
    case responseReceived(CallSummary, status: Int, byteCount: Int)
    /// A redirect is followed; `status` is its 3xx status.
    case requestRedirected(CallSummary, status: Int)
    /// A call has ended, with success or failure. Emitted once per call; `latency` is in seconds.
    case requestCompleted(Result<ResponseSummary, PulseError.Summary>, CallSummary, latency: TimeInterval)
    /// A failed attempt will be retried. `attempt` is the number of the next attempt, ``CallSummary/retryDelay`` the
    /// wait before it in seconds.
    case requestRetrying(CallSummary, PulseError.Summary, attempt: Int)
    /// A failure would be retried, but the number of attempts, the deadline, the budget or the server's `Retry-After`
    /// does not allow it.
    case retryGivenUp(CallSummary, PulseError.Summary)
    /// A transfer has progressed; `completed` and `total` are bytes, and `total` is nil if it is not known. At most ten
    /// a second for each attempt, and always the last value, before ``responseReceived(_:status:byteCount:)``.
    ///
    /// Emitted for request bodies from a file or a stream, or of more than 64 KiB, and for responses that go to a file;
    /// for other bodies only if the call sets ``RequestOptions/progress``.
    case transferProgress(CallSummary, completed: Int64, total: Int64?)
    /// A token refresh has started on behalf of that call.
    case authRefreshStarted(CallSummary)
    /// A token refresh has returned a new token.
    case authRefreshSucceeded(CallSummary)
    /// A token refresh has failed or timed out.
    case authRefreshFailed(CallSummary, PulseError.Summary)
    /// The session cannot be refreshed any more: the user must log in.
    case sessionExpired(CallSummary)
    /// A call is served from the cache, with a fresh or a stale response.
    case cacheHit(CallSummary)
    /// The cache has no response that a call may use.
    case cacheMiss(CallSummary)
    /// A server has validated a stored response, which is served again.
    case cacheRevalidated(CallSummary)
    /// A response was stored in the cache.
    case cacheStored(CallSummary)
    /// The stored responses for a URL were removed or invalidated.
    case cacheInvalidated(url: URL)
    /// A circuit breaker now refuses calls; `endpoint` is its key, which is an origin by default.
    case circuitBreakerOpened(endpoint: String)
    /// A circuit breaker allows probe calls; `endpoint` is its key.
    case circuitBreakerHalfOpened(endpoint: String)
    /// A circuit breaker allows all calls again; `endpoint` is its key.
    case circuitBreakerClosed(endpoint: String)
    /// A rate limit makes a call wait or fail, or the server responded with 429; `retryAfter` is the wait in seconds,
    /// if it is known.
    case rateLimited(CallSummary, retryAfter: TimeInterval?)
    /// A call without a connection was stored in the offline queue under that id.
    case offlineQueueEnqueued(id: UUID)
    /// The offline queue starts to send its entries; `count` of them are pending.
    case offlineQueueDraining(count: Int)
    /// An entry of the offline queue is finished: the server accepted it if `success`, else it was dropped or became a
    /// dead letter.
    case offlineQueueRequestCompleted(id: UUID, success: Bool)
    /// An entry of the offline queue was removed because it expired.
    case offlineQueueExpired(id: UUID)
    /// An entry of the offline queue has become a dead letter.
    case offlineQueueDeadLettered(id: UUID)
    /// A server has presented none of the pinned keys; `seen` are the pins of its chain, as `sha256/…`. Also emitted in
    /// report-only mode.
    case pinningFailed(host: String, seen: [String])
    /// The network path has changed.
    case connectivityChanged(ConnectivityStatus)
    /// A socket has changed its state to this one.
    case socketStateChanged(CallSummary, SocketState)
    // Indirect, since every event has the size of the largest one.
    /// A connection of a socket has ended. Emitted once for each connection whose handshake has succeeded, before the
    /// state that follows.
    indirect case socketDisconnected(CallSummary, SocketDisconnection)
    /// A problem that a developer should know about, but that fails no call.
    case warning(String)
}

/// The call of an event: its identity, its attempt and its trace, without headers, query or body.
public struct CallSummary: Sendable {
    /// The constant part of a call in progress, in one object: there are many events, and passing on a reference is
    /// cheap.
    package final class Identity: Sendable, Equatable {
        let id: UUID
        /// The call whose start and end were emitted: `id`, or for work detached from a call, the id of that call.
        let rootID: UUID
        let endpointPath: String
        let route: String
        let method: HTTPMethod
        let host: String
        let isInVirtualTime: Bool

        init(
            id: UUID, rootID: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String,
            isInVirtualTime: Bool
        ) {
            self.id = id
            self.rootID = rootID
            self.endpointPath = endpointPath
            self.route = route
            self.method = method
            self.host = host
            self.isInVirtualTime = isInVirtualTime
        }

        func rebased(onto host: String, by method: HTTPMethod) -> Identity {
            Identity(
                id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host,
                isInVirtualTime: isInVirtualTime)
        }

        func caused(by rootID: UUID) -> Identity {
            Identity(
                id: id, rootID: rootID, endpointPath: endpointPath, route: route, method: method, host: host,
                isInVirtualTime: isInVirtualTime)
        }

        // What is not public is not compared: a test could not make an equal value.
        package static func == (one: Identity, other: Identity) -> Bool {
            one === other
                || one.id == other.id && one.endpointPath == other.endpointPath && one.route == other.route
                    && one.method == other.method && one.host == other.host
        }
    }

    /// In a box like the identity: most calls have no trace, and need no space for its texts.
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

    private var identity: Identity
    private let span: Span?
    /// The number of the attempt in the retry loop, counted from 1.
    public let attempt: Int
    /// The seconds until the next attempt; 0 in every event except ``NetworkEvent/requestRetrying(_:_:attempt:)``.
    public let retryDelay: TimeInterval

    /// Creates a summary, for tests and for tools that create events. `retryDelay` is in seconds.
    public init(
        id: UUID, endpointPath: String, route: String, method: HTTPMethod, host: String, attempt: Int = 1,
        retryDelay: TimeInterval = 0, traceID: String? = nil, parentSpanID: String? = nil, spanID: String? = nil
    ) {
        identity = Identity(
            id: id, rootID: id, endpointPath: endpointPath, route: route, method: method, host: host,
            isInVirtualTime: false)
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
    /// several calls at once, have their own identifier. A socket has its own too, the same over all its connections.
    public var id: UUID { identity.id }
    /// The identifier of the call that caused the event; its start and end are emitted with it.
    package var rootID: UUID { identity.rootID }
    /// Whether a program, and not the system, advances the clock of the call's client.
    package var isInVirtualTime: Bool { identity.isInVirtualTime }
    /// The same summary for an event that the call of that id has caused.
    package func caused(by rootID: UUID) -> CallSummary {
        var copy = self
        copy.identity = identity.caused(by: rootID)
        return copy
    }
    /// The path of the endpoint, without its query, and with secret parameters such as `;jsessionid=…` masked.
    public var endpointPath: String { identity.endpointPath }
    /// The name of the call in metrics: a method and a template, a type's name, or the name set in its options.
    public var route: String { identity.route }
    /// The method of the request; a redirect may have changed it.
    public var method: HTTPMethod { identity.method }
    /// The host that the request goes to; a redirect may have changed it.
    public var host: String { identity.host }
    /// The identifier of the W3C trace of the call, if a tracing plugin set one.
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

/// The result of a successful call.
public struct ResponseSummary: Sendable {
    /// The status of the response.
    public let statusCode: Int
    /// The size of the body in bytes, after decompression: of a stream, the bytes that were read; of a
    /// download, those that it received.
    public let byteCount: Int
    /// Where the response came from.
    public let origin: PulseResponse.Origin
    private let measured: Measured?

    /// Creates a summary; `byteCount` is in bytes.
    public init(statusCode: Int, byteCount: Int, origin: PulseResponse.Origin, timings: TransferTimings? = nil) {
        self.statusCode = statusCode
        self.byteCount = byteCount
        self.origin = origin
        measured = timings.map(Measured.init)
    }

    /// When the phases of the transfer ended; nil if the transport measured nothing.
    public var timings: TransferTimings? { measured?.timings }

    /// In a box: every event has the size of the largest one, and is copied from listener to listener.
    private final class Measured: Sendable, CustomDebugStringConvertible {
        let timings: TransferTimings

        init(_ timings: TransferTimings) {
            self.timings = timings
        }

        var debugDescription: String { "\(timings)" }
    }

    /// - Parameter bytesRead: the size of a streamed body.
    package init(_ response: PulseResponse, bytesRead: Int? = nil) {
        self.init(
            statusCode: response.statusCode, byteCount: bytesRead ?? response.data.count, origin: response.origin,
            timings: response.timings)
    }
}
