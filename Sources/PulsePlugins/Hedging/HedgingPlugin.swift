// SPDX-License-Identifier: MIT

public import PulseCore

/// Sends a second copy of a request that takes unusually long, and takes whichever good answer comes first: for reads
/// whose slowest calls matter, against servers that can bear a little more load.
///
/// Only safe methods with a body that can be sent again, and only answers that are buffered; anything else passes as it
/// is. Copies are 5 % of a route's calls at most, so the first comes after 20 calls at the earliest. Losers are cancelled,
/// and plugins further in see a cancellation. An answer is good if no retry would follow it; a bad one is given to the
/// caller only if no other request is under way, an answer of the server before an error, and that before a refusal of
/// this side's. It stands around each attempt, outside of the circuit breaker. What counts is the time since a request left
/// for the wire: one that waits for a token or a permit of this side's is not copied.
///
/// Keep one plugin as long as its client: it learns from the calls that it has seen, of the 1024 routes that were used last.
public final class HedgingPlugin: PulsePlugin, TellsItsHooks {
    /// When a copy is sent.
    public enum Delay: Sendable, Hashable {
        /// That many seconds after the request has left; a thousandth at least.
        case fixed(TimeInterval)
        /// When 95 % of the route's latest calls were answered, at least 50 ms; after 20 calls of the route.
        case observed
    }

    private let delay: Delay
    /// Requests in all.
    let limit: Int
    // A lock for each, so that a call looks its route up once.
    private let routes = Locked(RecentMap<Call.RouteKey, Locked<RouteLatencies>>(capacity: 1024))

    public var identifier: String { "com.pulse.hedging" }

    /// - Parameter maximumCopies: of one request, each of them a delay after the one before; from 1 to 8.
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
                self, request, for: context.watchingDepartures(), next: next, latencies, copyingAfter: copyDelay)
            if let outcome = hedged.begin() { return try outcome.get() }
            return try await hedged.outcome().get()
        }
        guard delay == .observed else { return try await next(request, context: context) }
        let context = context.watchingDepartures()
        let outcome = await next.result(request, context: context)
        if Self.quality(of: outcome, in: context) == .good { noteGoodAnswer(to: context, latencies) }
        return try outcome.get()
    }

    /// Of a route, which counts as used.
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
        // None at all would be over before the request has left.
        case .fixed(let seconds): return seconds > 0.001 ? seconds : 0.001
        case .observed: return usual.delay
        }
    }

    /// Learns how long the server took, where copies go by that: from when the first request left, whatever it had waited for on this side.
    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    func noteGoodAnswer(to context: PluginContext, _ latencies: Locked<RouteLatencies>) {
        guard delay == .observed, let departure = context.departures?.first else { return }
        let latency = context.clock.uptime - departure
        latencies.withLock { $0.add(latency) }
    }

    private static func mayBeCopied(_ request: URLRequest, _ context: PluginContext) -> Bool {
        // A plugin may have changed the method since the client built the request.
        guard context.method.isSafe, case .buffered = context.delivery, context.body.isReplayable else { return false }
        let method = request.httpMethod ?? "GET"
        // Mostly it is: then its letters need not be looked at.
        return method == context.method.rawValue || HTTPMethod(rawValue: method)?.isSafe ?? false
    }

    /// Good is what no retry would follow: a verdict of the server, whatever it is, is the same from a copy.
    static func quality(of outcome: HedgedRequest.Outcome, in context: PluginContext) -> Quality {
        switch outcome {
        case .success(let response):
            let accepted = context.call.options.acceptedStatuses ?? .successful
            return PulseError(validating: response, accepted: accepted)?.isRetryable == true ? .badAnswer : .good
        case .failure(.cancelled):
            return .cancelled
        case .failure(let error):
            return error.phase == .beforeSend || error.kind == .rateLimited ? .unsent : .failed
        }
    }
}

extension PulsePlugin where Self == HedgingPlugin {
    /// ``HedgingPlugin/init(delay:maximumCopies:)``
    public static func hedging(delay: HedgingPlugin.Delay = .observed, maximumCopies: Int = 1) -> HedgingPlugin {
        HedgingPlugin(delay: delay, maximumCopies: maximumCopies)
    }
}
