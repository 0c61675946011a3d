// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// What calls must have in common to wait for one request: they want its answer in the same form and under the same
/// tag, and its failure does not depend on which call sends it.
struct CacheFlightKey: Hashable, Sendable {
    /// The options of a call that plugins further in and the transport act on.
    struct Terms: Hashable, Sendable {
        /// Clients that share the plugin differ in what stands behind it.
        let client: ObjectIdentifier
        /// On a hop away from home fewer headers go out.
        let isAway: Bool
        let timeout: TimeInterval?
        let connectTimeout: TimeInterval?
        let auth: RequestOptions.Auth?
        let acceptedStatuses: AcceptedStatuses?
        let waitsForConnectivity: Bool?
        let retry: Retry?
    }

    struct Retry: Hashable, Sendable {
        let maxAttempts: Int
        let statuses: Set<Int>
        let onTimeout: Bool
        let onNoConnection: Bool
        let reportsExhaustion: Bool
        let maximumRetryAfter: TimeInterval
    }

    let key: CacheKey
    let delivery: TransportRequest.Delivery
    let tag: String?
    let terms: Terms?

    init(key: CacheKey, delivery: TransportRequest.Delivery, tag: String?, terms: Terms? = nil) {
        self.key = key
        self.delivery = delivery
        self.tag = tag
        self.terms = terms
    }
}

extension CacheExchange {
    /// Calls may wait for each other if they ask for nothing of their own and their answers are bytes.
    var mayBeShared: Bool {
        guard !isStreamed, rules.method != .head, rules.directives == CacheControl(),
            context.call.options.retry?.decider == nil
        else { return false }
        switch mode {
        case .default, .cacheElseNetwork, .staleWhileRevalidate: return true
        case .reload, .revalidate, .onlyIfCached: return false
        }
    }

    var flightKey: CacheFlightKey {
        let options = context.call.options
        let terms = CacheFlightKey.Terms(
            client: ObjectIdentifier(context.call.environment), isAway: context.builtHeaders != nil,
            timeout: options.timeout, connectTimeout: options.connectTimeout, auth: options.auth,
            acceptedStatuses: options.acceptedStatuses, waitsForConnectivity: options.waitsForConnectivity,
            retry: options.retry.map { CacheFlightKey.Retry($0) })
        return CacheFlightKey(key: key, delivery: context.delivery, tag: options.tag, terms: terms)
    }
}

extension CacheFlightKey.Retry {
    fileprivate init(_ policy: RetryPolicy) {
        maxAttempts = policy.maxAttempts
        statuses = policy.retryableStatusCodes
        onTimeout = policy.retryOnTimeout
        onNoConnection = policy.retryOnNoConnection
        reportsExhaustion = policy.reportsExhaustion
        maximumRetryAfter = policy.maximumRetryAfter
    }
}
