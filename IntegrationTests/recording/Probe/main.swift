// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// Writes the files of the check into a folder: the HAR and the report of calls over real sockets, and a report with
// hostile text in a URL, a header and a body.

let folder = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? ".", isDirectory: true)

/// Calls with every kind of outcome.
func record(_ recorder: PulseRecorder, _ bus: PulseEventBus) async throws {
    try await MockServer.run { server in
        server.on(.get, "/items/{id}") { request in
            .text(#"{"id":\#(request.parameters["id"] ?? "0"),"name":"Grüße 👋"}"#)
        }
        server.on(.post, "/login") { _ in
            .data(
                Data(#"{"access_token":"hunter2"}"#.utf8), contentType: "application/json",
                headers: ["Set-Cookie": "sid=hunter2"])
        }
        server.on(.get, "/old") { _ in .status(301, headers: ["Location": "/items/9?token=hunter2"]) }
        server.on(.get, "/flaky", script: [.status(503), .status(503), .text("fine")])
        server.on(.get, "/bytes") { _ in .data(Data([0, 0xFF, 0x89]), contentType: "image/png") }
        server.on(.get, "/reset") { _ in .raw([.reset]) }
        server.on(.get, "/broken") { _ in .status(500) }
        server.on(.get, "/missing") { _ in .status(404) }
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL)
                .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 3, backoffStrategy: .constant(0.02))),
            plugins: [CircuitBreakerPlugin(failureThreshold: 6, cooldownDuration: 60), recorder], events: bus)
        for id in 0..<40 { _ = await client.result(of: Request<String>(.get, "/items/{id}", path: ["id": id])) }
        let login = Request<String>(.post, "/login").query("api_key", "hunter2").query("page", "a b&c")
            .header("Authorization", "Bearer hunter2").body(.json(["user": "ada", "password": "hunter2"]))
        _ = await client.result(of: login)
        for path in ["/old", "/flaky", "/bytes", "/missing", "/reset"] {
            _ = try? await client.rawRequest(Request<EmptyResponse>(.get, PathTemplate(path)))
        }
        for _ in 0..<4 { _ = try? await client.rawRequest(Request<EmptyResponse>(.get, "/broken")) }
        await client.shutdown()
    }
}

/// A call with hostile text.
struct Hostile: Endpoint {
    typealias Response = String

    static let attack =
        "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">'\"`${window.pwned=1}\u{2028}"
    /// A mebibyte.
    static let long = String(repeating: "<b>x</b>", count: 131_072)

    let path: String
    let queryParameters = ["q": attack]
    let headers = ["X-Attack": attack.filter { $0 != "\u{2028}" }]
    var options: RequestOptions { RequestOptions().with(\.route, value: path) }
}

func recordHostility(_ recorder: PulseRecorder, _ bus: PulseEventBus) async {
    let transport = MockTransport { request in
        let headers: HTTPHeaders = ["X-Attack": Hostile.attack, "X-Long": Hostile.long, "Content-Type": "text/html"]
        let body = Data((Hostile.attack + Hostile.long).utf8)
        return PulseResponse(statusCode: 404, headers: headers, data: body, request: request)
    }
    let client = PulseClient(
        configuration: PulseConfiguration().with(\.baseURL, value: URL(string: "https://api.example.com")),
        plugins: [recorder],
        transport: transport, events: bus)
    for path in [Hostile.attack.filter { !"?#".contains($0) }, String(repeating: "y", count: 1 << 20), "%3Cscript%3E"] {
        _ = await client.result(of: Hostile(path: "/" + path))
    }
    // It is never sent: the URL is invalid.
    _ = await client.result(of: Hostile(path: "/#" + Hostile.attack))
    bus.emit(.circuitBreakerOpened(endpoint: Hostile.attack))
    bus.emit(.warning(Hostile.attack))
    await client.shutdown()
}

/// More data than the page draws, and calls that are neither success nor failure, all at one moment.
func crowd() -> PulseRecording {
    let recorder = PulseRecorder(options: .init(maxEvents: 616), clock: TestClock())
    let bus = PulseEventBus()
    recorder.attach(to: bus)
    func call(_ outcome: Result<NetworkEvent.ResponseSummary, PulseError.Summary>, _ latency: TimeInterval) {
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: "/", route: "/", method: .get, host: "api.example.com")
        bus.emit(.requestStarted(call))
        bus.emit(.requestCompleted(outcome, call, latency: latency))
    }
    let undecided: [PulseError.Kind] = [.cancelled, .queuedOffline]
    for kind in undecided { call(.failure(PulseError.Summary(kind: kind, message: "")), 9) }
    for kind in PulseError.Kind.allCases.filter({ !undecided.contains($0) }).prefix(12) {
        call(.failure(PulseError.Summary(kind: kind, message: "")), 0.03)
    }
    for status in [200, 404] {
        let response = NetworkEvent.ResponseSummary(statusCode: status, byteCount: 0, origin: .network)
        for _ in 0..<6 { call(.success(response), 0.01) }
    }
    // The recorder drops these 84, the oldest.
    for number in 0..<84 { bus.emit(.warning("old \(number)")) }
    for number in 0..<15 { bus.emit(.circuitBreakerOpened(endpoint: "\(number)")) }
    bus.emit(.offlineQueueEnqueued(id: UUID()))
    for number in 0..<600 { bus.emit(.warning("\(number)")) }
    return recorder.recording()
}

let (recorder, bus) = (PulseRecorder(), PulseEventBus())
recorder.attach(to: bus)
try await record(recorder, bus)
try recorder.recording().har().write(to: folder.appendingPathComponent("calls.har"))
try PulseReport(recorder.recording(), title: "Calls").write(to: folder.appendingPathComponent("calls.html"))

try PulseReport(crowd(), title: "Crowd").write(to: folder.appendingPathComponent("crowd.html"))

let (hostileRecorder, hostileBus) = (PulseRecorder(), PulseEventBus())
hostileRecorder.attach(to: hostileBus)
await recordHostility(hostileRecorder, hostileBus)
try hostileRecorder.recording().har().write(to: folder.appendingPathComponent("hostile.har"))
try PulseReport(hostileRecorder.recording(), title: "</title><script>window.pwned=1</script>")
    .write(to: folder.appendingPathComponent("hostile.html"))
