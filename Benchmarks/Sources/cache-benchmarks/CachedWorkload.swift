// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// The cached response of every measurement: 100 KB under the headers of an ordinary API.
enum CachedWorkload {
    static let address = "https://api.example.com/images/42?size=large"
    static let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })

    static func headers(_ control: String) -> HTTPHeaders {
        [
            "Content-Type": "image/png", "Content-Length": "100000", "Cache-Control": control, "ETag": "\"5f2a-6c\"",
            "Last-Modified": "Mon, 01 Dec 2025 10:00:00 GMT", "Vary": "Accept-Encoding", "Server": "nginx",
        ]
    }

    static var response: CachedResponse {
        CachedResponse(head: head, body: CachedResponse.Body(body))
    }

    static var small: CachedResponse {
        CachedResponse(head: head, body: CachedResponse.Body(Data(body.prefix(1_000))))
    }

    static func key(_ number: Int) -> CacheKey {
        CacheKey(partition: "account:ada", url: "https://api.example.com/items/\(number)")
    }

    private static var head: CachedResponse.Head {
        CachedResponse.Head(statusCode: 200, headers: headers("max-age=600"), requestTime: Date(), responseTime: Date())
    }

    static func client(plugins: [any PulsePlugin] = [], control: String = "max-age=86400") throws -> PulseClient {
        guard let url = URL(string: address) else { throw URLError(.badURL) }
        let response = PulseResponse(
            statusCode: 200, headers: headers(control), data: body, request: URLRequest(url: url))
        return PulseClient(
            configuration: PulseConfiguration(baseURL: url.deletingLastPathComponent())
                .with(\.defaultHeaders, value: ["Authorization": "Bearer 0123456789abcdef0123456789abcdef"]),
            plugins: plugins,
            transport: MockTransport(recordsRequests: false) { request in
                var response = response
                response.request = request
                return response
            },
            events: PulseEventBus())
    }

    static func call(_ client: PulseClient) async throws -> Int {
        try await client.rawRequest(Request<Data>(.get, "/images/42")).data.count
    }
}

/// The simplest implementation.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private let state: Value

    init(_ state: Value) {
        self.state = state
    }

    func value<Key, Element>(for key: Key) -> Element? where Value == [Key: Element] {
        lock.withLock { state[key] }
    }
}

/// Consumes a result, so that the optimizer cannot remove the work for it.
@inline(never)
func keep<Value>(_ value: Value) {}
