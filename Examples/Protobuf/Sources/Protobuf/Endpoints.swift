// SPDX-License-Identifier: MIT

import PulseKit

struct GetProduct: ProtobufEndpoint {
    typealias Response = Shop_Product

    let id: String
    var path: PathText { "/products/\(id)" }
}

struct SaveProduct: ProtobufEndpoint {
    typealias Response = Shop_Product

    let parameters: Shop_Product
    let method = HTTPMethod.put
    var path: PathText { "/products/\(parameters.id)" }
}

struct PlaceOrder: ProtobufEndpoint {
    typealias Response = Shop_Receipt

    let parameters: Shop_Order
    let path = "/orders"
}
