// SPDX-License-Identifier: MIT
//! Compressed request bodies, and responses that are unwrapped before the call sees them.

import PulseKit
import PulseTesting

// snippet.transform
/// `{"data": …}` around every response of an old API.
struct Envelope: Decodable {
    let data: JSONValue
}

let unwrapping = TransformPlugin { response, context in
    guard response.statusCode == 200, response.bytes == nil else { return response }
    var opened = response
    opened.data = try JSONEncoder().encode(response.decode(Envelope.self).data)
    return opened
}
// snippet.end

let server = try await MockServer.start()
server.on(.post, "/notes") { request in
    .text(#"{"data": {"coding": "\#(request.headers["Content-Encoding"] ?? "")"}}"#)
}

// snippet.compress
let client = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL),
    plugins: [.compression(minimumLength: 2048), unwrapping])
// snippet.end

let note = String(repeating: "all work and no play ", count: 500)
let made: [String: String] = try await client.post("/notes", body: RequestBody.text(note))
print(made)  // ["coding": "gzip"]

await client.shutdown()
await server.shutdown()
