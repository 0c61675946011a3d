// SPDX-License-Identifier: MIT
//! Validators: errors inside a 200, sessions that must be renewed, responses that are not ready yet.

import PulseKit
import PulseTesting

let api = URL(string: "https://api.example.com/")!
let pages = Stub(.get, "/users").reply(.text(#"{"fault": 11}"#), .text(#"{"fault": 0, "users": []}"#))
let session = Stub(.post, "/session").reply(.status(204))
let ready = Stub(.get, "/report").reply(.status(202), .text("done"))

// snippet.fault
struct Fault: Decodable, Error {
    let fault: Int
}

let faults = Validator.errorBody(Fault.self) { $0.fault == 0 ? nil : $0 }
// snippet.end

// snippet.verdicts
struct NotReady: Error {}

let reports = Validator { _, response, context in
    guard context.route == "report", response.statusCode == 202 else { return .accept }
    return .retry(.constant(2), otherwise: NotReady())
}
// snippet.end

// snippet.recover
var renewal = URLRequest(url: api.appendingPathComponent("session"))
renewal.httpMethod = "POST"
let renewed = Validator.Recovery.request(renewal)

let sessions = Validator.errorBody(
    Fault.self, verdict: { $0.fault == 11 ? .recover(renewed, retriesUnsafeMethods: true, otherwise: $0) : .accept })
// snippet.end

let clock = TestClock(autoAdvances: true)
// snippet.client
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: api).with(\.clock, value: clock),
    plugins: [.validator(sessions, faults, reports, maxRepeats: 5)],
    transport: MockTransport(stubs: [pages, session, ready]))
// snippet.end
let users: String = try await client.get("/users")
let report = try await client.request(
    Request<String>(.get, "/report"), options: RequestOptions().with(\.route, value: "report"))
print(users, session.count, report)
await client.shutdown()
