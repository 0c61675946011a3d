// SPDX-License-Identifier: MIT
//! Rate and concurrency limits: your own, and those that a server sends.

import PulseKit
import PulseTesting

let clock = TestClock(autoAdvances: true)
let server = Stub(.get, "/{path...}").reply(.text("[]"))
let configuration = PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
    .with(\.clock, value: clock)

// snippet.client
let client = PulseClient(
    configuration: configuration,
    plugins: [
        .rateLimit(requests: 10, per: 1),  // per host: ten a second, ten at once after a pause
        .concurrencyLimit(4),  // per host: four at a time
    ],
    transport: MockTransport(stubs: [server]))
// snippet.end

// snippet.keys
let search = RateLimitPlugin(requests: 30, per: 60, burst: 1, by: .route)
let polite = RateLimitPlugin()  // no rate of its own: waits while a server asks for it
let perTenant = ConcurrencyLimitPlugin(
    limit: 2, by: .custom { request, _ in request.value(forHTTPHeaderField: "X-Tenant") })
// snippet.end
print(search.identifier, polite.identifier, perTenant.identifier)

// snippet.errors
do {
    let feed: String = try await client.get("/feed")
    print(feed)
} catch PulseError.rateLimited(let retryAfter) {
    print("not now; in \(retryAfter ?? 0) s")
}
// snippet.end

// snippet.priority
let urgent = RequestOptions().with(\.priority, value: .high)
let balance = try await client.request(Request<String>(.get, "/balance"), options: urgent)
// snippet.end
print(balance)
await client.shutdown()
