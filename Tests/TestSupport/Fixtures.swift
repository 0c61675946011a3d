// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting

package struct User: Codable, Sendable, Equatable {
    package var id: Int
    package var name: String

    package init(id: Int = 1, name: String = "Ada") {
        (self.id, self.name) = (id, name)
    }

    /// Created on each use: the leak checker reports the bytes of a constant, because Foundation tags the pointer.
    package static var json: Data { Data(#"{"id":1,"name":"Ada"}"#.utf8) }
}

package struct GetUser: Endpoint {
    package typealias Response = User

    package var path: String
    package var method: HTTPMethod
    package var headers: [String: String]
    package var body: RequestBody
    package var options: RequestOptions
    package var timeoutInterval: TimeInterval
    package var plugins: [any PulsePlugin]
    package var isQueueableWhenOffline: Bool

    package init(
        path: String = "/users/1", method: HTTPMethod = .get, headers: [String: String] = [:],
        body: RequestBody = .none, options: RequestOptions = RequestOptions(), timeoutInterval: TimeInterval = 0,
        plugins: [any PulsePlugin] = [], isQueueableWhenOffline: Bool = false
    ) {
        self.path = path
        self.method = method
        self.headers = headers
        self.body = body
        self.options = options
        self.timeoutInterval = timeoutInterval
        self.plugins = plugins
        self.isQueueableWhenOffline = isQueueableWhenOffline
    }
}

extension PulseConfiguration {
    /// A home to which no test ever connects.
    package static func test(_ base: String = "https://api.example.com/v1") -> PulseConfiguration {
        PulseConfiguration().with(\.baseURL, value: URL(string: base)).with(\.retryPolicy, value: .none)
    }

    /// As `test`, but the base URL has no path.
    package static var root: PulseConfiguration { .test("https://api.example.com") }
}

/// Collects the events of a bus, and lets a test wait for one.
package final class RecordingSink: EventSink {
    private struct State {
        var events: [NetworkEvent] = []
        var waiters: [(isWanted: @Sendable (NetworkEvent) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    package init() {}

    package var isActive: Bool { true }
    package var events: [NetworkEvent] { state.withLock { $0.events } }

    package func emit(_ event: NetworkEvent) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.waiters.filter { $0.isWanted(event) }
            state.waiters.removeAll { $0.isWanted(event) }
            return woken
        }
        woken.forEach { $0.continuation.resume() }
    }

    /// Waits until such an event is emitted, unless it was before.
    package func wait(until isWanted: @escaping @Sendable (NetworkEvent) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.events.contains(where: isWanted) { return true }
                state.waiters.append((isWanted, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The texts of the warnings, in order.
    package var warnings: [String] {
        events.compactMap { event in
            if case .warning(let text) = event { text } else { nil }
        }
    }

    /// The events' names, in order.
    package var names: [String] {
        events.map { String(describing: Mirror(reflecting: $0).children.first?.label ?? "") }
    }
}

/// Records the order in which its hooks run.
package struct TracingPlugin: PulsePlugin {
    package let identifier: String
    package var scope: PluginScope
    package let log: Log

    package init(identifier: String, scope: PluginScope = .attempt, log: Log) {
        self.identifier = identifier
        self.scope = scope
        self.log = log
    }

    package final class Log: Sendable {
        private let lines = Locked<[String]>([])

        package init() {}

        package func add(_ line: String) {
            lines.withLock { $0.append(line) }
        }

        package var all: [String] { lines.withLock { $0 } }
    }

    package func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        log.add("\(identifier) prepare")
    }

    package func willSend(_ request: URLRequest, for context: PluginContext) async {
        log.add("\(identifier) willSend")
    }

    package func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        log.add("\(identifier) didReceive")
        return nil
    }

    package func didComplete(_ context: PluginContext) async {
        log.add("\(identifier) didComplete")
    }
}

/// Runs a step with a request, or responds in its place.
package struct ClosurePlugin: PulsePlugin {
    package var identifier: String
    package var scope: PluginScope
    package let body: @Sendable (URLRequest, PluginContext, PluginChain) async throws -> PulseResponse

    package init(
        identifier: String = "closure", scope: PluginScope = .attempt,
        body: @escaping @Sendable (URLRequest, PluginContext, PluginChain) async throws -> PulseResponse
    ) {
        self.identifier = identifier
        self.scope = scope
        self.body = body
    }

    package func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        try await body(request, context, next)
    }
}

/// A listener that collects the progress of a call.
package final class Heard: Sendable {
    private let all = Locked<[TransferProgress]>([])

    package init() {}

    package var reports: [TransferProgress] { all.withLock { $0 } }
    package var completed: [Int64] { reports.map(\.completed) }

    package var take: @Sendable (TransferProgress) -> Void {
        { [all] progress in all.withLock { $0.append(progress) } }
    }
}

/// Tokens `t1`, and `t2` after a refresh.
package struct Tokens: TokenProvider {
    private let token = Locked("t1")

    package init() {}

    package func accessToken() async -> String? { token.withLock { $0 } }

    package func refreshToken() async throws -> String {
        token.withLock { token in
            token = "t2"
            return token
        }
    }

    package func handleAuthenticationFailure() async {}
}
