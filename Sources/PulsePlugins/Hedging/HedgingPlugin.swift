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
    private let routes = Locked(RecentMap<Call.RouteKey, RouteLatencies>(capacity: 1024))

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
        let route = context.call.routeKey
        let copyDelay = delayOfCall(of: route)
        let context = copyDelay == nil && delay != .observed ? context : context.watchingDepartures()
        let outcome: HedgedRequest.Outcome
        if let copyDelay {
            outcome = await HedgedRequest(self, request, for: context, next: next, copyingAfter: copyDelay).run()
        } else {
            outcome = await next.result(request, context: context)
        }
        if delay == .observed { note(outcome, of: route, in: context) }
        return try outcome.get()
    }

    /// Learns how long the server took: from when the first request left, whatever it had waited for on this side.
    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    private func note(_ outcome: HedgedRequest.Outcome, of route: Call.RouteKey, in context: PluginContext) {
        guard let departure = context.departures?.first, Self.quality(of: outcome, in: context) == .good else { return }
        learn(context.clock.uptime - departure, of: route)
    }

    func learn(_ latency: TimeInterval, of route: Call.RouteKey) {
        routes.withLock { _ = $0.withValue(for: route) { $0.add(latency) } }
    }

    var routeCount: Int { routes.withLock { $0.count } }

    /// Whether another copy may be sent now, which then counts as sent.
    func takeCopy(of route: Call.RouteKey) -> Bool {
        routes.withLock { $0.withValue(for: route) { $0.takeCopy() } ?? false }
    }

    /// Seconds after which a copy of this call is due; nil if none will be.
    func delayOfCall(of route: Call.RouteKey) -> TimeInterval? {
        let usual = routes.withLock { routes in
            routes.withValue(for: route, default: RouteLatencies()) { latencies -> (mayCopy: Bool, TimeInterval?) in
                latencies.countCall()
                return (latencies.mayCopy, latencies.usualDelay)
            }
        }
        guard usual.mayCopy else { return nil }
        switch delay {
        // None at all would be over before the request has left.
        case .fixed(let seconds): return seconds > 0.001 ? seconds : 0.001
        case .observed: return usual.1
        }
    }

    private static func mayBeCopied(_ request: URLRequest, _ context: PluginContext) -> Bool {
        // A plugin may have changed the method since the client built the request.
        guard context.method.isSafe, case .buffered = context.delivery, context.body.isReplayable else { return false }
        return HTTPMethod(rawValue: request.httpMethod ?? "GET")?.isSafe ?? false
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
