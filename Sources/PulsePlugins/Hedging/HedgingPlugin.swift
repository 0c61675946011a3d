// SPDX-License-Identifier: MIT

public import PulseCore

/// Sends a second copy of a request that takes unusually long, and uses the first good response. For reads whose tail
/// latency matters, against servers that can take a little more load.
///
/// ```swift
/// let hedging = HedgingPlugin(delay: .fixed(0.2))
/// let breaker = CircuitBreakerPlugin()
/// let client = PulseClient(configuration: configuration, plugins: [hedging, breaker])
/// ```
///
/// Only calls with a safe method, a replayable body and a buffered response are copied; others pass unchanged. A call
/// with ``RequestOptions/progress`` is not copied either.
///
/// By default, copies are at most 5 % of a route's calls, so the first is sent after 20 calls at the earliest. A server
/// that is slow for every call must not get twice the load. When one request wins, the others are cancelled, and inner
/// plugins see a cancellation.
///
/// A response is good if the standard retry policy would not retry it, whichever policy is in force. If no request gets
/// a good one, the caller gets the best outcome once no other request is in flight. A response is better than an error,
/// and an error after the send is better than one before it.
///
/// The plugin runs around each attempt; put it before the circuit breaker, so that the breaker counts each copy. The
/// delay starts when a request was sent: a request that still waits on the client, for a token or a permit, is not
/// copied.
///
/// Keep one plugin for the lifetime of its client: it measures the response times of the 1024 most recently used
/// routes.
public final class HedgingPlugin: PulsePlugin, HookDeclaring {
    /// When a copy is sent.
    public enum Delay: Sendable, Hashable {
        /// The given number of seconds after the request was sent; at least a thousandth of a second.
        case fixed(TimeInterval)
        /// The 95th percentile of the route's latest response times, at least 50 ms. Nothing is copied before 20 calls
        /// of the route.
        case observed
    }

    private let delay: Delay
    /// The maximum number of requests per call, including the first.
    let limit: Int
    private let extraLoad: Double
    // A lock for each route, so that a call looks up its route once.
    private let routes = Locked(LRUCache<Call.RouteKey, Locked<RouteLatencies>>(capacity: 1024))

    public var identifier: String { "com.pulse.hedging" }

    /// Creates a plugin.
    ///
    /// - Parameter delay: when a copy is sent; ``Delay/observed`` by default.
    /// - Parameter maxCopies: the maximum number of copies of one request, each sent a delay after the previous
    ///   one; from 1, the default, to 8.
    /// - Parameter maxExtraLoad: the maximum share of copies among a route's calls, from 0.001 to 1; 0.05 by
    ///   default. Values out of range are clamped. At 1 every call may be copied, even the first if the delay is fixed.
    public init(delay: Delay = .observed, maxCopies: Int = 1, maxExtraLoad: Double = 0.05) {
        self.delay = delay
        extraLoad = maxExtraLoad >= 0.001 ? min(maxExtraLoad, 1) : 0.001
        limit = 1 + max(1, min(maxCopies, 8))
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard Self.mayBeCopied(request, context) else { return try await next(request, context: context) }
        let latencies = latencies(of: context.call.routeKey)
        if let copyDelay = delayOfCall(latencies) {
            let hedged = HedgedRequest(
                self, request, for: context.watchingSends(), next: next, latencies, copyingAfter: copyDelay)
            if let outcome = hedged.begin() { return try outcome.get() }
            return try await hedged.outcome().get()
        }
        guard delay == .observed else { return try await next(request, context: context) }
        let context = context.watchingSends()
        let outcome = await next.result(request, context: context)
        if Self.quality(of: outcome, in: context) == .good { recordLatency(of: context, latencies) }
        return try outcome.get()
    }

    /// The latencies of a route, which becomes the most recently used one.
    func latencies(of route: Call.RouteKey) -> Locked<RouteLatencies> {
        routes.withLock { $0.withValue(for: route, default: Locked(RouteLatencies(extraLoad: extraLoad))) { $0 } }
    }

    var routeCount: Int { routes.withLock { $0.count } }

    /// Seconds after which a copy of this call is due; nil if it is not copied.
    private func delayOfCall(_ latencies: Locked<RouteLatencies>) -> TimeInterval? {
        let usual = latencies.withLock { latencies -> (mayCopy: Bool, delay: TimeInterval?) in
            latencies.countCall()
            return (latencies.mayCopy, latencies.usualDelay)
        }
        guard usual.mayCopy else { return nil }
        switch delay {
        // A delay of zero would end before the request is sent.
        case .fixed(let seconds): return seconds > 0.001 ? seconds : 0.001
        case .observed: return usual.delay
        }
    }

    /// Records the server's response time, if copies depend on it. The time counts from the first send, so that it does
    /// not include waiting on the client.
    func recordLatency(of context: PluginContext, _ latencies: Locked<RouteLatencies>) {
        guard delay == .observed, let firstSent = context.sendWatch?.first else { return }
        let latency = context.clock.uptime - firstSent
        latencies.withLock { $0.add(latency) }
    }

    private static func mayBeCopied(_ request: URLRequest, _ context: PluginContext) -> Bool {
        // A plugin may have changed the method since the client built the request.
        // The progress of two requests at once would jump.
        guard context.method.isSafe, case .buffered = context.delivery, context.body.isReplayable,
            context.call.options.progress == nil
        else { return false }
        let method = request.httpMethod ?? "GET"
        // Usually the method is unchanged and need not be parsed.
        return method == context.method.rawValue || HTTPMethod(rawValue: method)?.isSafe ?? false
    }

    /// The quality of an outcome. It is good if it would not be retried: a copy would get the same verdict from the
    /// server.
    static func quality(of outcome: HedgedRequest.Outcome, in context: PluginContext) -> Quality {
        switch outcome {
        case .success(let response):
            let accepted = context.call.options.acceptedStatuses ?? .successful
            return PulseError(validating: response, accepted: accepted)?.isRetryable == true ? .badResponse : .good
        case .failure(.cancelled):
            return .cancelled
        case .failure(let error):
            return error.phase == .beforeSend || error.kind == .rateLimited ? .unsent : .failed
        }
    }
}

extension PulsePlugin where Self == HedgingPlugin {
    /// A ``HedgingPlugin`` with a delay: ``HedgingPlugin/init(delay:maxCopies:maxExtraLoad:)``.
    public static func hedging(
        delay: HedgingPlugin.Delay = .observed, maxCopies: Int = 1, maxExtraLoad: Double = 0.05
    ) -> HedgingPlugin {
        HedgingPlugin(delay: delay, maxCopies: maxCopies, maxExtraLoad: maxExtraLoad)
    }
}
