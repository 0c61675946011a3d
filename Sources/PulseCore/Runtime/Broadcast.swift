// SPDX-License-Identifier: MIT

/// Publishes a value to its subscribers. Safe from any thread.
package final class Broadcast<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var isFinished = false
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextID = 0
    }

    private let state: Locked<State>
    private let bufferSize: Int

    /// - Parameter bufferSize: the number of values kept for a subscriber that does not keep up; it loses the oldest.
    package init(_ value: Value, bufferSize: Int) {
        state = Locked(State(value: value))
        self.bufferSize = bufferSize
    }

    deinit {
        state.withLock { $0.subscribers }.values.forEach { $0.finish() }
    }

    package var current: Value { state.withLock { $0.value } }

    package var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// The current value, then every change, until ``finish(with:)`` or the end of this object.
    package func updates(startingWithCurrent: Bool = true) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: .bufferingNewest(bufferSize))
        let id = state.withLock { state -> Int? in
            // Under the lock, so that no later value overtakes it. A yield runs no foreign code.
            if startingWithCurrent { continuation.yield(state.value) }
            guard !state.isFinished else { return nil }
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }

    /// Sets the value and notifies all subscribers. Does nothing after the last value.
    package func set(_ value: Value) {
        set(value) { _ in true }
    }

    /// Sets the last value, notifies all subscribers, and ends their streams.
    ///
    /// - Parameter value: nil leaves the value as it is, and only ends the streams.
    package func finish(with value: Value?) {
        let subscribers = state.withLock { state in
            guard !state.isFinished else { return [AsyncStream<Value>.Continuation]() }
            if let value { state.value = value }
            state.isFinished = true
            defer { state.subscribers = [:] }
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers {
            if let value { subscriber.yield(value) }
            subscriber.finish()
        }
    }

    private func set(_ value: Value, where isChange: (Value) -> Bool) {
        let subscribers = state.withLock { state in
            guard !state.isFinished, isChange(state.value) else { return [AsyncStream<Value>.Continuation]() }
            state.value = value
            return Array(state.subscribers.values)
        }
        subscribers.forEach { $0.yield(value) }
    }
}

extension Broadcast where Value: Equatable {
    /// Sets the value and notifies all subscribers, unless nothing has changed.
    package func update(_ value: Value) {
        set(value) { $0 != value }
    }
}
