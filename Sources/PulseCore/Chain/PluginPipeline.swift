// SPDX-License-Identifier: MIT

/// The plugins of a call in order, with the wire at the end.
package final class PluginPipeline: Sendable {
    package let plugins: [any PulsePlugin]
    package let wire: PluginChain.Wire
    /// The plugins that see each request to the wire.
    package let observers: [any PulsePlugin]
    /// The index after the last plugin of the endpoint; 0 if the endpoint has none.
    let endOfEndpointPlugins: Int
    /// Whether `didComplete` runs, for each plugin; false for the wire at the end. All are false in a pipeline whose
    /// calls never complete: such a call would retain the contexts that it records for them.
    let isCompleted: [Bool]
    /// Whether there are plugins besides the built-in retry loop.
    package let hasPlugins: Bool

    /// Creates the pipeline, sorted by scope. Within a scope, an endpoint's plugins come before the client's, each in
    /// the caller's order.
    ///
    /// Exactly one retry loop stands between the `.call` and the `.attempt` plugins: the loop of `retry` if it is set,
    /// else the last `.retry` plugin of the endpoint, else that of the client, else the loop of the configuration's
    /// policy.
    package init(
        client: [any PulsePlugin], endpoint: [any PulsePlugin] = [], retry: RetryPolicy?,
        configured policy: RetryPolicy, completes: Bool = true, wire: @escaping PluginChain.Wire
    ) {
        let all = endpoint + client
        let outer = all.filter { $0.scope == .call }
        let inner = all.filter { $0.scope == .attempt }
        let loopIndex = outer.count
        let own = endpoint.count { $0.scope == .attempt }
        let bringsLoop = retry == nil && endpoint.contains { $0.scope == .retry }
        endOfEndpointPlugins =
            own > 0
            ? loopIndex + 1 + own : bringsLoop ? loopIndex + 1 : endpoint.count { $0.scope == .call }
        let plugin = endpoint.last { $0.scope == .retry } ?? client.last { $0.scope == .retry }
        if retry == nil, let plugin {
            plugins = outer + [plugin] + inner
            hasPlugins = true
        } else {
            plugins = outer + [RetryLoop(retry ?? policy)] + inner
            hasPlugins = plugins.count > 1
        }
        let hooks = plugins.map { PluginHooks(of: $0) }
        observers = zip(plugins, hooks).filter { $1.contains(.willSend) }.map { plugin, _ in plugin }
        isCompleted = hooks.map { completes && $0.contains(.didComplete) } + [false]
        self.wire = wire
    }
}
