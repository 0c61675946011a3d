// SPDX-License-Identifier: MIT

import PulseCore

/// Records which of its hooks run, and runs a test's closures in them.
struct ScriptedPlugin: PulsePlugin {
    typealias Outcome = Result<PulseResponse, PulseError>

    let identifier: String
    var scope: PluginScope = .attempt
    let trace: Trace
    var preparing: @Sendable (inout URLRequest, PluginContext) async throws -> Void = { _, _ in }
    var receiving: @Sendable (Outcome, PluginContext) async throws -> Outcome? = { _, _ in nil }
    var completing: @Sendable (PluginContext) async -> Void = { _ in }
    var intercepting: (@Sendable (URLRequest, PluginContext, PluginChain) async throws -> PulseResponse)?

    init(_ identifier: String, _ scope: PluginScope = .attempt, _ trace: Trace = Trace()) {
        self.identifier = identifier
        self.scope = scope
        self.trace = trace
    }

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        trace.note("prepare \(identifier)")
        try await preparing(&request, context)
    }

    func didReceive(_ result: Outcome, for context: PluginContext) async throws -> Outcome? {
        trace.note("receive \(identifier)")
        return try await receiving(result, context)
    }

    func didComplete(_ context: PluginContext) async {
        trace.note("complete \(identifier)")
        await completing(context)
    }

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let intercepting else { return try await runHooks(request, for: context, next: next) }
        trace.note("intercept \(identifier)")
        return try await intercepting(request, context, next)
    }

    /// The plugin with one of its closures set.
    func with<Value>(_ part: WritableKeyPath<ScriptedPlugin, Value>, _ value: Value) -> ScriptedPlugin {
        var copy = self
        copy[keyPath: part] = value
        return copy
    }
}

final class Trace: Sendable {
    private let lines = Locked<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func note(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}
