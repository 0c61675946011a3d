// SPDX-License-Identifier: MIT

/// Events of calls, as values. No event holds a body, a header value or a query, except in the error of a
/// ``SocketState``, whose description has none of them. A path is masked by ``Redaction``; a secret that it does not
/// recognize stays visible. The only text from a server is ``NetworkEvent/SocketDisconnection/reason``, masked.
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
    /// A failed attempt will be retried. `attempt` is the number of the next attempt,
    /// ``NetworkEvent/CallSummary/retryDelay`` the wait before it in seconds.
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
    // Indirect, since every event is as large as the largest case.
    /// A connection of a socket has ended. Emitted once for each connection whose handshake has succeeded, before the
    /// state that follows.
    indirect case socketDisconnected(CallSummary, SocketDisconnection)
    /// A problem that a developer should know about, but that fails no call.
    case warning(String)
}
