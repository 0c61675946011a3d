// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

@Suite("A test as the article on testing shows it", .throttled)
struct TestingArticleTests {
    @Test func givesUpAfterWaitsOfOneAndTwoSeconds() async throws {
        let clock = TestClock()
        let down = Stub(.get, "/status").reply(.status(503))
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
                .with(\.clock, value: clock)
                .with(\.retryPolicy, value: RetryPolicy(backoffStrategy: .exponential(base: 1, maxDelay: 30))),
            transport: MockTransport(stubs: [down]))

        async let result = client.result(of: Request<String>(.get, "/status"))
        for wait in [1.0, 2.0] {
            await clock.sleepers(atLeast: 1)
            await clock.advance(by: wait)
        }

        guard case .failure(let error) = await result else {
            Issue.record("the call succeeded")
            return
        }
        #expect(error.kind == .http)
        #expect(clock.sleeps == [1, 2])
        #expect(down.count == 3)
        await client.shutdown()
    }
}
