// SPDX-License-Identifier: MIT

extension PluginChain {
    /// The rest of the chain for work that outlives its call or is shared between calls: ``PluginChain/detached()``.
    ///
    /// Each run is a separate call, with its own id and no deadline. Its store starts with the typed values that the
    /// original call had when the chain was detached. The plugins of a run complete when it ends.
    public struct Detached: Sendable {
        private let chain: PluginChain
        /// A context of the call that every run is derived from.
        private let context: PluginContext

        init(_ chain: PluginChain, context: PluginContext) {
            self.chain = chain
            self.context = context
        }

        /// Runs the rest of the chain as a separate call. Throws only ``PulseError``.
        public func callAsFunction(_ request: URLRequest) async throws -> PulseResponse {
            try await result(request).get()
        }

        /// Runs the rest of the chain as a separate call, with the attempt and the body of `context`. Throws only
        /// ``PulseError``.
        public func callAsFunction(_ request: URLRequest, context: PluginContext) async throws -> PulseResponse {
            try await result(request, context: context).get()
        }

        /// Runs the rest of the chain as a separate call and returns the outcome as a value.
        ///
        /// - Parameter context: the source of the attempt and the body; nil for those of the detached chain.
        public func result(
            _ request: URLRequest, context: PluginContext? = nil
        ) async -> Result<PulseResponse, PulseError> {
            let call = self.context.call
            let run = (context ?? self.context).rebased(onto: call.detached(for: call.waiting))
            return await chain.rebased(onto: run).completingResult(request)
        }
    }
}
