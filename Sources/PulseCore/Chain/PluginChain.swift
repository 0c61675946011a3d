// SPDX-License-Identifier: MIT

/// The rest of the chain: the plugins inside the plugin that holds it, and the wire.
///
/// A plugin calls it once to continue, several times to resend the request, or not at all to respond itself. Every
/// outcome is a response or a ``PulseError``. Once the call is complete, the chain throws ``PulseError/cancelled``:
/// work that outlives the call needs ``detached()``.
public struct PluginChain: Sendable {
    /// Sends the request at the end of the chain. The plugins are those whose `willSend` sees the request.
    package typealias Wire = @Sendable (URLRequest, PluginContext, [any PulsePlugin]) async throws -> PulseResponse

    private let pipeline: PluginPipeline
    private let index: Int
    private let context: PluginContext

    package init(_ pipeline: PluginPipeline, context: PluginContext) {
        self.init(pipeline, index: 0, context: context)
    }

    private init(_ pipeline: PluginPipeline, index: Int, context: PluginContext) {
        self.pipeline = pipeline
        self.index = index
        self.context = context
    }

    /// Whether the rest of the chain differs between endpoints, because it contains plugins of the endpoint.
    package var holdsPluginsOfTheEndpoint: Bool {
        index < pipeline.endOfEndpointPlugins
    }

    /// Runs the rest of the chain with the context that the plugin received. Throws only ``PulseError``.
    public func callAsFunction(_ request: URLRequest) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// Runs the rest of the chain with another context, for another attempt or another body. Throws only
    /// ``PulseError``.
    public func callAsFunction(_ request: URLRequest, context: PluginContext) async throws -> PulseResponse {
        try await result(request, context: context).get()
    }

    /// Runs the rest of the chain and returns the outcome as a value. If `context` is nil, the chain uses the context
    /// that the plugin received.
    public func result(
        _ request: URLRequest, context: PluginContext? = nil
    ) async -> Result<PulseResponse, PulseError> {
        // A plugin of a detached chain may pass a context of the call that the chain was detached from.
        let context = context?.rebased(onto: self.context.call) ?? self.context
        let call = context.call
        let isWire = index == pipeline.plugins.count
        do {
            if pipeline.isCompleted[index] {
                guard call.enter(index, with: context) else { throw PulseError.cancelled }
            } else if call.isComplete {
                throw PulseError.cancelled
            }
            let response: PulseResponse
            if isWire {
                response = try await pipeline.wire(request, context, pipeline.observers)
            } else {
                let rest = PluginChain(pipeline, index: index + 1, context: context)
                response = try await pipeline.plugins[index].intercept(request, for: context, next: rest)
            }
            return .success(call.marks == nil ? response : call.marking(response))
        } catch {
            return .failure(call.failure(error, of: request, isOfWire: isWire))
        }
    }

    /// Runs the chain as the work of its call. Calls that its plugins make for it start even while the client closes.
    package func run(_ request: URLRequest) async -> Result<PulseResponse, PulseError> {
        await CurrentWork.run(context.call) { await result(request) }
    }

    // MARK: Other calls

    /// Returns the rest of the chain for work that outlives its call or is shared between calls. The code that runs it
    /// owns the task.
    public func detached() -> Detached {
        detached(for: nil)
    }

    /// Returns the rest of the chain for work that calls wait for. Its deadline is the latest of their deadlines.
    package func detached(for waiting: CallGroup?) -> Detached {
        Detached(self, context: context.detached(for: waiting))
    }

    /// Sends a plugin's own request through the rest of the chain, as a separate call. The request is complete except
    /// for the default header fields. Its body is in its `httpBody`.
    ///
    /// The response is buffered, since the call's stream or file is not meant for it. Redirects are not followed.
    package func send(ready request: URLRequest, limit: Int) async throws -> PulseResponse {
        let (request, context) = try self.context.auxiliaryRequest(request, limit: limit)
        return try await rebased(onto: context).completingResult(request).get()
    }

    /// The same rest of the chain for another call.
    func rebased(onto context: PluginContext) -> PluginChain {
        PluginChain(pipeline, index: index, context: context)
    }

    /// Runs the rest of the chain and then completes the context's call. A streamed call completes when its stream
    /// ends.
    func completingResult(_ request: URLRequest) async -> Result<PulseResponse, PulseError> {
        let result = await run(request)
        let (call, pipeline) = (context.call, pipeline)
        if let stream = (try? result.get())?.bytes {
            stream.onEnd { _ in Task { await Self.complete(call, pipeline) } }
        } else {
            await Self.complete(call, pipeline)
        }
        return result
    }

    /// Runs `didComplete` of the plugins that the call entered, in reverse order.
    package static func complete(_ call: Call, _ pipeline: PluginPipeline) async {
        for (index, context) in call.takeEntered().reversed() {
            await pipeline.plugins[index].didComplete(context)
        }
    }
}

// Not inlined: their variables would enlarge the frame of each plugin beyond the slab of its task. The row "ten plugins
// that do nothing" in Docs/Benchmarks.md shows it.
extension Call {
    /// Adds the call's marks to a response. A response of a transport or of a plugin has none; a response of another
    /// client has its own.
    @inline(never)
    fileprivate func marking(_ response: consuming PulseResponse) -> PulseResponse {
        if let marks, response.marks !== marks { response.marks = marks.filling(response.marks) }
        return response
    }

    /// - Parameter isOfWire: whether the wire threw the error. Only there does the phase show whether the request was
    ///   sent.
    @inline(never)
    fileprivate func failure(_ error: any Error, of request: URLRequest, isOfWire: Bool) -> PulseError {
        let failure = PulseError(wrapping: error, request: request, maskedBy: environment.redaction)
        if isOfWire, failure.phase == .beforeSend { record(.unsent) }
        return failure
    }
}
