// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The answers that are being stored. An invalidation of one of them waits until it is in the store, where it can be
/// removed: else a call that began after the change could find it there.
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

    /// Begins a commit; gives its number for ``end(_:)``.
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

    /// Suspends until the current commits that are concerned have ended, also if the caller is cancelled: storing is
    /// short work.
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

    /// How many wait: for tests.
    var waiterCount: Int { state.withLock { $0.waiters.count } }
}
