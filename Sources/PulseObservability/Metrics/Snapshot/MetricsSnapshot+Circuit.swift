// SPDX-License-Identifier: MIT

extension MetricsSnapshot {
    /// The state of a breaker's circuit, according to its events.
    public struct Circuit: Sendable, Hashable {
        /// The states of a circuit.
        public enum State: String, Sendable, Hashable, CaseIterable {
            /// Calls pass.
            case closed
            /// A few calls pass as probes.
            case halfOpen = "half_open"
            /// Calls fail without being sent.
            case open
        }

        /// The last reported state.
        public internal(set) var state: State
        /// The number of times the circuit opened.
        public internal(set) var openings: Int

        /// Creates a circuit in that state; by default closed and never opened.
        package init(state: State = .closed, openings: Int = 0) {
            self.state = state
            self.openings = openings
        }
    }
}
