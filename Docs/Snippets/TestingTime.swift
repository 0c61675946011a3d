// SPDX-License-Identifier: MIT
//! Time and chance are parameters: tests assert waits without waiting.

import PulseKit
import PulseTesting

// snippet.clock
let clock = TestClock()
let configuration = PulseConfiguration(baseURL: URL(string: "https://api.example.com")!)
    .with(\.clock, value: clock)
    .with(\.randomness, value: SeededRandomness(seed: 1))
    .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 3, backoffStrategy: .exponential(base: 1, maxDelay: 30)))
// snippet.end

// snippet.retry
let down = Stub(.get, "/status").reply(.status(503))
let client = PulseClient(configuration: configuration, transport: MockTransport(stubs: [down]))

let call = Task { await client.result(of: Request<String>(.get, "/status")) }
await clock.sleepers(atLeast: 1)  // the first attempt failed, the loop waits
await clock.advance(by: 1)
await clock.sleepers(atLeast: 1)
await clock.advance(by: 2)
let result = await call.value  // .failure(.http), after three attempts
print(result, clock.sleeps, down.count)  // waits of 1 and 2 seconds, three requests
// snippet.end

// snippet.deadline
let hanging = MockTransport { request in
    try await clock.sleep(3600)
    return PulseResponse(statusCode: 200, request: request)
}
let patient = PulseClient(configuration: configuration.with(\.deadline, value: 10), transport: hanging)

let late = Task { await patient.result(of: Request<String>(.get, "/status")) }
await clock.sleepers(atLeast: 1)  // the response
await clock.sleepers(atLeast: 1, for: .deadline)
await clock.advance(by: 10)
print(await late.value)  // .failure(.deadlineExceeded), ten seconds later to the instant
// snippet.end
await client.shutdown()
await patient.shutdown()
