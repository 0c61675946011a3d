// SPDX-License-Identifier: MIT

/// The rest of the chain: everything further in than the plugin that holds it, down to the wire.
///
/// Call it to go on, not at all to answer in its place, or several times to repeat. Every outcome is an answer or a
/// ``PulseError``. Once the call is complete it throws ``PulseError/cancelled``: work that outlives the call needs
/// ``detached()``.
public struct PluginChain: Sendable {
    private let links: Links
    private let index: Int
    private let context: PluginContext
    /// Whether each run of this chain is a call of its own, made from the context's call, whose plugins it completes.
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

    /// Runs the rest of the chain with the context that the plugin was given. Throws only ``PulseError``.
    public func callAsFunction(_ request: URLRequest) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// Runs the rest of the chain with another context: for another attempt, or another body. Throws only
    /// ``PulseError``.
    public func callAsFunction(_ request: URLRequest, context: PluginContext) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// Whether the rest differs from endpoint to endpoint, since plugins that the endpoint brought stand further in.
    package var holdsPluginsOfTheEndpoint: Bool {
        index < links.endOfEndpointPlugins
    }

    /// Runs the rest of the chain and returns the outcome as a value. A `context` of nil is the one that the plugin was
    /// given.
    public func result(
        _ request: URLRequest, context: PluginContext? = nil
    ) async -> Result<PulseResponse, PulseError> {
        guard !completesItself else {
            return await completedResult(request, context, for: self.context.call.waiting)
        }
        // A plugin of a detached chain can only alter a context of the call that the chain was detached from.
        var context = context?.moved(to: self.context.call) ?? self.context
        // The configuration's loop only has to count the call before the first attempt, and mostly has nothing to do
        // after it: it is stepped over on the way in, and asked only if the attempt failed.
        let loop = index == links.loopIndex ? links.ownLoop : nil
        let next = loop == nil ? index : index + 1
        let departed = loop == nil ? 0 : RetryLoop.countCall(in: context)
        if let loop { context.isResentIfStale = loop.resends }
        let result: Result<PulseResponse, PulseError>
        do {
            if links.isCompleted[next] {
                guard context.call.enter(next, with: context) else { throw PulseError.cancelled }
            } else if context.call.isComplete {
                throw PulseError.cancelled
            }
            if next < links.plugins.count {
                let rest = PluginChain(links, index: next + 1, context: context, completesItself: false)
                result = .success(try await links.plugins[next].intercept(request, for: context, next: rest))
            } else {
                result = .success(try await links.wire(request, context, links.observers))
            }
        } catch {
            let failure = PulseError(wrapping: error, request: request)
            if next == links.plugins.count, failure.phase == .beforeSend { context.call.noteUnsent() }
            result = .failure(failure)
        }
        guard let loop, let failure = loop.failure(of: result, in: context) else { return result }
        return await retried(result, failure, departed, by: loop, request, context)
    }

    // Not inlined, since most calls do without it: it would take room in the frame of each link.
    @inline(never)
    private func retried(
        _ result: Result<PulseResponse, PulseError>, _ failure: PulseError, _ departed: Int, by loop: RetryLoop,
        _ request: URLRequest, _ context: PluginContext
    ) async -> Result<PulseResponse, PulseError> {
        let attempt = PluginChain(links, index: index + 1, context: context, completesItself: false)
        return await loop.goOn(after: result, failure, departed: departed, request, for: context, next: attempt)
    }

    /// Returns the rest of the chain for work that outlives its call or is shared between calls.
    ///
    /// Each run of it is a call of its own, with its own id and store (typed keys are copied) and no deadline. Whoever
    /// runs it owns the task.
    public func detached() -> PluginChain {
        PluginChain(links, index: index, context: context.detached(), completesItself: true)
    }

    /// Returns the rest of the chain for work that those calls wait for; its deadline is the latest of theirs.
    package func detached(for waiting: WaitingCalls) -> PluginChain {
        PluginChain(links, index: index, context: context.detached(for: waiting), completesItself: true)
    }

    /// Runs what ``detached(for:)`` returns once, for callers that need no more, at half its cost.
    package func detachedResult(
        _ request: URLRequest, for waiting: WaitingCalls
    ) async -> Result<PulseResponse, PulseError> {
        await completedResult(request, nil, for: waiting)
    }

