// SPDX-License-Identifier: MIT
//! The first lines of the documentation: a model, a client, a call.

// snippet.hide
import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/users/7") { _ in .text(#"{"id": 7, "name": "Ada"}"#) }
let url = server.baseURL

// snippet.show
struct User: Decodable, Sendable {
    let id: Int
    let name: String
}
let client = PulseClient(baseURL: url)
let user: User = try await client.get("/users/7")
print(user.name)  // Ada
// snippet.hide

await client.shutdown()
await server.shutdown()
