// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

// Makes calls of every outcome over real sockets, full of secrets and hostile names, and exports metrics and traces to
// the collector in PULSEKIT_COLLECTOR.

let secret = "hunter2hunter2"
let hostileRoute = "a \"quoted\" \\ back\\slash {le=\"1\"} ünï"

struct Facts: Encodable {
    struct End: Encodable {
        let route: String
        let outcome: String
        let count: Int
    }

    let secret: String
    let hostileRoute: String
    let ends: [End]
    /// As the server received them.
    let traceparents: [String]
}

struct Post: Endpoint {
    typealias Response = EmptyResponse

    let path: String
    let text: Data
    let contentType: String

    var method: HTTPMethod { .post }
    var body: RequestBody { .data(text, contentType: contentType) }
}

func login(_ path: PathTemplate, route: String? = nil) -> Request<String> {
    Request<String>(.put, path).query("access_token", secret).body(.json(["password": .string(secret)]))
        .header("X-Api-Key", secret).option(\.route, route)
}

guard let collector = ProcessInfo.processInfo.environment["PULSEKIT_COLLECTOR"].flatMap(URL.init(string:)) else {
    print("PULSEKIT_COLLECTOR says where to send the exports")
    exit(1)
}

let bus = PulseEventBus()
let metrics = PulseMetricsCollector(objectives: [ServiceLevelObjective("all", latency: 1, target: 0.9)])
metrics.attach(to: bus)
let traces = CallTracer.Buffer()
bus.addSink(CallTracer(output: traces))

var traceparents: [String] = []
try await MockServer.run { server in
    server.on(.put, "/ok") { _ in .text(secret) }
    server.on(.put, "/missing") { _ in .status(404, headers: ["Set-Cookie": "sid=\(secret)"]) }
    server.on(.put, "/flaky", script: [.status(503), .text("at last")])
    server.on(.put, "/reset") { _ in .raw([.reset]) }
    server.on(.get, "/shared", script: [.status(503), .text("kept", headers: ["Cache-Control": "max-age=60"])])
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL)
            .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate)),
        plugins: [.cache(policy: .rfc9111), .tracing()], events: bus)
    for _ in 0..<3 { _ = await client.result(of: login("/ok", route: "ok")) }
    _ = await client.result(of: login("/ok", route: hostileRoute))
    _ = await client.result(of: login("/missing"))
    _ = await client.result(of: login("/flaky"))
    _ = await client.result(of: login("/reset", route: "reset?token=\(secret)"))
    // The first is sent apart from its call, since other calls may share it; the second is never sent.
    for _ in 0..<2 { _ = await client.result(of: Request<String>(.get, "/shared")) }
    let cancelled = Task { await client.result(of: login("/ok", route: "cancelled")) }
    cancelled.cancel()
    _ = await cancelled.value
    await client.shutdown()
    traceparents = server.requests.compactMap { $0.headers["traceparent"] }
}

let snapshot = await metrics.snapshot()
let ends = snapshot.routes.flatMap { route, calls in
    [
        Facts.End(route: route, outcome: "succeeded", count: calls.succeeded),
        Facts.End(route: route, outcome: "failed", count: calls.failed),
        Facts.End(route: route, outcome: "cancelled", count: calls.cancelled),
        Facts.End(route: route, outcome: "queued_offline", count: calls.queuedOffline),
    ]
}
let facts = Facts(secret: secret, hostileRoute: hostileRoute, ends: ends, traceparents: traceparents)
let resource = OTLPUpload.Resource(serviceName: "probe", serviceVersion: "1.0")
let exporting = PulseClient(
    configuration: PulseConfiguration(baseURL: collector), events: PulseEventBus())
_ = try await exporting.request(OTLPUpload.metrics(snapshot, from: resource))
_ = try await exporting.request(OTLPUpload.traces(traces.takeAll(), from: resource))
let page = Data(PrometheusText().text(of: snapshot).utf8)
_ = try await exporting.request(Post(path: "/prometheus", text: page, contentType: PrometheusText.contentType))
_ = try await exporting.request(
    Post(path: "/facts", text: try JSONEncoder().encode(facts), contentType: "application/json"))
await exporting.shutdown()
