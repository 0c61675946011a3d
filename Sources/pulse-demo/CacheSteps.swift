// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

extension Stage {
    /// The cache: a response reused, revalidated, and served without a server.
    func showCache(_ bus: PulseEventBus) async throws {
        let server = try await MockServer.start()
        server.on(.get, "/products/{id}") { request in
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-if-error=600", "ETag": "\"1\""]
            guard request.headers["If-None-Match"] == nil else { return .status(304, headers: headers) }
            return try .json(MockServer.tea, headers: headers)
        }
        let clock = TestClock(now: SystemClock().now)
        let cache = CachePlugin(policy: .rfc9111, storage: .memory())
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL).with(\.clock, value: clock)
                .with(\.retryPolicy, value: .none),
            plugins: [cache, recorder], events: bus)
        @Sendable func origin() async throws -> PulseResponse.Origin {
            try await client.response(for: GetProduct(id: 7)).response.origin
        }

        for (title, expected) in [
            ("The cache is empty: the server responds", PulseResponse.Origin.network),
            ("A fresh response comes from the cache", .cache), ("A stale response is revalidated", .revalidated),
        ] {
            if expected == .revalidated { await clock.advance(by: 61) }
            await step(title) {
                let actual = try await origin()
                guard actual == expected else { throw Unexpected(description: "from \(actual)") }
                return "from \(actual), \(server.requests.count) requests so far"
            }
        }
        await server.shutdown()
        await clock.advance(by: 120)
        await step("The server is down: the stale response is served") {
            let actual = try await origin()
            guard actual == .stale else { throw Unexpected(description: "from \(actual)") }
            return "from \(actual)"
        }
        await client.shutdown()
    }
}
