// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins

// 1. Define: the request and the type of its response.
struct GetUser: Endpoint {
    struct Response: Decodable, Sendable {
        let id: Int
        let name: String
    }

    let id: Int
    var path: PathText { "/users/\(id)" }
}

// 2. Create: one client per server, with the settings of all its calls.
func makeClient(for server: URL) -> PulseClient {
    PulseClient(
        configuration: PulseConfiguration(baseURL: server).with(\.timeout, value: 20),
        plugins: [.headers(["X-App-Version": "1.2"]), .retry(maxAttempts: 3)])
}

// 3. Request: a typed value, or a PulseError.
func showUser(_ id: Int, of client: PulseClient) async throws {
    let user = try await client.request(GetUser(id: id))
    print(user.name)
}
