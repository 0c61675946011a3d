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

/// Records the emitted warnings.
final class WarningLog: EventSink {
    private let log = Locked<[String]>([])

    var isActive: Bool { true }
    var warnings: [String] { log.withLock { $0 } }

    func emit(_ event: NetworkEvent) {
        if case .warning(let text) = event { log.withLock { $0.append(text) } }
    }
}
