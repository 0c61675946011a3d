// SPDX-License-Identifier: MIT
//! A client without a wire: a closure or stubs provide responses, and sent requests are recorded.

// snippet.import
import PulseKit
import PulseTesting

// snippet.end

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

struct GetUser: Endpoint {
    typealias Response = User

    let id: Int
    var path: PathText { "/users/\(id)" }
}

// snippet.configuration
let configuration = PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
    .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .immediate))
// snippet.end

// snippet.closure
let transport = MockTransport { request in
    PulseResponse(statusCode: 200, data: Data(#"{"id": 7, "name": "Ada"}"#.utf8), request: request)
}
let client = PulseClient(configuration: configuration, transport: transport)

let user = try await client.request(GetUser(id: 7))
let sent = transport.requests.map { $0.url?.path ?? "" }  // ["/users/7"]
// snippet.end
print(user.name, sent)

// snippet.stubs
let users = Stub(.get, "/users/{id}")
    .header("Accept", "application/json")
    .reply(.status(503), .json(User(id: 7, name: "Ada")))  // the first time, then always
let adding = Stub(.post, "/users")
    .body(json: ["id": 8, "name": "Grace"])
    .reply(.json(User(id: 8, name: "Grace"), status: 201))
let offline = Stub(.get, "/offline").reply(.failure(PulseError.noConnection))

let stubbed = PulseClient(
    configuration: configuration, transport: MockTransport(stubs: [users, adding, offline]))
// snippet.end
let retried = try await stubbed.request(GetUser(id: 7))
let made: User = try await stubbed.post("/users", body: User(id: 8, name: "Grace"))
print(retried.name, users.count, made.name, await stubbed.result(of: Request<String>(.get, "/offline")))

// snippet.unmatched
let unmatched = await stubbed.result(of: Request<User>(.delete, "/users/7"))
// .failure: no stub for DELETE https://api.example.com/users/7, and the reason of each stub
// snippet.end
print(unmatched)
await client.shutdown()
await stubbed.shutdown()
