// SPDX-License-Identifier: MIT

import PulseCore

extension SingleFlight {
    /// The work of a flight: runs the rest of a chain, detached for the waiting calls.
    typealias ChainWork = @Sendable (CallGroup, PluginChain.Detached) async -> Outcome

    /// Joins the flight for this key, whose work runs the rest of the first call's chain. Nil for a call that must send
    /// its own request: it has no key, its endpoint adds inner plugins, other calls may wait for it, or it is a part of
    /// the flight itself.
    ///
    /// - Parameter makeKey: not called for a call that shares nothing.
    func join(
        _ makeKey: @autoclosure () -> Key?, for context: PluginContext, running next: PluginChain,
        _ work: @escaping ChainWork
    ) async throws -> Subscription? {
        guard !next.holdsPluginsOfTheEndpoint, !WorkScope.mayBlockOtherCalls, let key = makeKey() else { return nil }
        // A call that ended while it waited in an outer plugin sends nothing.
        try Task.checkCancellation()
        return await join(key, for: context.call) { await work($0, next.detached(for: $0)) }
    }

    /// Starts background work that runs the rest of the chain, unless a suitable run is in progress.
    func startInBackground(
        _ key: Key, unless willDo: (Key) -> Bool, running next: PluginChain, _ work: @escaping ChainWork
    ) {
        startInBackground(key, unless: willDo) { await work($0, next.detached(for: $0)) }
    }
}
