// SPDX-License-Identifier: MIT

import PulseCore

/// Broadcasts a value that changes. A busy reader receives only the newest one.
package final class Broadcast<Value: Sendable>: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Value>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Locked(State())
    /// Whether there are readers. Changed under the lock, and read without it by each sender.
    private let hasReaders = AtomicFlag()

    package init() {}

    deinit {
        state.withLock { $0.readers.values.map { $0 } }.forEach { $0.finish() }
    }

    /// A stream of all later values. It ends with its reader's task, or with this object.
    ///
    /// - Parameter first: a value that the stream starts with.
    package func stream(startingWith first: Value? = nil) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            if let first { continuation.yield(first) }
            let id = add(continuation)
            continuation.onTermination = { [weak self] _ in self?.remove(id) }
        }
    }

    package func send(_ value: Value) {
        guard hasReaders.isSet else { return }
        for reader in state.withLock({ Array($0.readers.values) }) { reader.yield(value) }
    }

    /// Whether there are readers now.
    var isRead: Bool { state.withLock { !$0.readers.isEmpty } }

    private func add(_ reader: AsyncStream<Value>.Continuation) -> UInt64 {
        state.withLock { state in
            state.nextID += 1
            state.readers[state.nextID] = reader
            hasReaders.set(true)
            return state.nextID
        }
    }

    private func remove(_ id: UInt64) {
        state.withLock { state in
            state.readers[id] = nil
            hasReaders.set(!state.readers.isEmpty)
        }
    }
}
