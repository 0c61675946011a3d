// SPDX-License-Identifier: MIT

public import PulseCore

/// Lets concurrent identical calls share one request.
///
/// Identical are calls of one client with the same method, URL, account, body and header fields, whatever their trace
/// ids (`traceparent`, `tracestate`, `baggage`, `X-Request-ID`) and `Idempotency-Key`; of the same route and with the same
/// options, the deadline apart. Nothing is kept: who comes after the answer sends a request of its own.
///
/// - Only safe methods and buffered answers. A call with a file or stream as its body goes alone, as does one whose
///   endpoint brings plugins that stand further in, whose retry or redirect policy holds a closure, or which sets
///   ``RequestOptions/coalesces`` to false; and one that is made within the work of another call, as by a validator that
///   renews a session, since the two could wait for each other.
/// - A call that is cancelled, or whose deadline passes, leaves alone; with the last one the request is cancelled. The
///   request has the latest of their deadlines: no retry of it sleeps past that. A call whose own comes first ends with
///   ``PulseError/deadlineExceeded(last:)``, which names what the request failed with until then.
/// - An answer shows the request that the call itself made; its ``PulseResponse/origin`` is
///   ``PulseResponse/Origin-swift.enum/coalesced`` for all but the call that came first, unless it comes from a store. A
///   failure is the same for all.
/// - The request is the first call's to whoever reads task-local values further in: it is that call's trace which it
///   continues. Its task is an urgent one, whichever calls wait for it.
///
/// In the list it belongs after the plugin that authenticates, whose tokens and account tell the users apart. Where a plugin
/// further in sets a credential, nobody shares: those who waited send requests of their own, and a warning says so.
public struct CoalescingPlugin: PulsePlugin {
    private let runs = SharedRuns<CoalescingKey, Result<PulseResponse, PulseError>>(cancelled: .failure(.cancelled))
    private let unseenCredentials = OneWarning(
        """
        calls are not coalesced whose credential a plugin further in sets, since nobody could tell whose answers they \
        get; let that plugin stand before the coalescing one
        """)

    public var identifier: String { "com.pulse.coalescing" }
    public var scope: PluginScope { .call }

    public init() {}

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard !next.holdsPluginsOfTheEndpoint, !WorkScope.isWithin(any: Recoverer.self), !HeldPermit.isWithinAny,
            let key = CoalescingKey(request, for: context)
        else {
            return try await next(request)
        }
        let (outcome, isFirst, waiting) = await runs.outcome(of: key, for: context.call) { waiting in
            await next.detachedResult(request, for: waiting)
        }
        guard !isFirst else { return try outcome.get() }
        guard isFit(outcome, of: waiting, for: request, in: context.call) else {
            unseenCredentials.emit(in: context)
            return try await next(request)
        }
        var response = try outcome.get()
        response.request = request
        // What came from a store stays that: a body from there that does not decode is fetched anew.
        switch response.origin {
        case .network, .mock: response.origin = .coalesced
        case .cache, .revalidated, .stale, .coalesced: break
        }
        return response
    }

    /// Whether it is an answer for others than the call that came first: not if the request as it was sent says more of who
    /// asks than that of this call.
    private func isFit(
        _ outcome: Result<PulseResponse, PulseError>, of waiting: WaitingCalls, for request: URLRequest, in call: Call
    ) -> Bool {
        // What an answer was turned into may no longer say what was sent.
        let sent = [waiting.sent, try? outcome.get().request].compactMap { $0?.allHTTPHeaderFields }
        let seen = request.allHTTPHeaderFields ?? [:]
        return sent.allSatisfy { sent in
            CachePartition.unseenCredential(in: sent, seen: seen, isSecret: call.isCredential(header:)) == nil
        }
    }

    /// Ends the requests of the moment; the calls that share them are cancelled.
    public func shutdown() async {
        await runs.shutdown()
    }

    /// Calls that wait now.
    var waiterCount: Int { runs.waiterCount }
    /// Requests under way, those included that were cancelled and have not ended yet.
    var runCount: Int { runs.runCount }
}

extension CoalescingPlugin: EndsWithItsCall, TellsItsHooks {}

extension PulsePlugin where Self == CoalescingPlugin {
    /// ``CoalescingPlugin/init()``
    public static func coalescing() -> CoalescingPlugin {
        CoalescingPlugin()
    }
}
