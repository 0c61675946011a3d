// SPDX-License-Identifier: MIT

extension NetworkEvent {
    /// The kinds of events: the cases of ``NetworkEvent`` without their values, for filters and counters.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The steps of a call: the cases of the same names in ``NetworkEvent``.
        case requestStarted, attemptStarted, responseReceived, requestRedirected, requestCompleted
        /// Retries and progress.
        case requestRetrying, retryGivenUp, transferProgress
        /// Authentication.
        case authRefreshStarted, authRefreshSucceeded, authRefreshFailed, sessionExpired
        /// The cache.
        case cacheHit, cacheMiss, cacheRevalidated, cacheStored, cacheInvalidated
        /// Circuit breakers and limits.
        case circuitBreakerOpened, circuitBreakerHalfOpened, circuitBreakerClosed, rateLimited
        /// The offline queue.
        case offlineQueueEnqueued, offlineQueueDraining, offlineQueueRequestCompleted
        /// Entries that the offline queue has dropped.
        case offlineQueueExpired, offlineQueueDeadLettered
        /// Pins, connectivity, sockets and warnings.
        case pinningFailed, connectivityChanged, socketStateChanged, socketDisconnected, warning
    }

    /// The kind of the event.
    public var kind: Kind {
        switch self {
        case .requestStarted: .requestStarted
        case .attemptStarted: .attemptStarted
        case .responseReceived: .responseReceived
        case .requestRedirected: .requestRedirected
        case .requestCompleted: .requestCompleted
        case .requestRetrying: .requestRetrying
        case .retryGivenUp: .retryGivenUp
        case .transferProgress: .transferProgress
        case .authRefreshStarted: .authRefreshStarted
        case .authRefreshSucceeded: .authRefreshSucceeded
        case .authRefreshFailed: .authRefreshFailed
        case .sessionExpired: .sessionExpired
        case .cacheHit: .cacheHit
        case .cacheMiss: .cacheMiss
        case .cacheRevalidated: .cacheRevalidated
        case .cacheStored: .cacheStored
        case .cacheInvalidated: .cacheInvalidated
        case .circuitBreakerOpened: .circuitBreakerOpened
        case .circuitBreakerHalfOpened: .circuitBreakerHalfOpened
        case .circuitBreakerClosed: .circuitBreakerClosed
        case .rateLimited: .rateLimited
        case .offlineQueueEnqueued: .offlineQueueEnqueued
        case .offlineQueueDraining: .offlineQueueDraining
        case .offlineQueueRequestCompleted: .offlineQueueRequestCompleted
        case .offlineQueueExpired: .offlineQueueExpired
        case .offlineQueueDeadLettered: .offlineQueueDeadLettered
        case .pinningFailed: .pinningFailed
        case .connectivityChanged: .connectivityChanged
        case .socketStateChanged: .socketStateChanged
        case .socketDisconnected: .socketDisconnected
        case .warning: .warning
        }
    }

    /// The call of the event; nil for an event that belongs to no single call.
    public var call: CallSummary? {
        switch self {
        case .requestStarted(let call), .attemptStarted(let call), .responseReceived(let call, _, _),
            .requestRedirected(let call, _), .requestCompleted(_, let call, _), .requestRetrying(let call, _, _),
            .retryGivenUp(let call, _), .transferProgress(let call, _, _), .authRefreshStarted(let call),
            .authRefreshSucceeded(let call), .authRefreshFailed(let call, _), .sessionExpired(let call),
            .cacheHit(let call), .cacheMiss(let call), .cacheRevalidated(let call), .cacheStored(let call),
            .rateLimited(let call, _), .socketStateChanged(let call, _), .socketDisconnected(let call, _):
            call
        case .cacheInvalidated, .circuitBreakerOpened, .circuitBreakerHalfOpened, .circuitBreakerClosed,
            .offlineQueueEnqueued, .offlineQueueDraining, .offlineQueueRequestCompleted, .offlineQueueExpired,
            .offlineQueueDeadLettered, .pinningFailed, .connectivityChanged, .warning:
            nil
        }
    }
}
