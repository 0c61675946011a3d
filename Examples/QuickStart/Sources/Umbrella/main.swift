// SPDX-License-Identifier: MIT

import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    .text(#"{"id": \#(request.parameters["id"] ?? ""), "name": "Ada"}"#)
}
let client = makeClient(for: server.baseURL)
try await showUser(7, of: client)
await client.shutdown()
await server.shutdown()
