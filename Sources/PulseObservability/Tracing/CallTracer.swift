// SPDX-License-Identifier: MIT

public import PulseCore

/// An output for the traces of calls: it gets each once, when its call has ended.
///
/// Its method is called in place by the code that ends the call, on any thread and concurrently: it must be short and
/// wait for nothing but a lock.
public protocol CallTraceOutput: Sendable {
    /// Takes one trace, in place.
    func receive(_ trace: CallTrace)
}

/// A sink that makes a ``CallTrace`` of each call's events: for OpenTelemetry, for another tracing system, for a
/// waterfall.
///
/// ```swift
/// let traces = CallTraceBuffer()
/// bus.addSink(CallTracer(output: traces))
/// ```
///
/// With a tracing plugin in the client, its spans have the ids that the plugin sends to servers.
public final class CallTracer: EventSink {
    private let output: any CallTraceOutput
    private let clock: any PulseClock
    private let ledger: Locked<OpenTraces>

    /// A tracer that hands its traces to that output.
    ///
    /// - Parameter maximumOpenCalls: calls under way at a time, 10,000 by default. Beyond them the call that was heard
    ///   of least recently is not traced, and counted in ``untracedCallCount``. Less than 1 counts as 1.
    public init(output: any CallTraceOutput, maximumOpenCalls: Int = 10_000, clock: any PulseClock = .system) {
        self.output = output
        self.clock = clock
        ledger = Locked(OpenTraces(maximum: maximumOpenCalls))
    }

    public var isActive: Bool { true }

    /// The number of calls that were not traced, because too many were under way or their end was never heard of.
    public var untracedCallCount: Int { ledger.withLock { $0.untracedCount } }

    public func emit(_ event: NetworkEvent) {
        let (now, uptime) = (clock.now, clock.uptime)
        let trace = ledger.withLock { $0.apply(event, now: now, uptime: uptime) }
        if let trace { output.receive(trace) }
    }
}
