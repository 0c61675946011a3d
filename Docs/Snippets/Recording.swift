// SPDX-License-Identifier: MIT
//! Recorded calls: a report, a HAR file, a cassette to play in tests.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/products/{id}") { _ in try .json(["name": "Assam"]) }
let configuration = PulseConfiguration(baseURL: server.baseURL)
let folder = FileManager.default.temporaryDirectory
let report = folder.appendingPathComponent("report.html")
let archive = folder.appendingPathComponent("calls.har")
let file = folder.appendingPathComponent("products.har")

// snippet.use
let recorder = PulseRecorder()
recorder.attach(to: .shared)
let client = PulseClient(configuration: configuration, plugins: [.retry(), .logger(), .recorder(recorder)])
// snippet.end

let product: [String: String] = try await client.get("/products/7")
await client.shutdown()

// snippet.read
let recording = recorder.recording()
for call in recording.calls {
    print(call.waterfall())
    for exchange in call.exchanges {
        print(exchange.request.url, exchange.response?.statusCode ?? 0, exchange.duration ?? 0)
        print(exchange.curlCommand)
    }
}
// snippet.end

// snippet.options
let frugal = PulseRecorder(
    options: .init(
        maxCalls: 100,
        byteBudget: 1 << 20,
        maxBodyLength: 4096,
        sensitiveHeaders: ["X-Tenant"]))
// snippet.end

// snippet.report
try PulseReport(recording, title: "Checkout, build 512").write(to: report)
// snippet.end

// snippet.har
try recording.har().write(to: archive, options: .atomic)
// snippet.end

// snippet.record
let cassettes = CassetteRecorder(around: URLSessionTransport())
let recorded = PulseClient(configuration: configuration, transport: cassettes)
let first: [String: String] = try await recorded.get("/products/7")
try cassettes.cassette.write(to: file)
// snippet.end
await recorded.shutdown()
await cassettes.shutdown()
await server.shutdown()

// snippet.play
let player = CassettePlayer(try Cassette(contentsOf: file))
let replayed = PulseClient(configuration: configuration, transport: player)
let again: [String: String] = try await replayed.get("/products/7")
// snippet.end

// snippet.elsewhere
let anywhere = CassettePlayer(
    try Cassette(contentsOf: file), order: .asRecorded, matching: [.query, .body], secretHeaders: ["X-Tenant"])
// snippet.end

// snippet.stubs
let stubs = try Cassette(contentsOf: file).stubs()
let transport = MockTransport(stubs: stubs + [Stub(.get, "/stock").reply(.text("12"))])
// snippet.end

await replayed.shutdown()
for written in [report, archive, file] { try FileManager.default.removeItem(at: written) }
