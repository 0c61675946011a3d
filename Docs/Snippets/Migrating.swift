// SPDX-License-Identifier: MIT
//! Code of Moya and Starscream in PulseKit.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/products/{id}") { _ in .text(#"{"name": "tea"}"#) }
server.on(.post, "/orders") { _ in .status(201) }
server.onSocket("/prices") { socket in
    _ = try await socket.receive()
    try await socket.send(.text("tea: 240"))
}
let base = server.baseURL

let client = PulseClient(baseURL: base)
let authenticated = PulseClient(baseURL: base, plugins: [.auth { "new" }])

// snippet.target
enum Shop {
    struct Product: Decodable, Sendable {
        let name: String
    }

    struct GetProduct: Endpoint {
        typealias Response = Product

        let id: Int
        var path: PathText { "/products/\(id)" }
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
try await client.request(Shop.PlaceOrder(product: 7))
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
