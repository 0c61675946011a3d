// SPDX-License-Identifier: MIT
//! Signed requests, a server that verifies them, and a redirect to a foreign origin.

import PulseKit
import PulseTesting

let elsewhere = try await MockServer.start()
elsewhere.on(.get, "/statement") { request in .text("signed here: \(request.headers["X-Signature-256"] != nil)") }
let server = try await MockServer.start()
let archive = elsewhere.baseURL

// snippet.verify
let verifier = SignatureVerifier(secret: "from-your-vault", rejectsReplays: true)

server.on(.post, "/transfers") { request in
    let verdict = verifier.verdict(
        method: request.method, target: request.target, headers: request.headers, body: request.body)
    guard verdict.isAccepted else { return .status(401) }
    return .text("transferred")
}
// snippet.end
server.on(.get, "/statement") { _ in .status(302, headers: ["Location": "\(archive)/statement"]) }

// snippet.sign
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL),
    plugins: [
        .headers(["X-App-Version": "1.2"]),
        .compression(),
        .signing(secret: "from-your-vault", keyID: "2026-11", sendsNonce: true),  // last
    ])
// snippet.end

let made: String = try await client.request(Request(.post, "/transfers").body(.text("12.50 to Ada")))
print(made)

// snippet.rotate
let rotating = SignatureVerifier(secrets: [
    "2026-10": Data("the old one".utf8),
    "2026-11": Data("from-your-vault".utf8),
])
// snippet.end
let first = server.requests[0]
print(rotating.verdict(method: first.method, target: first.target, headers: first.headers, body: first.body))

// snippet.foreign
let statement: String = try await client.get("/statement")  // redirects to another origin
print(statement)  // signed here: false
// snippet.end

// snippet.test
let transport = MockTransport { request in
    PulseResponse(statusCode: verifier.verdict(on: request).isAccepted ? 200 : 401, request: request)
}
// snippet.end
let mocked = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL),
    plugins: [.signing(secret: "from-your-vault", sendsNonce: true)], transport: transport)
print(try await mocked.rawRequest(Request<EmptyResponse>(.get, "/any")).statusCode)

await mocked.shutdown()
await client.shutdown()
await server.shutdown()
await elsewhere.shutdown()
