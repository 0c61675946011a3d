// SPDX-License-Identifier: MIT

public import PulseCore

/// Lets concurrent identical calls share one request.
///
/// ```swift
/// let client = PulseClient(configuration: configuration, plugins: [.auth(session), .coalescing()])
/// async let first: User = client.get("/me")
/// async let second: User = client.get("/me")  // shares the request
/// ```
///
/// Calls of one client are identical if they have the same method, URL, account, body, header fields, route and
/// options. Their trace ids (`traceparent`, `tracestate`, `baggage`, `X-Request-ID`), `Idempotency-Key` and deadline
/// may differ. Nothing is stored: a call after the response sends its own request. So does a call after an unsafe call
/// through this plugin that may have changed the resource at the URL.
///
/// - Only safe methods and buffered responses are shared. A call is not shared if its body is a file or a stream, or if
///   its endpoint adds inner plugins. It is not shared either if its retry or redirect policy holds a closure, or if
///   it sets ``RequestOptions/coalesces`` to false. The same holds for a call made within the work of another call,
///   such as a validator's session renewal, since the two could wait for each other.
/// - A call that is cancelled, or whose deadline passes, stops waiting, and the others continue; when the last one
///   leaves, the request is cancelled. The request has the latest of their deadlines: no retry of it sleeps past that.
///   A call whose own deadline comes first fails with ``PulseError/deadlineExceeded(last:)``, with the request's last
///   failure until then.
/// - Each call's response has the call's own request. Its ``PulseResponse/origin`` is
///   ``PulseResponse/Origin-swift.enum/coalesced`` for all calls but the first, unless it comes from a store. A failure
///   is the same for all.
/// - Inner plugins see the task-local values of the first call: the request continues that call's trace. Its task has a
///   high priority, regardless of the calls that wait for it.
///
/// Put it after the plugin that authenticates, whose tokens and account distinguish users. If an inner plugin sets a
/// credential, nothing is shared: the waiting calls send their own requests, and a warning reports that.
public struct CoalescingPlugin: PulsePlugin {
    private let flights = SingleFlight<CoalescingKey, Result<PulseResponse, PulseError>>(
        cancelled: .failure(.cancelled))
    private static let unseenCredentials =
        """
        calls whose credential a later plugin sets are not coalesced, since it is unknown which user a response \
        belongs to; put that plugin before the coalescing one
        """

    public var identifier: String { "com.pulse.coalescing" }
    public var scope: PluginScope { .call }

    /// Creates a plugin. Calls share requests only through the same plugin or its copies.
    public init() {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        let flight = try await flights.join(CoalescingKey(request, for: context), for: context, running: next) {
            await $1.result(request)
        }
        guard let flight else { return try await pass(request, context, next) }
        if flight.isFirst { return try flight.outcome.get() }
        // A cancelled call sends nothing more.
        if case .failure(.cancelled) = flight.outcome { throw PulseError.cancelled }
        // A plugin may have replaced the response, so that its request is not the one that was sent.
        let sent = [flight.sent, try? flight.outcome.get().request].compactMap { $0 }
        let unseen = sent.lazy.compactMap {
            CachePartition.unseenCredential(in: $0, seenIn: request, of: context.call)
        }
        guard unseen.isEmpty else {
            context.call.environment.warnOnce(Self.unseenCredentials)
            return try await next(request)
        }
        var response = try flight.outcome.get()
        response.request = request
        response.marks = context.call.marks
        // A response from a store keeps its origin: if its body does not decode, it is fetched again.
        switch response.origin {
        case .network, .mock: response.origin = .coalesced
        case .cache, .revalidated, .stale, .coalesced: break
        }
        return response
    }

    /// Forwards a request that is not shared. If it may have changed a resource, later reads do not share earlier
    /// requests.
    private func pass(
        _ request: URLRequest, _ context: PluginContext, _ next: PluginChain
    ) async throws -> PulseResponse {
        let (result, changed) = await next.outcome(ofChange: request, in: context.call)
        if !changed.isEmpty {
            let names = Set(changed.map(CacheURL.normalized))
            flights.close { names.contains(CacheURL.normalized($0.url)) }
        }
        return try result.get()
    }

    /// Waits for requests whose calls have all been cancelled. Requests that calls still wait for continue; those calls
    /// may belong to another client. The plugin stays usable.
    public func shutdown() async {
        await flights.shutdown()
    }

    /// The number of waiting calls.
    var waiterCount: Int { flights.waiterCount }
    /// The number of requests in flight, including cancelled ones that have not ended yet.
    var runCount: Int { flights.runCount }
}

extension CoalescingPlugin: HookDeclaring {}

extension PulsePlugin where Self == CoalescingPlugin {
    /// A ``CoalescingPlugin``, which needs no settings.
    public static func coalescing() -> CoalescingPlugin {
        CoalescingPlugin()
    }
}
