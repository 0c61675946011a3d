// SPDX-License-Identifier: MIT
//! Calls as events, metrics and traces.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.on(.get, "/users/{id}", script: [.status(503), .text("Ada")])
let bus = PulseEventBus()
let configuration = PulseConfiguration(baseURL: server.baseURL)
    .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate))
let client = PulseClient(configuration: configuration, plugins: [.tracing()], events: bus)

// snippet.events
let watching = Task {
    for await event in bus.events {
        switch event {
        case .requestCompleted(.failure(let error), let call, let latency):
            print("\(call.route) failed after \(latency) s: \(error)")
        case .circuitBreakerOpened(let endpoint): print("no more calls to \(endpoint) for a while")
        default: break
        }
    }
}
// snippet.end

// snippet.filters
let failures = bus.subscribe(matching: .failures.or(.kinds(.warning, .pinningFailed)))
let retries = bus.subscribe(matching: .route("GET /users/{id}").and(.kinds(.requestRetrying)))
let later = bus.subscribe(matching: PulseEventBus.Filter { $0.call?.attempt ?? 0 > 1 }, bufferingNewest: 100)
// snippet.end

// snippet.collector
let metrics = PulseMetricsCollector(
    objectives: [ServiceLevelObjective("users", route: "GET /users/{id}", latency: 0.8, target: 0.999)])
metrics.attach(to: bus)
// snippet.end

// snippet.tracer
let traces = CallTracer.Buffer()
bus.addSink(CallTracer(output: traces))
// snippet.end

// snippet.sink
final class ErrorCounter: EventSink {
    let report: @Sendable (PulseError.Kind) -> Void
    let isActive = true

    init(report: @escaping @Sendable (PulseError.Kind) -> Void) {
        self.report = report
    }

    func emit(_ event: NetworkEvent) {
        if case .requestCompleted(.failure(let error), _, _) = event { report(error.kind) }
    }
}

bus.addSink(ErrorCounter { kind in print(kind) })
// snippet.end

try await client.request(Request<String>("/users/{id}", path: ["id": 42]))
retries.cancel()
print(retries.droppedEventCount)

// snippet.snapshot
let snapshot = await metrics.snapshot()
print(snapshot.successRate, snapshot.p50Latency, snapshot.p99Latency, snapshot.inFlight)
for (route, calls) in snapshot.routes {
    print(route, calls.completed, calls.retries, calls.lastMinute.p95Latency, calls.phases[.waiting].mean)
}
for objective in snapshot.objectives where !objective.isMet {
    print(objective.objective.name, objective.overall.ratio, objective.budgetLeft)
}
// snippet.end

// snippet.prometheus
let page = PrometheusText(labels: ["instance": "a-1"]).text(of: snapshot)
// snippet.end
print(page.isEmpty)

let collector = PulseClient(
    configuration: PulseConfiguration(baseURL: server.baseURL), events: PulseEventBus())
server.on(.post, "/v1/{kind}") { _ in .text("{}") }

// snippet.otlp
let resource = OTLPUpload.Resource(serviceName: "shop", serviceVersion: "1.4.2")
try await collector.request(OTLPUpload.metrics(snapshot, from: resource))
let ended = traces.takeAll()
try await collector.request(OTLPUpload.traces(ended, from: resource))
// snippet.end

// snippet.waterfall
for trace in ended where trace.duration > 1 {
    print(trace.waterfall())
}
// snippet.end
print(ended[0].waterfall())

watching.cancel()
await client.shutdown()
await collector.shutdown()
await server.shutdown()
