// SPDX-License-Identifier: MIT
//! Lists that come in pages.

import PulseKit
import PulseTesting

// snippet.endpoint
struct Orders: PaginatedEndpoint {
    struct Response: Codable, Sendable {
        let ids: [Int]
        let next: String?
    }

    var cursor: String?
    let path = "/orders"
    var queryParameters: [String: String] { cursor.map { ["cursor": $0] } ?? [:] }

    func next(after page: DecodedResponse<Response>) -> Orders? {
        page.value.next.map { Orders(cursor: $0) }
    }
    func items(of page: Response) -> [Int] { page.ids }
}
// snippet.end

let transport = MockTransport(stubs: [
    Stub(.get, "/orders").query("cursor", "b").reply(.json(Orders.Response(ids: [3], next: nil))),
    Stub(.get, "/orders").reply(.json(Orders.Response(ids: [1, 2], next: "b"))),
    Stub(.get, "/users").query("page", "2").reply(.text("[3]")),
    Stub(.get, "/users").reply(.text("[1, 2]", headers: ["Link": "</users?page=2>; rel=\"next\""])),
])
let client = PulseClient(baseURL: URL(string: "https://api.example.com")!, transport: transport)

// snippet.pages
for try await page in client.pages(Orders()).prefetching() {
    print(page.value.ids)
}
// snippet.end

// snippet.closure
let byClosure = client.pages(Orders()) { page in
    page.value.next.map { Orders(cursor: $0) }
}
for try await page in byClosure.limited(to: 1) {
    print(page.value.ids)
}
// snippet.end

// snippet.links
for try await page in client.pages(linkedFrom: Request<[Int]>("/users")) {
    print(page.value)
}
// snippet.end

await client.shutdown()
