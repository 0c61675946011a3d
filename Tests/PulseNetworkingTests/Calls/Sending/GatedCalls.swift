// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import TestSupport
import Testing

/// Calls whose responses, and whose completion by the plugins, wait for the test. A call is known by its path.
final class GatedCalls: Transport, PulsePlugin, EventSink {
    struct Observed: Sendable {
        var isSent = false
        var completions = 0
        /// The texts of the `requestCompleted` events.
        var ends: [String] = []
    }

    private struct State {
        var observed: [String: Observed] = [:]
        var responses: [String: AsyncStream<Result<PulseResponse.Body, PulseError>>.Continuation] = [:]
        var gates: [String: Gate] = [:]
    }

    private let state = Locked(State())
    private let completesByItself: Bool

    init(completesByItself: Bool = false) {
        self.completesByItself = completesByItself
    }

    let identifier = "gated"
    var scope: PluginScope { .call }
    var capabilities: TransportCapabilities { .simulated }
    var isActive: Bool { true }

    subscript(path: String) -> Observed { state.withLock { $0.observed[path] ?? Observed() } }

    func respond(to path: String, _ body: Result<PulseResponse.Body, PulseError>) {
        state.withLock { $0.responses[path] }?.yield(body)
    }

    func complete(_ path: String) {
        gate(path).open()
    }

    func forget(_ path: String) {
        state.withLock { ($0.observed[path], $0.responses[path], $0.gates[path]) = (nil, nil, nil) }
    }

    private func gate(_ path: String) -> Gate {
        state.withLock { state in
            let gate = state.gates[path] ?? Gate()
            state.gates[path] = gate
            return gate
        }
    }

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        let (responses, continuation) = AsyncStream<Result<PulseResponse.Body, PulseError>>.makeStream()
        state.withLock { state in
            let path = request.urlRequest.url?.lastPathComponent ?? ""
            state.responses[path] = continuation
            state.observed[path, default: Observed()].isSent = true
        }
        for await body in responses {
            var response = PulseResponse(statusCode: 200, request: request.urlRequest)
            response.body = try body.get()
            return response
        }
        throw CancellationError()
    }

    func didComplete(_ context: PluginContext) async {
        state.withLock { $0.observed[context.endpointPath, default: Observed()].completions += 1 }
        guard completesByItself else { return await gate(context.endpointPath).pass() }
        for _ in 0..<10 { await Task.yield() }
    }

    func emit(_ event: NetworkEvent) {
        guard case .requestCompleted(let result, let call, _) = event else { return }
        let text =
            switch result {
            case .success: "success"
            case .failure(let failure): failure.message
            }
        state.withLock { $0.observed[call.endpointPath, default: Observed()].ends.append(text) }
    }

    func shutdown() async {}
}

/// Yields until the condition holds, and records an issue if it never does.
func eventually(
    _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool
) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
    #expect(condition(), comment, sourceLocation: sourceLocation)
}
