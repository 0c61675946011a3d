// SPDX-License-Identifier: MIT
//! The ten commonest calls.

import PulseKit
import PulseTesting

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

struct Receipt: Decodable, Sendable {
    let bytes: Int
}

actor Session: TokenProvider {
    private var token = "old"

    func accessToken() -> String? { token }

    func refreshToken() -> String {
        token = "new"
        return token
    }
}

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
    return request.parameters["id"] == "7" ? .text(#"{"id": 7, "name": "Ada"}"#) : .status(404)
}
server.on(.get, "/users") { _ in .text(#"[{"id": 7, "name": "Ada"}]"#) }
server.on(.post, "/users") { request in .data(request.body, contentType: "application/json", status: 201) }
server.on(.post, "/films") { request in .text(#"{"bytes": \#(request.bodyByteCount)}"#, status: 201) }
server.serve(MockServer.File(Data("a long film".utf8), etag: "\"1\""), at: "/films/1")
let url = server.baseURL
let session = Session()
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let file = folder.appendingPathComponent("film.mp4")

// snippet.token
let client = PulseClient(baseURL: url, plugins: [.auth(session)])
let me: User = try await client.get("/users/7")
// snippet.end
print(me.id)

// snippet.value
let user: User = try await client.get("/users/7")
// snippet.end
print(user.name)  // Ada

let id = "7"
// snippet.path
let found: User = try await client.get("/users/\(id)")
// snippet.end

// snippet.query
let users: [User] = try await client.get("/users", query: ["page": 2])
// snippet.end

// snippet.body
let made: User = try await client.post("/users", body: user)
// snippet.end
print(found.id == made.id, users.count)

// snippet.timeout
let soon: User = try await client.get("/users/7", timeout: 5)
// snippet.end
print(soon.id)

// snippet.error
do {
    let other: User = try await client.get("/users/8")
    print(other.name)
} catch let error as PulseError where error.statusCode == 404 {
    print("no such user")
}
// snippet.end

// snippet.download
try await client.download("/films/1", to: file)
// snippet.end

// snippet.form
let receipt: Receipt = try await client.post("/films", body: .multipart { $0.append(file, name: "film") })
// snippet.end
print(receipt.bytes > 0)

await client.shutdown()
await server.shutdown()
try FileManager.default.removeItem(at: folder)
