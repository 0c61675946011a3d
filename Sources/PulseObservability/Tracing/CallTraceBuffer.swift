// SPDX-License-Identifier: MIT

import PulseCore

/// Keeps the newest traces until somebody takes them, for an exporter that sends them now and then.
public final class CallTraceBuffer: CallTraceOutput {
    private struct State {
        var traces: [CallTrace] = []
        /// Where the oldest is, once the buffer is full.
        var oldest = 0
        var dropped = 0
    }

    private let capacity: Int
    private let state = Locked(State())

    /// - Parameter capacity: of traces; the oldest give way. Less than 1 counts as 1.
    public init(capacity: Int = 512) {
        self.capacity = max(1, capacity)
    }

    public func receive(_ trace: CallTrace) {
        state.withLock { state in
            guard state.traces.count == capacity else { return state.traces.append(trace) }
            state.traces[state.oldest] = trace
            state.oldest = (state.oldest + 1) % capacity
            state.dropped += 1
        }
    }

    /// Traces that gave way before anybody took them.
    public var droppedCount: Int { state.withLock { $0.dropped } }

    /// All that are kept, in the order in which their calls ended; afterwards there are none.
    public func takeAll() -> [CallTrace] {
        let (traces, oldest) = state.withLock { state in
            defer { (state.traces, state.oldest) = ([], 0) }
            return (state.traces, state.oldest)
        }
        return Array(traces[oldest...] + traces[..<oldest])
    }
}
