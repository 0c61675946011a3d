// SPDX-License-Identifier: MIT

import EndpointMacros
import PulseKit
import PulseTesting

struct User: Codable, Sendable {
    let name: String
}

@GET("/users/{id}")
struct GetUser {
    typealias Response = User

    let id: Int
}

@PUT("/teams/{team}/users/{id}")
struct MoveUser {
    typealias Response = EmptyResponse

    let team: String
    let id: Int
    let user: User
    var body: RequestBody { .json(user) }
}

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { _ in try .json(User(name: "Ada")) }
server.on(.put, "/teams/{team}/users/{id}") { _ in .status(204) }
let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))

print(try await client.request(GetUser(id: 42)).name)
try await client.request(MoveUser(team: "a/b", id: 42, user: User(name: "Ada")))
for request in server.requests {
    print(request.method, request.target, request.text)
}
await client.shutdown()
await server.shutdown()
