// SPDX-License-Identifier: MIT

import PulseCore

extension CallTracer {
    /// A buffer of the newest traces, for an exporter that sends them periodically. Safe from any thread.
    ///
    /// ```swift
    /// let traces = CallTracer.Buffer()
    /// bus.addSink(CallTracer(output: traces))
    /// _ = try await collector.request(OTLPUpload.traces(traces.takeAll(), from: resource))
    /// ```
    public final class Buffer: CallTracer.Output {
        private struct State {
            var traces: [CallTrace] = []
            /// The index of the oldest trace, once the buffer is full.
            var oldest = 0
            var dropped = 0
        }

        private let capacity: Int
        private let state = Locked(State())

        /// Creates an empty buffer.
        ///
        /// - Parameter capacity: the maximum number of traces; 512 by default, less than 1 counts as 1. The newest are
        ///   kept.
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

        /// The number of traces that were replaced by newer ones before they were taken.
        public var droppedCount: Int { state.withLock { $0.dropped } }

        /// Removes and returns all traces, in the order in which their calls ended.
        public func takeAll() -> [CallTrace] {
            let (traces, oldest) = state.withLock { state in
                defer { (state.traces, state.oldest) = ([], 0) }
                return (state.traces, state.oldest)
            }
            return Array(traces[oldest...] + traces[..<oldest])
        }
    }
}
