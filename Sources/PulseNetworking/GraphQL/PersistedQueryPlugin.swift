// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// Sends the hash of a call's document, and the document if the server asks for it.
///
/// Outermost in the chain, so that each of its requests is authenticated, signed, counted and retried like any other.
struct PersistedQueryPlugin: PulsePlugin {
    /// Whether a client's servers support persisted queries; true until a response says otherwise.
    final class Support: ClientFeature {
        private let isSupported = Locked(true)

        var isThere: Bool { isSupported.withLock { $0 } }

        func end() {
            isSupported.withLock { $0 = false }
        }
    }

    let content: GraphQLContent
    let kind: GraphQLDocument.Kind
    let settings: GraphQLSettings
    let support: Support

    var identifier: String { "com.pulse.persisted-queries" }
    var scope: PluginScope { .call }

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        var machine = PersistedQueryStateMachine(
            settings, kind, isRepeatable: !request.hasIdempotencyKey, isSupported: support.isThere)
        var step = machine.first
        while true {
            let response = try await next(try rewritten(request, step, context))
            let envelope = try? GraphQLEnvelope(response.data)
            let complaint = envelope.flatMap { PersistedQueryStateMachine.Complaint($0.errors) }
            if complaint == .notSupported { support.end() }
            guard let following = machine.next(after: complaint) else { return response }
            response.discard()
            step = following
        }
    }

    private func rewritten(
        _ request: URLRequest, _ step: PersistedQueryStateMachine.Step, _ context: PluginContext
    ) throws -> URLRequest {
        var request = request
        let encoder = context.options.encoder ?? .json
        if try !step.isGET || !request.makeGET(of: content, step.form, using: encoder) {
            request.httpBody = try GraphQLContent.object(content.members(step.form, using: encoder))
        }
        return request
    }
}
