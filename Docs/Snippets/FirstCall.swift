// SPDX-License-Identifier: MIT
//! The shortest program: one client, one call, one value.

import PulseKit
import PulseTesting

struct User: Decodable, Sendable {
    let id: Int
    let name: String
}

let server = try await MockServer.start()
server.on(.get, "/users/7") { _ in .text(#"{"id": 7, "name": "Ada"}"#) }
let url = server.baseURL

// snippet.call
let client = PulseClient(baseURL: url)
let user: User = try await client.get("/users/7")
print(user.name)  // Ada
// snippet.end

await client.shutdown()
await server.shutdown()
