// SPDX-License-Identifier: MIT

/// When the requests of one part of a call left for the wire, in the clock's uptime.
///
/// For whoever judges how long a server takes: what lies between a plugin and the wire may wait for this side's own
/// reasons, in a line, for a permit, before a repeat, and says nothing of the server.
package struct Departures: Sendable {
    private struct State: Sendable {
        var count = 0
        var first: TimeInterval?
        var last: TimeInterval?
        /// Of a plugin further out.
        let outer: Departures?
    }

    /// All of it behind the lock, so that it is one block of memory: each attempt makes one.
    private let state: Locked<State>

    init(within outer: Departures?) {
        state = Locked(State(outer: outer))
    }

    func note(_ uptime: TimeInterval) {
        let outer = state.withLock { state in
            state.count += 1
            state.first = state.first ?? uptime
            state.last = uptime
            return state.outer
        }
        outer?.note(uptime)
    }

    /// How many have left.
    package var count: Int { state.withLock { $0.count } }
    /// Nil if none has.
    package var first: TimeInterval? { state.withLock { $0.first } }
    package var last: TimeInterval? { state.withLock { $0.last } }
}
