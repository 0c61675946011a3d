// SPDX-License-Identifier: MIT

public import PulseCore

extension MetricsSnapshot {
    /// The total time of exchanges by phase: for each phase, the number of measurements and the sum of their seconds.
    public struct Phases: Sendable {
        /// The total of one phase.
        public struct Total: Sendable, Hashable {
            /// The number of measurements of the phase.
            public internal(set) var count = 0
            /// The sum of all measurements, in seconds.
            public internal(set) var sum: TimeInterval = 0

            /// The mean duration in seconds; 0 if the phase was never measured.
            public var mean: TimeInterval { count == 0 ? 0 : sum / Double(count) }

            mutating func add(_ seconds: TimeInterval) {
                count += 1
                sum += seconds
            }

            mutating func merge(_ other: Total) {
                count += other.count
                sum += other.sum
            }
        }

        // One field each: an array would need an allocation for each slice of time and route.
        private var queued = Total()
        private var nameResolution = Total()
        private var connecting = Total()
        private var securing = Total()
        private var sending = Total()
        private var waiting = Total()
        private var receiving = Total()

        init() {}

        /// The total of a phase.
        public subscript(phase: Phase) -> Total {
            switch phase {
            case .queued: queued
            case .nameResolution: nameResolution
            case .connecting: connecting
            case .securing: securing
            case .sending: sending
            case .waiting: waiting
            case .receiving: receiving
            }
        }

        mutating func add(_ timings: PulseResponse.Timings) {
            timings.forEachPhase { phase, _, duration in
                switch phase {
                case .queued: queued.add(duration)
                case .nameResolution: nameResolution.add(duration)
                case .connecting: connecting.add(duration)
                case .securing: securing.add(duration)
                case .sending: sending.add(duration)
                case .waiting: waiting.add(duration)
                case .receiving: receiving.add(duration)
                }
            }
        }

        mutating func merge(_ other: Phases) {
            queued.merge(other.queued)
            nameResolution.merge(other.nameResolution)
            connecting.merge(other.connecting)
            securing.merge(other.securing)
            sending.merge(other.sending)
            waiting.merge(other.waiting)
            receiving.merge(other.receiving)
        }
    }
}
