// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting

struct User: Codable, Sendable, Equatable {
    var id = 1
    var name = "Ada"

    /// Created on each use: the leak checker reports the bytes of a constant, because Foundation tags the pointer.
    static var json: Data { Data(#"{"id":1,"name":"Ada"}"#.utf8) }
}

struct GetUser: Endpoint {
    typealias Response = User

    var path = "/users/1"
    var method = HTTPMethod.get
    var headers: [String: String] = [:]
    var body = RequestBody.none
    var options = RequestOptions()
    var timeoutInterval: TimeInterval = 0
    var plugins: [any PulsePlugin] = []
    var isQueueableWhenOffline = false
}

extension PulseConfiguration {
    /// A home to which no test ever connects.
    static func test(_ base: String = "https://api.example.com/v1") -> PulseConfiguration {
        PulseConfiguration().with(\.baseURL, value: URL(string: base)).with(\.retryPolicy, value: .none)
    }
}

extension PulseClient {
    /// A client over a mock that responds to every request with the user.
    static func responding(
        _ configuration: PulseConfiguration = .test(), plugins: [any PulsePlugin] = [], status: Int = 200,
        headers: HTTPHeaders = [:], data: Data = User.json, events: PulseEventBus = PulseEventBus()
    ) -> (client: PulseClient, transport: MockTransport) {
        let transport = MockTransport { request in
            PulseResponse(statusCode: status, headers: headers, data: data, request: request)
        }
        let client = PulseClient(
            configuration: configuration, plugins: plugins, transport: transport, events: events)
        return (client, transport)
    }
}

/// Collects the events of a bus.
final class RecordingSink: EventSink {
    private let recorded = Locked<[NetworkEvent]>([])

    var isActive: Bool { true }
    var events: [NetworkEvent] { recorded.withLock { $0 } }

    func emit(_ event: NetworkEvent) {
        recorded.withLock { $0.append(event) }
    }

    /// The texts of the warnings, in order.
    var warnings: [String] {
        events.compactMap { event in
            if case .warning(let text) = event { text } else { nil }
        }
    }

    /// The events' names, in order.
    var names: [String] {
        events.map { String(describing: Mirror(reflecting: $0).children.first?.label ?? "") }
    }
}

/// Records the order in which its hooks run.
struct TracingPlugin: PulsePlugin {
    let identifier: String
    var scope = PluginScope.attempt
    let log: Log

    final class Log: Sendable {
        private let lines = Locked<[String]>([])

        func add(_ line: String) {
            lines.withLock { $0.append(line) }
        }

        var all: [String] { lines.withLock { $0 } }
    }

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        log.add("\(identifier) prepare")
    }

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        log.add("\(identifier) willSend")
    }

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        log.add("\(identifier) didReceive")
        return nil
    }

    func didComplete(_ context: PluginContext) async {
        log.add("\(identifier) didComplete")
    }
}

/// Runs a step with a request, or responds in its place.
struct ClosurePlugin: PulsePlugin {
    var identifier = "closure"
    var scope = PluginScope.attempt
    let body: @Sendable (URLRequest, PluginContext, PluginChain) async throws -> PulseResponse

    func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        try await body(request, context, next)
    }
}

/// A listener that collects the progress of a call.
final class Heard: Sendable {
    private let all = Locked<[TransferProgress]>([])

    var reports: [TransferProgress] { all.withLock { $0 } }
    var completed: [Int64] { reports.map(\.completed) }

    var take: @Sendable (TransferProgress) -> Void {
        { [all] progress in all.withLock { $0.append(progress) } }
    }
}

/// Tokens `t1`, and `t2` after a refresh.
struct Tokens: TokenProvider {
    private let token = Locked("t1")

    func accessToken() async -> String? { token.withLock { $0 } }

    func refreshToken() async throws -> String {
        token.withLock { token in
            token = "t2"
            return token
        }
    }

    func handleAuthenticationFailure() async {}
}
