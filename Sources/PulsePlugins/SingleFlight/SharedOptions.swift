// SPDX-License-Identifier: MIT

import PulseCore

/// The options of a call that inner plugins may use. Calls share a request only if these are equal.
///
/// They exclude the deadline, which each call applies itself; the decoder and the encoder, which cannot be compared and
/// belong to the route; and the options that outer plugins have handled.
struct SharedOptions: Hashable, Sendable {
    /// Used by breakers, limits and metrics.
    private let route: Call.RouteKey
    private let timeout: TimeInterval?
    private let connectTimeout: TimeInterval?
    private let poolTimeout: TimeInterval?
    private let cache: RequestOptions.Cache?
    private let auth: RequestOptions.Auth?
    private let acceptedStatuses: RequestOptions.AcceptedStatuses?
    private let maxHops: Int?
    private let priority: RequestOptions.Priority?
    /// The tag of the stored response.
    private let tag: String?
    private let waitsForConnectivity: Bool?
    private let allowsExpensiveNetworkAccess: Bool?
    private let allowsConstrainedNetworkAccess: Bool?
    private let assumesHTTP3Capable: Bool?
    private let networkServiceType: URLRequest.NetworkServiceType?
    private let retry: Retry?

    /// Nil if the options cannot be compared with those of other calls.
    ///
    /// - Parameter cache: the cache option; nil if the plugin has handled it.
    init?(of context: PluginContext, cache: RequestOptions.Cache?) {
        let options = context.options
        let retry = options.retry.map { Retry($0) }
        // Closures cannot be compared.
        if case .some(nil) = retry { return nil }
        if let policy = options.redirectPolicy, policy.maxHops == nil { return nil }
        self.retry = retry ?? nil
        route = context.call.routeKey
        timeout = options.timeout
        connectTimeout = options.connectTimeout
        poolTimeout = options.poolTimeout
        self.cache = cache
        auth = options.auth
        acceptedStatuses = options.acceptedStatuses
        maxHops = options.redirectPolicy?.maxHops
        priority = options.priority
        tag = options.tag
        waitsForConnectivity = options.waitsForConnectivity
        allowsExpensiveNetworkAccess = options.allowsExpensiveNetworkAccess
        allowsConstrainedNetworkAccess = options.allowsConstrainedNetworkAccess
        assumesHTTP3Capable = options.assumesHTTP3Capable
        networkServiceType = options.networkServiceType
    }

    /// A policy without closures.
    private struct Retry: Hashable, Sendable {
        let maxAttempts: Int
        let backoff: Backoff
        let statuses: Set<Int>
        let flags: [Bool]
        let maxRetryAfter: TimeInterval

        init?(_ policy: RetryPolicy) {
            guard policy.decider == nil, let backoff = Backoff(policy.backoffStrategy) else { return nil }
            self.backoff = backoff
            maxAttempts = policy.maxAttempts
            statuses = policy.retryableStatusCodes
            flags = [
                policy.retryOnTimeout, policy.retryOnNoConnection, policy.reportsExhaustion,
                policy.retriesUnsafeMethods,
            ]
            maxRetryAfter = policy.maxRetryAfter
        }
    }

    private struct Backoff: Hashable, Sendable {
        let form: String
        var base: TimeInterval = 0
        var maxDelay: TimeInterval = 0

        init?(_ strategy: BackoffStrategy) {
            switch strategy {
            case .immediate: form = "immediate"
            case .constant(let seconds): (form, base) = ("constant", seconds)
            case .linear(let base, let cap): (form, self.base, maxDelay) = ("linear", base, cap)
            case .exponential(let base, let cap): (form, self.base, maxDelay) = ("exponential", base, cap)
            case .exponentialWithJitter(let base, let cap): (form, self.base, maxDelay) = ("jitter", base, cap)
            case .fibonacci(let base, let cap): (form, self.base, maxDelay) = ("fibonacci", base, cap)
            case .jittered(let strategy, let ratio):
                guard let inner = Backoff(strategy) else { return nil }
                (form, base, maxDelay) = ("\(inner.form) jittered by \(ratio)", inner.base, inner.maxDelay)
            case .custom: return nil
            }
        }
    }
}
