// SPDX-License-Identifier: MIT

import PulseCore

/// A position in a distributed trace: the content of the W3C headers `traceparent` and `tracestate` (Trace Context,
/// level 1).
///
/// ```swift
/// try await TraceContext.$current.withValue(TraceContext(traceparent: incoming)) {
///     try await client.request(order)
/// }
/// ```
///
/// Bind ``current`` to let calls continue a trace of the app.
public struct TraceContext: Sendable, Hashable {
    /// The span that calls of this task continue, if a ``TracingPlugin`` traces them. Nil, the default, starts a trace
    /// with each call.
    @TaskLocal public static var current: TraceContext?

    private let high: UInt64
    private let low: UInt64
    private let span: UInt64
    /// Whether the caller records this trace: the only flag of level 1.
    public let isSampled: Bool
    /// The content of `tracestate`, which belongs to tracing systems and is forwarded unchanged; nil if there is none.
    public let traceState: String?

    /// Nil if the trace id or the span id is zero, which is invalid.
    init?(trace: (high: UInt64, low: UInt64), span: UInt64, isSampled: Bool, traceState: String? = nil) {
        guard trace.high | trace.low != 0, span != 0 else { return nil }
        (high, low) = trace
        self.span = span
        self.isSampled = isSampled
        self.traceState = traceState
    }

    /// Reads the two headers as received.
    ///
    /// Nil for an invalid `traceparent`: wrong length, upper-case digits, a trace or a span of zeros, version `ff`. A
    /// version above 0 is read as far as version 0 is defined. An invalid `tracestate` alone is dropped.
    public init?(traceparent: String, tracestate: String? = nil) {
        var text = traceparent
        guard let parent = text.withUTF8({ Traceparent($0) }) else { return nil }
        self.init(
            trace: (parent.high, parent.low), span: parent.span, isSampled: parent.flags & 1 == 1,
            traceState: tracestate.flatMap(TraceState.valid))
    }

    /// The trace's id: 32 hexadecimal digits in lower case.
    public var traceID: String {
        String(unsafeUninitializedCapacity: 32) { digits in
            digits.writeHex(high, at: 0)
            digits.writeHex(low, at: 16)
            return 32
        }
    }

    /// The span's id: 16 hexadecimal digits in lower case.
    public var spanID: String {
        String(unsafeUninitializedCapacity: 16) { digits in
            digits.writeHex(span, at: 0)
            return 16
        }
    }

    /// The value of the `traceparent` header, version 00.
    public var traceparent: String {
        // Written in one pass, since every attempt needs one.
        String(unsafeUninitializedCapacity: 55) { text in
            let (zero, dash) = (UInt8(ascii: "0"), UInt8(ascii: "-"))
            (text[0], text[1], text[2], text[35], text[52], text[53]) = (zero, zero, dash, dash, dash, zero)
            text[54] = isSampled ? zero + 1 : zero
            text.writeHex(high, at: 3)
            text.writeHex(low, at: 19)
            text.writeHex(span, at: 36)
            return 55
        }
    }

    /// A new span of a call's trace.
    init(within trace: Call.Trace, _ randomness: any Randomness) {
        (high, low, span) = (trace.high, trace.low, randomness.next().nonZero)
        isSampled = trace.isSampled
        traceState = trace.vendorState
    }

    /// The trace of the call that starts with this span.
    func trace(continuing parent: TraceContext?) -> Call.Trace {
        Call.Trace(high: high, low: low, isSampled: isSampled, vendorState: traceState, parentSpan: parent?.span)
    }

    /// A new span of the same trace, with an id from this randomness.
    package func child(_ randomness: any Randomness) -> TraceContext {
        TraceContext(
            trace: (high, low), span: randomness.next().nonZero, isSampled: isSampled, traceState: traceState) ?? self
    }

    /// The first span of a new trace.
    package init(isSampled: Bool, _ randomness: any Randomness) {
        let bits = randomness.nextThree()
        (high, low, span) = (bits.0.nonZero, bits.1, bits.2.nonZero)
        self.isSampled = isSampled
        traceState = nil
    }
}

extension UInt64 {
    fileprivate var nonZero: UInt64 { self == 0 ? 1 : self }
}
