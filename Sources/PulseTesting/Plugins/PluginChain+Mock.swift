// SPDX-License-Identifier: MIT

import PulseCore

extension PluginChain {
    /// A chain of these plugins around a closure that stands in for the transport: the `next` of a plugin's
    /// `intercept`, or a whole chain to call.
    ///
    /// The plugins are ordered by scope as in a client. There is no retry loop except a plugin of scope `.retry`.
    /// Before the closure runs, each plugin's `willSend` sees the request. No plugin's `didComplete` runs: see
    /// ``PulsePlugin/run(_:in:responding:)`` for that.
    ///
    /// - Parameter context: the context of the plugins and of `next(request)`.
    public static func mock(
        _ plugins: [any PulsePlugin] = [], context: PluginContext = .mock(),
        responding respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) -> PluginChain {
        PluginChain(PluginPipeline(mocking: plugins, completes: false, respond), context: context)
    }
}

extension PulsePlugin {
    /// Runs one request through this plugin alone, like a client: its hooks or `intercept`, `willSend`, and finally
    /// `didComplete`, for a streamed response after the stream has ended.
    ///
    /// - Parameter request: the request as the outer plugins pass it on.
    /// - Parameter context: made for the request by default. For one run only, because a call ends once.
    /// - Parameter respond: stands in for the inner plugins and the transport.
    ///
    /// Throws ``PulseError``.
    public func run(
        _ request: URLRequest = .mock(), in context: PluginContext? = nil,
        responding respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) async throws -> PulseResponse {
        let context = context ?? .mock(for: request)
        let pipeline = PluginPipeline(mocking: [self], completes: true, respond)
        let result = await PluginChain(pipeline, context: context).result(request)
        guard let stream = (try? result.get())?.bytes else {
            await PluginChain.complete(context.call, pipeline)
            return try result.get()
        }
        stream.onEnd { _ in
            Task { await PluginChain.complete(context.call, pipeline) }
        }
        return try result.get()
    }
}

extension PluginPipeline {
    fileprivate convenience init(
        mocking plugins: [any PulsePlugin], completes: Bool,
        _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) {
        self.init(client: plugins, retry: nil, configured: .never, completes: completes) { request, context, plugins in
            let context = context.onWire()
            for plugin in plugins { await plugin.willSend(request, for: context) }
            return try await respond(request)
        }
    }
}
