// SPDX-License-Identifier: MIT

import InMemoryTracing
import PulseKit
import Tracing

/// The tracer of this demo: spans in memory, and the fields of W3C Trace Context, as the tracers of an app have them.
struct W3CTracer: Tracer {
    let spans = InMemoryTracer(idGenerator: .init(nextTraceID: { hex(16) }, nextSpanID: { hex(8) }))

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let field = extractor.extract(key: "traceparent", from: carrier),
            let parent = TraceContext(traceparent: field)
        else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: parent.traceID, spanID: parent.spanID, parentSpanID: nil)
    }
}

private func hex(_ bytes: Int) -> String {
    (0..<bytes).map { _ in String(UInt8.random(in: 1...255), radix: 16) }
        .map { $0.count == 1 ? "0" + $0 : $0 }.joined()
}
