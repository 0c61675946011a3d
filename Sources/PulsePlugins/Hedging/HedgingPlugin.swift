// SPDX-License-Identifier: MIT

public import PulseCore

/// Sends a second copy of a request that takes unusually long, and takes whichever good answer comes first: for reads
/// whose slowest calls matter, against servers that can bear a little more load.
///
/// Only calls with a safe method, a body that can be sent again and a buffered answer are copied; others pass as they
/// are. Copies are at most 5 % of a route's calls, so the first comes after 20 calls at the earliest. The other
/// requests are cancelled once one has won, and plugins further in see a cancellation.
///
/// An answer is good if the standard retry policy would not follow it, whichever is in force. Where no request brings
/// one, the caller gets the best outcome, once no other request is under way: an answer of the server rather than an
/// error, and an error on the way rather than a failure before anything was sent.
///
/// The plugin stands around each attempt; put it before the circuit breaker, so that each copy counts there by itself.
/// The delay begins when a request has left for the wire: one that still waits on this side, for a token or a permit,
/// is not copied.
///
/// Keep one plugin as long as its client: it learns from the calls that it has seen, for the 1024 routes used last.
public final class HedgingPlugin: PulsePlugin, TellsItsHooks {
    /// When a copy is sent.
    public enum Delay: Sendable, Hashable {
        /// That many seconds after the request has left for the wire; a thousandth of a second at least.
        case fixed(TimeInterval)
        /// After the time in which 95 % of the route's latest calls were answered, at least 50 ms. Nothing is copied
        /// before 20 calls of the route.
        case observed
    }

    private let delay: Delay
    /// How many requests a call may become, the first included.
    let limit: Int
    // Each route has a lock, so that a call looks its route up once.
    private let routes = Locked(LRUCache<Call.RouteKey, Locked<RouteLatencies>>(capacity: 1024))

    public var identifier: String { "com.pulse.hedging" }

    /// A plugin that copies after that delay.
    ///
    /// - Parameter delay: when a copy is sent; ``Delay/observed`` by default.
    /// - Parameter maximumCopies: of one request, each of them a delay after the one before; from 1, the default, to 8.
    public init(delay: Delay = .observed, maximumCopies: Int = 1) {
        self.delay = delay
        limit = 1 + max(1, min(maximumCopies, 8))
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

    /// The latencies of a route, which counts as used from now on.
    func latencies(of route: Call.RouteKey) -> Locked<RouteLatencies> {
        routes.withLock { $0.withValue(for: route, default: Locked(RouteLatencies())) { $0 } }
    }

    var routeCount: Int { routes.withLock { $0.count } }

    /// Seconds after which a copy of this call is due; nil if none will be.
    private func delayOfCall(_ latencies: Locked<RouteLatencies>) -> TimeInterval? {
        let usual = latencies.withLock { latencies -> (mayCopy: Bool, delay: TimeInterval?) in
            latencies.countCall()
            return (latencies.mayCopy, latencies.usualDelay)
        }
        guard usual.mayCopy else { return nil }
        switch delay {
        // A delay of zero would be over before the request has left.
        case .fixed(let seconds): return seconds > 0.001 ? seconds : 0.001
        case .observed: return usual.delay
        }
    }

    /// Learns how long the server took, if copies go by that. The time counts from when the first request left, so that
    /// waiting on this side is not part of it.
    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    func recordLatency(of context: PluginContext, _ latencies: Locked<RouteLatencies>) {
        guard delay == .observed, let firstSent = context.sendLog?.first else { return }
        let latency = context.clock.uptime - firstSent
        latencies.withLock { $0.add(latency) }
    }

    private static func mayBeCopied(_ request: URLRequest, _ context: PluginContext) -> Bool {
        // A plugin may have changed the method since the client built the request.
        guard context.method.isSafe, case .buffered = context.delivery, context.body.isReplayable else { return false }
        let method = request.httpMethod ?? "GET"
        // Mostly it is the same: then its letters need not be looked at.
        return method == context.method.rawValue || HTTPMethod(rawValue: method)?.isSafe ?? false
    }

    /// What an outcome is worth. Good is one that no retry would follow: a copy would get the same verdict from the
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
    /// A ``HedgingPlugin`` with that delay: ``HedgingPlugin/init(delay:maximumCopies:)``.
    public static func hedging(delay: HedgingPlugin.Delay = .observed, maximumCopies: Int = 1) -> HedgingPlugin {
        HedgingPlugin(delay: delay, maximumCopies: maximumCopies)
    }
}
