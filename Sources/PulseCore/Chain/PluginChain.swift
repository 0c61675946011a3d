// SPDX-License-Identifier: MIT

/// The rest of the chain: what stands further in than the plugin that holds it, down to the wire.
///
/// Call it to go on; not at all to answer by oneself; several times to repeat. Every outcome crosses as an answer or a
/// ``PulseError``.
public struct PluginChain: Sendable {
    private let links: Links
    private let index: Int
    private let context: PluginContext
    /// This chain starts a call of its own, whose plugins it completes.
    private let completesItself: Bool

    package init(_ links: Links, context: PluginContext) {
        self.init(links, index: 0, context: context, completesItself: false)
    }

    private init(_ links: Links, index: Int, context: PluginContext, completesItself: Bool) {
        self.links = links
        self.index = index
        self.context = context
        self.completesItself = completesItself
    }

    /// Runs the rest with the context that the holder was given. Throws ``PulseError``.
    public func callAsFunction(_ request: URLRequest) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// Runs the rest with another context: another attempt, another body. Throws ``PulseError``.
    public func callAsFunction(_ request: URLRequest, context: PluginContext) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// The outcome as a value.
    public func result(
        _ request: URLRequest, context: PluginContext? = nil
    ) async -> Result<PulseResponse, PulseError> {
        // Whoever alters a context has only that of the call which a detached chain has left.
        let context = (context ?? self.context).moved(to: self.context.call)
        let result: Result<PulseResponse, PulseError>
        do {
            if index < links.plugins.count {
                if index != links.ownLoop { context.call.enter(index, with: context, of: links.plugins.count) }
                let rest = PluginChain(links, index: index + 1, context: context, completesItself: false)
                result = .success(try await links.plugins[index].intercept(request, for: context, next: rest))
            } else {
                result = .success(try await links.wire(request, context, links.observers))
            }
        } catch {
            result = .failure(PulseError(wrapping: error, request: request))
        }
        if completesItself { await complete(result, of: context.call) }
        return result
    }

    /// The rest of the chain for work that outlives its call or is shared between calls: a call of its own with its own
    /// id and store (typed keys are copied) and no deadline. Whoever runs it owns the task.
    public func detached() -> PluginChain {
        PluginChain(links, index: index, context: context.detached(), completesItself: true)
    }

    private func complete(_ result: Result<PulseResponse, PulseError>, of call: Call) async {
        guard let stream = (try? result.get())?.bytes else { return await Self.complete(call, links) }
        stream.onEnd { [links] _ in
            Task { await Self.complete(call, links) }
        }
    }

    /// Runs `didComplete` of the plugins that the call entered, last first.
    package static func complete(_ call: Call, _ links: Links) async {
        for (index, context) in call.takeEntered() {
            await links.plugins[index].didComplete(context)
        }
    }
}

extension PluginChain {
    /// Sends what comes out of the chain; the plugins are those whose `willSend` sees it.
    package typealias Wire = @Sendable (URLRequest, PluginContext, [any PulsePlugin]) async throws -> PulseResponse

    /// The plugins of a call in their order, and the wire behind them.
    package final class Links: Sendable {
        package let plugins: [any PulsePlugin]
        package let wire: Wire
        /// Those whose hooks run: all but the configuration's loop, which has none.
        let observers: [any PulsePlugin]
        /// The index of the configuration's loop, unless a plugin stands in its place.
        let ownLoop: Int?

        /// Sorts by scope, stably: an endpoint's plugins before the client's, within them the caller's order. Exactly one
        /// retry loop stands between the `.call` and the `.attempt` plugins: that of `retry` if there is one, else the
        /// last `.retry` plugin of the endpoint, else of the client, else the configuration's policy.
        package init(
            client: [any PulsePlugin], endpoint: [any PulsePlugin] = [], retry: RetryPolicy?,
            configured policy: RetryPolicy, wire: @escaping Wire
        ) {
            let all = endpoint + client
            let outer = all.filter { $0.scope == .call }
            let inner = all.filter { $0.scope == .attempt }
            let plugin = endpoint.last { $0.scope == .retry } ?? client.last { $0.scope == .retry }
            if retry == nil, let plugin {
                plugins = outer + [plugin] + inner
                observers = plugins
                ownLoop = nil
            } else {
                plugins = outer + [RetryLoop(retry ?? policy)] + inner
                observers = outer + inner
                ownLoop = outer.count
            }
            self.wire = wire
        }
    }
}
