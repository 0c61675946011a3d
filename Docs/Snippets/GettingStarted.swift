// SPDX-License-Identifier: MIT
//! Define, create, request; then errors, options, cancellation, events.

// snippet.import
import PulseKit
// snippet.end
import PulseTesting

// snippet.endpoint
struct User: Codable, Sendable {
    let id: Int
    let name: String
}

struct GetUser: Endpoint {
    typealias Response = User

    let id: Int
    var path: PathText { "/users/\(id)" }
}

struct AddUser: Endpoint {
    typealias Response = User

    let user: User

    let path = "/users"
    let method = HTTPMethod.post
    var body: RequestBody { .json(user) }
}
// snippet.end

// A server in this process, so that the lines below can run.
let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    guard request.parameters["id"] == "7" else { return .status(404) }
    return try .json(User(id: 7, name: "Ada"))
}
server.on(.post, "/users") { .data($0.body, contentType: "application/json", status: 201) }
server.on(.delete, "/users/{id}") { _ in .status(204) }
server.on(.get, "/users") { _ in try .json([User(id: 7, name: "Ada")]) }
server.on(.get, "/report", script: [.status(503, headers: ["Retry-After": "0"]), .text("all is well")])
server.on(.get, "/slow") { _ in .raw([.stall]) }
let url = server.baseURL

// snippet.client
let configuration = PulseConfiguration(baseURL: url)
    .with(\.timeout, value: 20)
    .with(\.deadline, value: 60)
    .with(\.defaultHeaders, value: ["X-App-Version": "1.2"])
    .with(\.decoder, value: .json { $0.keyDecodingStrategy = .convertFromSnakeCase })

let client = PulseClient(
    configuration: configuration,
    plugins: [.headers(["Accept-Language": "en"]), .retry(maxAttempts: 3)])
// snippet.end

// snippet.request
let user = try await client.request(GetUser(id: 7))
let added = try await client.request(AddUser(user: User(id: 8, name: "Grace")))
print(user.name, "and", added.name)
// snippet.end

// snippet.small
let users: [User] = try await client.get("/users?page=1")
let made: User = try await client.post("/users", body: User(id: 9, name: "Barbara"))
try await client.delete("/users/9")

let named = try await client.get("/users", query: ["page": 1], as: [User].self)
let one = try await client.get("/users/\(user.id)", as: User.self)

let listed = try await client.request(Request<[User]>(.get, "/users").query("page", 1))
// snippet.end
print(users.count, made.name, named.count, one.name, listed.count)

// snippet.errors
do {
    try await client.request(GetUser(id: 404))
} catch PulseError.unauthorized {
    print("log in again")
} catch PulseError.rateLimited(let retryAfter) {
    print("again in", retryAfter ?? 60, "seconds")
} catch PulseError.http(let response) {
    print("the server said", response.statusCode)
} catch let error as PulseError {
    print(error)
}
// snippet.end

// snippet.result
switch await client.result(of: GetUser(id: 404)) {
case .success(let user): print(user.name)
case .failure(let error): print(error.kind, error.statusCode ?? 0, error.isRetryable)
}
// snippet.end

// snippet.response
let decoded = try await client.response(for: GetUser(id: 7))
print(decoded.value.name, decoded.statusCode, decoded.headers["Content-Type"] ?? "")

let first = try await client.response(for: .get, "/users/7", as: User.self)
print(first.value.name, first.headers["Content-Type"] ?? "")

let raw = try await client.rawRequest(GetUser(id: 404), options: .init().with(\.acceptedStatuses, value: .any))
print(raw.statusCode)
// snippet.end

// snippet.options
let patient = try await client.request(
    GetUser(id: 7),
    options: .init()
        .with(\.timeout, value: 60)
        .with(\.retry, value: .never)
        .with(\.tag, value: "profile"))
// snippet.end
print(patient.name)

// snippet.events
let events = PulseEventBus.shared.events
let reporter = Task {
    for await event in events {
        switch event {
        case .requestRetrying(let call, let error, let attempt):
            print("\(call.endpointPath): attempt \(attempt) in \(call.retryDelay) s, after \(error)")
        case .requestCompleted(.success(let response), let call, _):
            print("\(call.endpointPath): \(response.statusCode)")
        case .requestCompleted(.failure(let error), let call, _):
            print("\(call.endpointPath): \(error)")
        default: break
        }
    }
}
// snippet.end
let report: String = try await client.get("/report")
print(report)

// snippet.cancel
let call = Task { try await client.rawRequest(Request<String>(.get, "/slow")) }
call.cancel()
print(await call.result)
// snippet.end

// snippet.default
PulseClient.default = client  // once, at start-up

let everywhere: [User] = try await PulseClient.default.get("/users")
// snippet.end
print(everywhere.count)

// snippet.shutdown
await client.shutdown()
// snippet.end
reporter.cancel()
await server.shutdown()
