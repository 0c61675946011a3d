// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// The API of the demo, as an app would describe it.

struct Product: Codable, Sendable, Equatable {
    let id: Int
    let name: String
    let price: Double
}

struct GetProduct: Endpoint {
    typealias Response = Product

    let id: Int

    var path: PathText { "/products/\(id)" }
}

struct AddProduct: Endpoint {
    typealias Response = Product

    let product: Product

    let path = "/products"
    let method = HTTPMethod.post
    var body: RequestBody { .json(product) }
}

struct GetStock: Endpoint {
    struct Response: Decodable, Sendable {
        let available: Int
    }

    let path = "/stock"
}

struct GetReport: Endpoint {
    typealias Response = EmptyResponse

    let path = "/report"
}

struct LeaveWish: Endpoint {
    typealias Response = EmptyResponse

    let wish: String

    let path = "/wishes"
    let method = HTTPMethod.post
    var body: RequestBody { .text(wish) }
    let isQueueableWhenOffline = true
}

extension MockServer {
    static let tea = Product(id: 7, name: "Assam, 100 g", price: 8.5)

    /// Serves the API, with the faults that the demo shows.
    func openShop() {
        on(.get, "/products/{id}") { request in
            guard request.parameters["id"] == "7" else { return .status(404) }
            return try .json(Self.tea)
        }
        on(.post, "/products") { request in
            try .json(try JSONDecoder().decode(Product.self, from: request.body), status: 201)
        }
        on(.get, "/stock", script: [.status(503, headers: ["Retry-After": "0"]), .text(#"{"available": 12}"#)])
        on(.get, "/old-shop/{id}") { request in
            .status(301, headers: ["Location": "/products/\(request.parameters["id"] ?? "")"])
        }
        on(.post, "/wishes") { _ in .status(201) }
        on(.get, "/report") { _ in .raw([.stall]) }
    }
}
