// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// Numbers the requests of a call, retries included.
struct NumberPlugin: PulsePlugin {
    let identifier = "com.example.number"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        request.setValue("\(context.wireAttempt)", forHTTPHeaderField: "X-Request-Number")
    }
}

let server = try await MockServer.start()
server.on(.get, "/ping") { request in
    request.headers["X-Request-Number"] == "1" ? .status(503, headers: ["Retry-After": "0"]) : .text("pong")
}
let client = PulseClient(baseURL: server.baseURL, plugins: [.retry(maxAttempts: 3), NumberPlugin()])

let text: String = try await client.get("/ping")
print(text, "after requests", server.requests.compactMap { $0.headers["X-Request-Number"] })
await client.shutdown()
await server.shutdown()
