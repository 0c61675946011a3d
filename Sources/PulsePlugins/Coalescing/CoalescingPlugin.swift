// SPDX-License-Identifier: MIT

public import PulseCore

/// Lets concurrent identical calls share one request.
///
/// Calls of one client are identical if they have the same method, URL, account, body, header fields, route and
/// options. Their trace ids (`traceparent`, `tracestate`, `baggage`, `X-Request-ID`), `Idempotency-Key` and deadline
/// may differ. Nothing is kept: a call that comes after the answer sends a request of its own. So does one that comes
/// after a call with an unsafe method that went through this plugin and may have changed what is at the URL.
///
/// - Only safe methods and buffered answers are shared. A call goes alone if its body is a file or a stream, if its
///   endpoint brings plugins that stand further in, if its retry or redirect policy holds a closure, or if it sets
///   ``RequestOptions/coalesces`` to false. So does one that is made within the work of another call, as by a validator
///   that renews a session, since the two could wait for each other.
/// - A call that is cancelled, or whose deadline passes, leaves alone; when the last one leaves, the request is
///   cancelled. The request has the latest of their deadlines: no retry of it sleeps past that. A call whose own comes
///   first ends with ``PulseError/deadlineExceeded(last:)``, which names what the request failed with until then.
/// - An answer shows the request that the call itself made; its ``PulseResponse/origin`` is
///   ``PulseResponse/Origin-swift.enum/coalesced`` for all but the call that came first, unless it comes from a store.
///   A failure is the same for all.
/// - Plugins further in find the task-local values of the first call: the request continues that call's trace. Its task
///   is an urgent one, whichever calls wait for it.
///
/// In the list it belongs after the plugin that authenticates, whose tokens and account tell the users apart. Where a
/// plugin further in sets a credential, nothing is shared: the calls that waited send requests of their own, and a
/// warning says so.
public struct CoalescingPlugin: PulsePlugin {
    private typealias Flight = SingleFlight<CoalescingKey, Result<PulseResponse, PulseError>>

    private let flights = Flight(cancelled: .failure(.cancelled))
    private let unseenCredentials = OneWarning(
        """
        calls are not coalesced whose credential a plugin further in sets, since nobody could tell whose answers they \
        get; let that plugin stand before the coalescing one
        """)

    public var identifier: String { "com.pulse.coalescing" }
    public var scope: PluginScope { .call }

    /// A plugin of its own: calls share requests only through the same plugin or its copies.
    public init() {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard !next.holdsPluginsOfTheEndpoint, !WorkScope.mayBlockOtherCalls,
            let key = CoalescingKey(request, for: context)
        else {
            return try await pass(request, context, next)
        }
        // A call that has ended while it waited further out begins nothing.
        try context.call.checkCancellation()
        let subscription = await flights.join(key, for: context.call) { waiting in
            await next.detachedResult(request, for: waiting)
        }
        guard let subscription else { return try await next(request) }
        if subscription.isFirst { return try subscription.outcome.get() }
        // A call that has left asks for nothing more.
        if case .failure(.cancelled) = subscription.outcome { throw PulseError.cancelled }
        guard isFit(subscription, for: request, in: context.call) else {
            unseenCredentials.emit(in: context)
            return try await next(request)
        }
        var response = try subscription.outcome.get()
        response.request = request
        // What came from a store keeps its origin: a body from there that does not decode is fetched again.
        switch response.origin {
        case .network, .mock: response.origin = .coalesced
        case .cache, .revalidated, .stale, .coalesced: break
        }
        return response
    }

    /// Passes on a request that is not shared. If it may have changed something, who reads that afterwards waits for no
    /// request from before it.
    private func pass(
        _ request: URLRequest, _ context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        guard let method = HTTPMethod(rawValue: request.httpMethod ?? "GET"), !method.isSafe, let url = request.url
        else { return try await next(request) }
        let (result, changed) = await next.outcome(ofChange: request, method, at: url, in: context.call)
        if !changed.isEmpty {
            let names = Set(changed.map(CacheURL.normalized))
            flights.close { names.contains(CacheURL.normalized($0.url)) }
        }
        return try result.get()
    }

    /// Whether the outcome may go to a call other than the first: not if the request as it was sent says more of who
    /// asks than this call's own.
    private func isFit(_ subscription: Flight.Subscription, for request: URLRequest, in call: Call) -> Bool {
        // A plugin may have changed the answer, so that it no longer says what was sent.
        let sent = [subscription.sent, try? subscription.outcome.get().request].compactMap { $0 }
        let seen = request.allHTTPHeaderFields ?? [:]
        return sent.allSatisfy { sent in
            CachePartition.unseenCredential(
                in: sent, seen: seen, at: request.url, isSecret: call.isCredential(header:)) == nil
        }
    }

    /// Waits for the end of requests whose calls have all been cancelled. Those that calls still wait for, perhaps
    /// another client's, go on. The plugin stays usable.
    public func shutdown() async {
        await flights.shutdown()
    }

    /// Calls that wait now.
    var waiterCount: Int { flights.waiterCount }
    /// Requests under way, including cancelled ones that have not ended yet.
    var runCount: Int { flights.runCount }
}

extension CoalescingPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == CoalescingPlugin {
    /// A ``CoalescingPlugin``, which needs no settings.
    public static func coalescing() -> CoalescingPlugin {
        CoalescingPlugin()
    }
}