    /// Sends another request than the call's own, ready but for the default header fields, through the rest of the
    /// chain, in a call of its own. Its bytes are in its `httpBody`.
    ///
    /// Its answer is buffered, since the call's stream or file is not meant for it, and its redirects are not followed.
    package func send(ready request: URLRequest, limit: Int) async throws -> PulseResponse {
        let (request, context) = try self.context.making(request, limit: limit)
        return try await completedResult(request, in: context).get()
    }

    /// Runs a detached chain: each run is a call of its own, which ends with it.
    private func completedResult(
        _ request: URLRequest, _ context: PluginContext?, for waiting: WaitingCalls?
    ) async -> Result<PulseResponse, PulseError> {
        let context = (context ?? self.context).moved(to: self.context.call.detached(for: waiting))
        return await completedResult(request, in: context)
    }

    /// Runs the rest of the chain and ends the context's call with it.
    private func completedResult(
        _ request: URLRequest, in context: PluginContext
    ) async -> Result<PulseResponse, PulseError> {
        let chain = PluginChain(links, index: index, context: context, completesItself: false)
        let result = await chain.result(request)
        if let stream = (try? result.get())?.bytes {
            stream.onEnd { [links] _ in
                Task { await Self.complete(context.call, links) }
            }
        } else {
            await Self.complete(context.call, links)
        }
        return result
    }

    /// Runs `didComplete` of the plugins that the call entered, the last one first.
    package static func complete(_ call: Call, _ links: Links) async {
        for (index, context) in call.takeEntered().reversed() {
            await links.plugins[index].didComplete(context)
        }
    }
}

extension PluginChain {
    /// Sends the request that comes out of the chain; the plugins are those whose `willSend` sees it.
    package typealias Wire = @Sendable (URLRequest, PluginContext, [any PulsePlugin]) async throws -> PulseResponse

    /// The plugins of a call in their order, with the wire at the end.
    package final class Links: Sendable {
        package let plugins: [any PulsePlugin]
        package let wire: Wire
        /// The plugins that see what goes to the wire.
        package let observers: [any PulsePlugin]
        /// The configuration's loop, unless a plugin stands in its place.
        let ownLoop: RetryLoop?
        /// The index of the retry loop, whichever it is.
        let loopIndex: Int
        /// The index after the last plugin that the endpoint brought; 0 if it brought none.
        let endOfEndpointPlugins: Int
        /// Which plugins are told that the call is complete: none if nobody completes the calls, since the call would
        /// keep what it notes for them. The wire, the last element, is not.
        let isCompleted: [Bool]
        /// Whether there are plugins besides the configuration's loop.
        package var hasPlugins: Bool { plugins.count > 1 || ownLoop == nil }
        /// Whether everything that waits in this chain ends with its call, so that the call needs no task of its own.
        package let endsWithItsCall: Bool

        /// Creates the links, sorted by scope: an endpoint's plugins before the client's, and among those the caller's
        /// order.
        ///
        /// Exactly one retry loop stands between the `.call` and the `.attempt` plugins: that of `retry` if there is
        /// one, else the last `.retry` plugin of the endpoint, else that of the client, else the configuration's
        /// policy.
        package init(
            client: [any PulsePlugin], endpoint: [any PulsePlugin] = [], retry: RetryPolicy?,
            configured policy: RetryPolicy, completes: Bool = true, wireEndsWithItsCall: Bool = false,
            wire: @escaping Wire
        ) {
            let all = endpoint + client
            let outer = all.filter { $0.scope == .call }
            let inner = all.filter { $0.scope == .attempt }
            loopIndex = outer.count
            let own = endpoint.count { $0.scope == .attempt }
            let bringsLoop = retry == nil && endpoint.contains { $0.scope == .retry }
            endOfEndpointPlugins =
                own > 0
                ? loopIndex + 1 + own : bringsLoop ? loopIndex + 1 : endpoint.count { $0.scope == .call }
            let plugin = endpoint.last { $0.scope == .retry } ?? client.last { $0.scope == .retry }
            if retry == nil, let plugin {
                plugins = outer + [plugin] + inner
                ownLoop = nil
            } else {
                let loop = RetryLoop(retry ?? policy)
                plugins = outer + [loop] + inner
                ownLoop = loop
            }
            let hooks = plugins.map { PluginHooks(of: $0) }
            observers = zip(plugins, hooks).filter { $1.contains(.willSend) }.map { plugin, _ in plugin }
            isCompleted = hooks.map { completes && $0.contains(.didComplete) } + [false]
            self.wire = wire
            endsWithItsCall =
                wireEndsWithItsCall
                && plugins.allSatisfy { ($0 as? any EndsWithItsCall)?.endsWithItsCall == true }
        }
    }
}
