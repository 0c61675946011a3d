// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import SwiftProtobuf

let protobuf = "application/x-protobuf"
let server = try await MockServer.start()
server.on(.put, "/products/{id}") { request in
    let product = try Shop_Product(serializedBytes: request.body)
    return .data(try product.serializedData(), contentType: request.headers["Content-Type"])
}
server.on(.get, "/products/{id}") { [unowned server] request in
    let saved = server.requests.last { $0.method == .put && $0.path == request.path }
    return saved.map { .data($0.body, contentType: request.headers["Accept"]) } ?? .status(404)
}
server.on(.post, "/orders") { request in
    let order = try Shop_Order(serializedBytes: request.body)
    let receipt = Shop_Receipt.with { $0.number = 7 * Int64(order.count) }
    return .data(try receipt.serializedData(), contentType: "application/protobuf; messageType=\"shop.Receipt\"")
}
// Text that is also a product with the id "page".
server.on(.get, "/products/page") { _ in .text("\n\u{4}page", headers: ["Content-Type": "text/html"]) }
server.on(.get, "/products/cut") { _ in .data(Data([0x0A, 0x7F, 0x41]), contentType: protobuf) }

let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))

let tea = Shop_Product.with {
    $0.id = "tea/1"
    $0.name = "Aßam ☕"
    $0.price = 1_099
    $0.tags = ["black", "loose"]
    $0.labels = ["origin": "Assam", "harvest": "second flush"]
}
let saved = try await client.request(SaveProduct(parameters: tea))
let read = try await client.protobufRequest(GetProduct(id: "tea/1"))
print("saved", saved == tea, "read", read == tea)

let receipt = try await client.request(PlaceOrder(parameters: .with { ($0.productID, $0.count) = (tea.id, 3) }))
print("receipt", receipt.number)

// A required field is missing: nothing is sent.
let sent = server.requests.count
if case .failure(let error) = await client.result(of: PlaceOrder(parameters: Shop_Order())) {
    print("incomplete", error.kind, "sent", server.requests.count - sent)
}
for id in ["page", "cut", "none"] {
    if case .failure(let error) = await client.result(of: GetProduct(id: id)) {
        print(id, error.kind, error.statusCode ?? 0)
    }
}
for request in server.requests.prefix(3) {
    print(request.method, request.headers["Content-Type"] ?? "no body", request.headers["Accept"] ?? "")
}
await client.shutdown()
await server.shutdown()
