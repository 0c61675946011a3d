// SPDX-License-Identifier: MIT

/// When the requests of one part of a call left for the wire, in the clock's uptime.
///
/// For code that judges how long a server takes: between a plugin and the wire a request may wait for reasons of this
/// side, in a line, for a permit, or before a repeat, which says nothing about the server.
package struct SendWatch: Sendable {
    private struct State: Sendable {
        var count = 0
        var first: TimeInterval?
        var last: TimeInterval?
        /// The departures that a plugin further out watches.
        let outer: SendWatch?
    }

    /// Everything is behind the lock, so that it is one block of memory: each attempt makes one.
    private let state: Locked<State>

    init(within outer: SendWatch?) {
        state = Locked(State(outer: outer))
    }

    func noteSent(_ uptime: TimeInterval) {
        let outer = state.withLock { state in
            state.count += 1
            state.first = state.first ?? uptime
            state.last = uptime
            return state.outer
        }
        outer?.noteSent(uptime)
    }

    /// Takes one departure back: that request stands in a line of this side, and is noted again when it leaves.
    func noteUnsent() {
        let outer = state.withLock { state in
            state.count -= 1
            if state.count == 0 { (state.first, state.last) = (nil, nil) }
            return state.outer
        }
        outer?.noteUnsent()
    }

    /// The number of requests that have left.
    package var count: Int { state.withLock { $0.count } }
    /// When the first request left; nil if none has.
    package var first: TimeInterval? { state.withLock { $0.first } }
    package var last: TimeInterval? { state.withLock { $0.last } }
}
