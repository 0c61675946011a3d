// SPDX-License-Identifier: MIT

import PulseKit
import Tracing

/// Calls as spans of swift-distributed-tracing, each in the trace of its call and below its caller's span.
struct SwiftTracingOutput: CallTracer.Output {
    let tracer: any Tracer

    func receive(_ trace: CallTrace) {
        let end = trace.start.addingTimeInterval(trace.duration)
        let span = tracer.startSpan(
            trace.spanName, context: trace.parent(in: tracer), ofKind: .client, at: trace.start.instant)
        span.attributes["server.address"] = trace.host
        span.attributes["http.request.resend_count"] = max(0, trace.attempts.count - 1)
        if case .failure(let error) = trace.result {
            span.recordError(error, attributes: [:], at: end.instant)
            span.setStatus(SpanStatus(code: .error, message: error.message))
        }
        span.end(at: end.instant)
    }
}

extension Date {
    fileprivate var instant: DefaultTracerClock.Timestamp {
        .init(nanosecondsSinceEpoch: UInt64(exactly: (timeIntervalSince1970 * 1e9).rounded()) ?? 0)
    }
}
