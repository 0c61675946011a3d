// SPDX-License-Identifier: MIT

import PulseKit

/// Produces every export of a client's telemetry, and passes the texts to a collector.
struct ExportedTexts: CallTracer.Output, EventLogSink.Output, MetricsOutputSink.Output {
    private static let resource = OTLPUpload.Resource(serviceName: "shop")

    private let add: @Sendable (String) -> Void
    private let metrics = PulseMetricsCollector()

    init(of bus: PulseEventBus, _ add: @escaping @Sendable (String) -> Void) {
        self.add = add
        metrics.attach(to: bus)
        bus.addSink(CallTracer(output: self))
        bus.addSink(EventLogSink(level: .debug, output: self))
        bus.addSink(MetricsOutputSink(output: self))
    }

    /// Exports the totals of all calls.
    func finish() async throws {
        let snapshot = await metrics.snapshot()
        add(PrometheusText().text(of: snapshot))
        add(String(decoding: try OTLPMetrics(resource: Self.resource).json(of: snapshot), as: UTF8.self))
        add("\(snapshot)")
    }

    func receive(_ trace: CallTrace) {
        add(trace.waterfall())
        add("\(trace)")
        if let json = try? OTLPTraces(resource: Self.resource).json(of: [trace]) {
            add(String(decoding: json, as: UTF8.self))
        }
    }

    func write(_ record: EventLogSink.Record) { add("\(record)") }

    func increment(_ counter: String, by count: Int64, labels: [(String, String)]) { add("\(counter) \(labels)") }

    func record(_ timer: String, seconds: TimeInterval, labels: [(String, String)]) { add("\(timer) \(labels)") }
}
