// SPDX-License-Identifier: MIT

import CoreMetrics
import Logging
import MetricsTestKit
import PulseKit
import PulseTesting
import Tracing

let counted = TestMetrics()
MetricsSystem.bootstrap(counted)
let tracer = W3CTracer()
LoggingSystem.bootstrap { StreamLogHandler.standardOutput(label: $0) }

let bus = PulseEventBus()
bus.addSink(EventLogSink(level: .info, output: SwiftLogOutput(logger: Logging.Logger(label: "network"))))
bus.addSink(MetricsOutputSink(output: SwiftMetricsOutput()))
bus.addSink(CallTracer(output: SwiftTracingOutput(tracer: tracer)))

try await MockServer.run { server in
    server.on(.get, "/users/{id}", script: [.status(503), .text("Ada")])
    let client = PulseClient(
        configuration: PulseConfiguration(baseURL: server.baseURL)
            .with(\.retryPolicy, value: RetryPolicy(maxAttempts: 2, backoffStrategy: .immediate)),
        plugins: [.tracing()], events: bus)
    try await tracer.withSpan("checkout") { span in
        try await TraceContext.$current.withValue(TraceContext(of: tracer)) {
            _ = try await client.request(Request<String>("/users/{id}", path: ["id": 42]))
        }
        print("checkout trace=\(span.traceID) span=\(span.spanID)")
    }
    _ = await client.result(of: Request<String>("/nobody"))
    for request in server.requests {
        print("server \(request.path) \(request.headers["traceparent"] ?? "none")")
    }
    await client.shutdown()
}

for counter in counted.counters.sorted(by: { $0.label < $1.label }) where counter.label == "pulse.requests" {
    let labels = counter.dimensions.filter { $0.0 != "host" }.map { "\($0.0)=\($0.1)" }.joined(separator: " ")
    print("\(counter.label) \(labels) \(counter.totalValue)")
}
for span in tracer.spans.finishedSpans {
    let status = span.status.map { "\($0.code)" } ?? "ok"
    print("span \(span.operationName) \(status) trace=\(span.traceID) parent=\(span.parentSpanID ?? "none")")
}
