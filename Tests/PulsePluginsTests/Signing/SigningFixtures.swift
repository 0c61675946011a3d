// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting

extension PulsePlugin {
    /// The request after this plugin.
    func sent(_ request: URLRequest, in context: PluginContext? = nil) async throws -> URLRequest {
        try await run(request, in: context) { PulseResponse(statusCode: 200, request: $0) }.request
    }
}

extension SignatureVerifier {
    func verdict(on request: RecordedRequest) -> Verdict {
        verdict(method: request.method, target: request.target, headers: request.headers, body: request.body)
    }
}

extension URLRequest {
    subscript(name: String) -> String? { value(forHTTPHeaderField: name) }
}
