// SPDX-License-Identifier: MIT
//! Code of URLSession, Alamofire, Moya and Starscream in PulseKit.

import PulseKit
import PulseTesting

struct User: Codable, Sendable {
    let id: Int
    let name: String
}

let server = try await MockServer.start()
server.on(.get, "/users/{id}") { request in
    guard request.headers["Authorization"] == "Bearer new" else { return .status(401) }
    return try .json(User(id: 7, name: "Ada"))
}
server.on(.get, "/public/users/{id}") { _ in try .json(User(id: 7, name: "Ada")) }
server.on(.post, "/refresh") { _ in .text("new") }
server.on(.get, "/products/{id}") { _ in .text(#"{"name": "tea"}"#) }
server.on(.post, "/orders") { _ in .status(201) }
server.onSocket("/prices") { socket in
    _ = try await socket.receive()
    try await socket.send(.text("tea: 240"))
}
let base = server.baseURL

// snippet.session
let client = PulseClient(configuration: PulseConfiguration(baseURL: base))

func user(_ id: Int) async throws -> User {
    try await client.request(Request<User>(.get, "/public/users/{id}", path: ["id": id]))
}
// snippet.end
print(try await user(7).name)

// snippet.interceptor
actor Tokens: TokenProvider {
    private var token: String?
    private let identity: PulseClient

    init(_ token: String?, identity: PulseClient) {
        self.token = token
        self.identity = identity
    }

    func accessToken() -> String? { token }

    func refreshToken() async throws -> String {
        let new: String = try await identity.post("/refresh")
        token = new
        return new
    }

    func handleAuthenticationFailure() { token = nil }
}

let authenticated = PulseClient(
    configuration: PulseConfiguration(baseURL: base), plugins: [.auth(Tokens("old", identity: client))])
let ada: User = try await authenticated.get("/users/7")
// snippet.end
print(ada.name)

// snippet.target
enum Shop {
    struct Product: Decodable, Sendable {
        let name: String
    }

    struct GetProduct: Endpoint {
        typealias Response = Product

        let id: Int
        var path: String { get throws { try String(path: "/products/\(id)") } }
    }

    struct PlaceOrder: Endpoint {
        typealias Response = EmptyResponse

        let product: Int
        let path = "/orders"
        let method = HTTPMethod.post
        var body: RequestBody { .json(["product": product]) }
    }
}

let product = try await client.request(Shop.GetProduct(id: 7))
_ = try await client.request(Shop.PlaceOrder(product: 7))
// snippet.end
print(product.name)

// snippet.socket
struct Prices: SocketEndpoint {
    let path = "/prices"  // a wss URL works as well
}

let prices = PulseSocket(endpoint: Prices(), client: authenticated) { greeting in
    try await greeting.send(.text("subscribe tea"))  // on each connection
}
try await prices.connect()
for await message in prices.messages {
    if case .text(let text) = message { print(text) }
}
// snippet.end

await authenticated.shutdown()
await client.shutdown()
await server.shutdown()
