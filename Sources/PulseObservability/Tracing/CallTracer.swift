// SPDX-License-Identifier: MIT

public import PulseCore

/// A sink that builds a ``CallTrace`` from each call's events, for OpenTelemetry, another tracing system or a
/// waterfall.
///
/// ```swift
/// let traces = CallTracer.Buffer()
/// bus.addSink(CallTracer(output: traces))
/// ```
///
/// With a tracing plugin in the client, its spans have the ids that the plugin sends to servers.
public final class CallTracer: EventSink {
    private let output: any CallTracer.Output
    private let clock: any PulseClock
    private let openTraces: Locked<OpenTraces>

    /// Creates a tracer that passes its traces to an output.
    ///
    /// - Parameter maxOpenCalls: the maximum number of open calls, 10,000 by default. Beyond it, the call with the
    ///   oldest last event is not traced, and counted in ``untracedCallCount``. Less than 1 counts as 1.
    public init(output: any CallTracer.Output, maxOpenCalls: Int = 10_000, clock: any PulseClock = .system) {
        self.output = output
        self.clock = clock
        openTraces = Locked(OpenTraces(maximum: maxOpenCalls))
    }

    public var isActive: Bool { true }

    /// The number of calls that were not traced, because too many were open or their end was not observed.
    public var untracedCallCount: Int { openTraces.withLock { $0.untracedCount } }

    public func emit(_ event: NetworkEvent) {
        let (now, uptime) = (clock.now, clock.uptime)
        let trace = openTraces.withLock { $0.apply(event, now: now, uptime: uptime) }
        if let trace { output.receive(trace) }
    }
}

extension CallTracer {
    /// An output for the traces of calls. It receives each trace once, when its call has ended.
    ///
    /// The code that ends the call calls the method synchronously, on any thread and concurrently. It must be short,
    /// and wait for nothing but a lock.
    public protocol Output: Sendable {
        /// Receives one trace.
        func receive(_ trace: CallTrace)
    }
}
