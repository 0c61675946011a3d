// SPDX-License-Identifier: MIT

/// The times at which the requests of one part of a call were sent, in the clock's uptime.
///
/// It measures how long a server takes. Between a plugin and the wire a request may wait on the client's side: in a
/// queue, for a permit, or before a retry. Such a wait says nothing about the server.
package struct SendWatch: Sendable {
    private struct State: Sendable {
        var count = 0
        var first: TimeInterval?
        var last: TimeInterval?
        /// The watch of an outer plugin, which counts the same requests.
        let outer: SendWatch?
    }

    /// All state is behind the lock, which makes it one allocation: each attempt makes a watch.
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

    /// Subtracts a request that was not sent. If it waits on the client's side, it is recorded again when it is sent.
    func noteUnsent() {
        let outer = state.withLock { state in
            state.count -= 1
            if state.count == 0 { (state.first, state.last) = (nil, nil) }
            return state.outer
        }
        outer?.noteUnsent()
    }

    /// The number of requests that were sent.
    package var count: Int { state.withLock { $0.count } }
    /// The time at which the first request was sent; nil if none was sent.
    package var first: TimeInterval? { state.withLock { $0.first } }
    package var last: TimeInterval? { state.withLock { $0.last } }
}
