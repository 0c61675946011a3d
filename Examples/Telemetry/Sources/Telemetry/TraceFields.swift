// SPDX-License-Identifier: MIT

import PulseKit
import Tracing

/// The fields of W3C Trace Context, by which a tracer and PulseKit agree on a trace.
struct TraceFields: Injector, Extractor {
    func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
    func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
}

extension TraceContext {
    /// The current span of a tracer. Bind it around calls: `TraceContext.$current.withValue(TraceContext(of: tracer))`.
    init?(of tracer: any Tracer) {
        var fields: [String: String] = [:]
        tracer.inject(ServiceContext.current ?? .topLevel, into: &fields, using: TraceFields())
        guard let parent = fields["traceparent"] else { return nil }
        self.init(traceparent: parent, tracestate: fields["tracestate"])
    }
}

extension CallTrace {
    /// The caller's span. A call without one starts the trace, which only its own span can name.
    func parent(in tracer: any Tracer) -> ServiceContext {
        var context = ServiceContext.topLevel
        let fields = ["traceparent": "00-\(traceID)-\(parentSpanID ?? spanID)-01"]
        tracer.extract(fields, into: &context, using: TraceFields())
        return context
    }
}
