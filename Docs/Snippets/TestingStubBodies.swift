// SPDX-License-Identifier: MIT
//! Stubs that match JSON bodies, reply slowly, or echo the request.

import PulseKit
import PulseTesting

// snippet.bodies
let orders = Stub(.post, "/orders")
    .body(jsonContaining: ["customer": ["id": 7], "items": [["sku": "A-1"]]])
    .reply(.status(201))
// snippet.end

// snippet.echo
let echo = Stub(nil, "/echo").reply(.echoRequest)
let transport = MockTransport(stubs: [orders, echo])
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!),
    plugins: [.headers(["X-App": "1"]), .idempotency()], transport: transport)

let seen = try await client.request(Request<Stub.Echo>(.post, "/echo"))
print(seen.header("X-App") ?? "", seen.header("Idempotency-Key") ?? "")
// snippet.end

// snippet.bandwidth
let clock = TestClock(autoAdvances: true)
let film = Stub(.get, "/film").reply(.data(Data(count: 3000)).bandwidth(1000, on: clock))
// A client that reads it waits for three seconds of the clock.
// snippet.end
let slow = PulseClient(
    configuration: PulseConfiguration(baseURL: URL(string: "https://api.example.com")!),
    transport: MockTransport(stubs: [film]))
let data: Data = try await slow.get("/film")
let order: JSONValue = ["customer": ["id": 7, "name": "Ada"], "items": [["sku": "B-2"], ["sku": "A-1", "count": 2]]]
try await client.post("/orders", body: RequestBody.json(order))
print(data.count, clock.uptime, orders.count)
await client.shutdown()
await slow.shutdown()
