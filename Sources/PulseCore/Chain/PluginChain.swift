// SPDX-License-Identifier: MIT

/// The rest of the chain: everything further in than the plugin that holds it, down to the wire.
///
/// Call it to go on, not at all to answer in its place, or several times to repeat. Every outcome is an answer or a
/// ``PulseError``. Once the call is complete it throws ``PulseError/cancelled``: work that outlives the call needs
/// ``detached()``.
public struct PluginChain: Sendable {
    private let pipeline: PluginPipeline
    private let index: Int
    private let context: PluginContext
    /// Whether each run of this chain is a call of its own, made from the context's call, whose plugins it completes.
    private let completesItself: Bool

    package init(_ pipeline: PluginPipeline, context: PluginContext) {
        self.init(pipeline, index: 0, context: context, completesItself: false)
    }

    private init(_ pipeline: PluginPipeline, index: Int, context: PluginContext, completesItself: Bool) {
        self.pipeline = pipeline
        self.index = index
        self.context = context
        self.completesItself = completesItself
    }

    /// Sends the request that comes out of the chain; the plugins are those whose `willSend` sees it.
    package typealias Wire = @Sendable (URLRequest, PluginContext, [any PulsePlugin]) async throws -> PulseResponse

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
        index < pipeline.endOfEndpointPlugins
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
        var context = context?.rebased(onto: self.context.call) ?? self.context
        // The configuration's loop only has to count the call before the first attempt, and mostly has nothing to do
        // after it: it is stepped over on the way in, and asked only if the attempt failed.
        let loop = index == pipeline.loopIndex ? pipeline.ownLoop : nil
        let next = loop == nil ? index : index + 1
        let departed = loop == nil ? 0 : RetryLoop.countCall(in: context)
        if let loop { context.isResentIfStale = loop.resends }
        let result: Result<PulseResponse, PulseError>
        do {
            if pipeline.isCompleted[next] {
                guard context.call.enter(next, with: context) else { throw PulseError.cancelled }
            } else if context.call.isComplete {
                throw PulseError.cancelled
            }
            if next < pipeline.plugins.count {
                let rest = PluginChain(pipeline, index: next + 1, context: context, completesItself: false)
                result = .success(try await pipeline.plugins[next].intercept(request, for: context, next: rest))
            } else {
                result = .success(try await pipeline.wire(request, context, pipeline.observers))
            }
        } catch {
            let failure = PulseError(wrapping: error, request: request)
            if next == pipeline.plugins.count, failure.phase == .beforeSend { context.call.noteUnsent() }
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
        let attempt = PluginChain(pipeline, index: index + 1, context: context, completesItself: false)
        return await loop.retry(after: result, failure, departed: departed, request, for: context, next: attempt)
    }

    /// Returns the rest of the chain for work that outlives its call or is shared between calls.
    ///
    /// Each run of it is a call of its own, with its own id and store (typed keys are copied) and no deadline. Whoever
    /// runs it owns the task.
    public func detached() -> PluginChain {
        PluginChain(pipeline, index: index, context: context.detached(), completesItself: true)
    }

    /// Returns the rest of the chain for work that those calls wait for; its deadline is the latest of theirs.
    package func detached(for waiting: CallGroup) -> PluginChain {
        PluginChain(pipeline, index: index, context: context.detached(for: waiting), completesItself: true)
    }

    /// Runs what ``detached(for:)`` returns once, for callers that need no more, at half its cost.
    package func detachedResult(
        _ request: URLRequest, for waiting: CallGroup
    ) async -> Result<PulseResponse, PulseError> {
        await completedResult(request, nil, for: waiting)
    }

    /// Sends another request than the call's own, ready but for the default header fields, through the rest of the
    /// chain, in a call of its own. Its bytes are in its `httpBody`.
    ///
    /// Its answer is buffered, since the call's stream or file is not meant for it, and its redirects are not followed.
    package func send(ready request: URLRequest, limit: Int) async throws -> PulseResponse {
        let (request, context) = try self.context.auxiliaryRequest(request, limit: limit)
        return try await completedResult(request, in: context).get()
    }

    /// Runs a detached chain: each run is a call of its own, which ends with it.
    private func completedResult(
        _ request: URLRequest, _ context: PluginContext?, for waiting: CallGroup?
    ) async -> Result<PulseResponse, PulseError> {
        let context = (context ?? self.context).rebased(onto: self.context.call.detached(for: waiting))
        return await completedResult(request, in: context)
    }

    /// Runs the rest of the chain and ends the context's call with it.
    private func completedResult(
        _ request: URLRequest, in context: PluginContext
    ) async -> Result<PulseResponse, PulseError> {
        let chain = PluginChain(pipeline, index: index, context: context, completesItself: false)
        let result = await chain.result(request)
        if let stream = (try? result.get())?.bytes {
            stream.onEnd { [pipeline] _ in
                Task { await Self.complete(context.call, pipeline) }
            }
        } else {
            await Self.complete(context.call, pipeline)
        }
        return result
    }

    /// Runs `didComplete` of the plugins that the call entered, the last one first.
    package static func complete(_ call: Call, _ pipeline: PluginPipeline) async {
        for (index, context) in call.takeEntered().reversed() {
            await pipeline.plugins[index].didComplete(context)
        }
    }
}
