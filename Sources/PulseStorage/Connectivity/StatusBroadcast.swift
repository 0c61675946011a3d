// SPDX-License-Identifier: MIT

import PulseCore

/// A status and its subscribers. Safe from any thread.
final class StatusBroadcast: Sendable {
    private struct State {
        var status: ConnectivityStatus
        var subscribers: [Int: AsyncStream<ConnectivityStatus>.Continuation] = [:]
        var nextID = 0
    }

    private let state: Locked<State>

    init(_ status: ConnectivityStatus) {
        state = Locked(State(status: status))
    }

    deinit {
        state.withLock { $0.subscribers }.values.forEach { $0.finish() }
    }

    var current: ConnectivityStatus { state.withLock { $0.status } }

    /// The current status, then every change. For a subscriber that does not keep up, the oldest are dropped.
    func updates() -> AsyncStream<ConnectivityStatus> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ConnectivityStatus.self, bufferingPolicy: .bufferingNewest(16))
        let id = state.withLock { state in
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            // Under the lock, so that no later status overtakes it. A yield runs no foreign code.
            continuation.yield(state.status)
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }

    /// Notifies all subscribers, unless nothing has changed.
    func set(_ status: ConnectivityStatus) {
        let subscribers = state.withLock { state in
            guard state.status != status else { return [AsyncStream<ConnectivityStatus>.Continuation]() }
            state.status = status
            return Array(state.subscribers.values)
        }
        subscribers.forEach { $0.yield(status) }
    }
}
