// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The store operations in progress. An invalidation waits for those it concerns and then removes their entries.
/// Otherwise a call after the invalidation could find an outdated entry.
final class PendingStores: Sendable {
    private struct Waiter {
        var numbers: Set<Int>
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var nextNumber = 0
        var keys: [Int: CacheKey] = [:]
        var waiters: [Waiter] = []
    }

    private let state = Locked(State())

    /// Begins a store operation; returns its number for ``end(_:)``.
    func begin(_ key: CacheKey) -> Int {
        state.withLock { state in
            state.nextNumber += 1
            state.keys[state.nextNumber] = key
            return state.nextNumber
        }
    }

    func end(_ number: Int) {
        let met = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.keys[number] = nil
            guard !state.waiters.isEmpty else { return [] }
            for index in state.waiters.indices { state.waiters[index].numbers.remove(number) }
            let met = state.waiters.filter(\.numbers.isEmpty)
            state.waiters.removeAll(where: \.numbers.isEmpty)
            return met.map(\.continuation)
        }
        met.forEach { $0.resume() }
    }

    /// Waits for the current operations that are concerned, even if the caller is cancelled: storing takes a short
    /// time.
    func wait(where isConcerned: @Sendable (CacheKey) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                let numbers = state.keys.filter { isConcerned($0.value) }.keys
                guard !numbers.isEmpty else { return true }
                state.waiters.append(Waiter(numbers: Set(numbers), continuation: continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// The number of waiters: for tests.
    var waiterCount: Int { state.withLock { $0.waiters.count } }
}
