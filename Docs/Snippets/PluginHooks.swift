// SPDX-License-Identifier: MIT
//! A plugin of hooks: prepare, willSend, didReceive, didComplete, and the state of a call.

import PulseKit
import PulseTesting

// snippet.hooks
struct RequestIDPlugin: PulsePlugin {
    let identifier = "com.example.request-id"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        request.setValue("\(context.id)-\(context.wireAttempt)", forHTTPHeaderField: "X-Request-ID")
    }
}
// snippet.end

// snippet.outcome
struct MaintenancePlugin: PulsePlugin {
    struct Maintenance: Error {}

    let identifier = "com.example.maintenance"
    let scope = PluginScope.call

    func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError>? {
        guard case .success(let response) = result, response.statusCode == 503,
            response.headers["X-Maintenance"] != nil
        else { return nil }
        throw Maintenance()
    }
}
// snippet.end

// snippet.store
struct TimingPlugin: PulsePlugin {
    private enum SentAt: PluginContext.Key {
        typealias Value = TimeInterval
    }

    let identifier = "com.example.timing"
    let report: @Sendable (String) -> Void

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        context.store[SentAt.self] = context.clock.uptime
    }

    func didComplete(_ context: PluginContext) async {
        guard let sentAt = context.store[SentAt.self] else { return report("\(context.route): never sent") }
        report("\(context.route): \(context.clock.uptime - sentAt) s after it was sent")
    }
}
// snippet.end

let server = try await MockServer.start()

// snippet.use
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL),
    plugins: [MaintenancePlugin(), RequestIDPlugin(), TimingPlugin { print($0) }])
// snippet.end
server.on(.get, "/open") { _ in .text("come in") }
server.on(.get, "/closed") { _ in .status(503, headers: ["X-Maintenance": "1"]) }

print(try await client.request(Request<String>(.get, "/open")))
print(server.requests[0].headers["X-Request-ID"] != nil)
let once = RequestOptions().with(\.retry, value: .never)
do {
    let _: String = try await client.get("/closed", options: once)
} catch PulseError.custom(let error as MaintenancePlugin.Maintenance) {
    print(error)
}
await client.shutdown()
await server.shutdown()
