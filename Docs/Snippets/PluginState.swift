// SPDX-License-Identifier: MIT
//! A plugin of one endpoint with state across calls.

import PulseKit
import PulseTesting

// snippet.kept
struct Search: Endpoint {
    typealias Response = [String]

    /// One limit for all searches. Inside `plugins` every call would make a new one, with all its tokens.
    private static let limit = RateLimitPlugin(requests: 2, per: 60, maxWait: 5)

    let text: String

    let path = "/search"
    var queryParameters: [String: String] { ["q": text] }
    var plugins: [any PulsePlugin] { [Self.limit] }
}
// snippet.end

struct Forgetful: Endpoint {
    typealias Response = [String]

    let path = "/search"
    var plugins: [any PulsePlugin] { [.rateLimit(requests: 2, per: 60, maxWait: 5)] }
}

let client = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
        .with(\.retryPolicy, value: .none),
    transport: MockTransport(stubs: [Stub(.get, "/search").reply(.json([String]()))]))

for text in ["tea", "milk", "sugar"] {
    print(await client.result(of: Search(text: text)))  // the third: rate limited
}
for _ in 0..<3 {
    print(await client.result(of: Forgetful()))  // no limit at all
}
await client.shutdown()
