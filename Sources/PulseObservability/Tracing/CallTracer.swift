// SPDX-License-Identifier: MIT

public import PulseCore

/// Takes the traces of calls, each once, when its call has ended.
///
/// The one method is called in place by the code that ends the call, on any thread and concurrently: it must be short and
/// wait for nothing but a lock.
public protocol CallTraceOutput: Sendable {
    func receive(_ trace: CallTrace)
}

/// A sink that makes a ``CallTrace`` of each call's events: for OpenTelemetry, for a tracing system of one's own, for a
/// waterfall.
///
/// ```swift
/// let traces = CallTraceBuffer()
/// bus.addSink(CallTracer(output: traces))
/// ```
///
/// With a tracing plugin in the client its spans are those that servers are told of.
public final class CallTracer: EventSink {
    private let output: any CallTraceOutput
    private let clock: any PulseClock
    private let ledger: Locked<TraceLedger>

    /// - Parameter maximumOpenCalls: under way at a time; beyond them the one that was heard of least lately is not traced,
    ///   and counted in ``untracedCallCount``. Less than 1 counts as 1.
    public init(output: any CallTraceOutput, maximumOpenCalls: Int = 10_000, clock: any PulseClock = .system) {
        self.output = output
        self.clock = clock
        ledger = Locked(TraceLedger(maximum: maximumOpenCalls))
    }

    public var isActive: Bool { true }

    /// Calls that were given up for others, since too many were under way, or since their end was never heard.
    public var untracedCallCount: Int { ledger.withLock { $0.untracedCount } }

    public func emit(_ event: NetworkEvent) {
        let (now, uptime) = (clock.now, clock.uptime)
        let trace = ledger.withLock { $0.apply(event, now: now, uptime: uptime) }
        if let trace { output.receive(trace) }
    }
}
