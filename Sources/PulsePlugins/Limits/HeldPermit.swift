// SPDX-License-Identifier: MIT

import PulseCore

/// One permit of a ``ConcurrencyLimitPlugin``, given back once: when nobody keeps it any more.
///
/// It is bound to the task while the rest of the chain runs. A call made within it, as by a validator that renews a
/// session, is part of the work that holds the permit: if it waited for another, as many such calls as there are
/// permits would wait for each other for ever. Work that goes on after its call has left keeps the permit.
struct HeldPermit: Sendable {
    @TaskLocal static var innermost: HeldPermit?

    private struct State: Sendable {
        let permits: KeyedSemaphore<LimitKey.Value>
        let owner: ObjectIdentifier
        let key: LimitKey.Value
        let outer: HeldPermit?
        /// How many keep it; given back at 0.
        var holders = 1

        /// Whether it still counts: the task may outlive its permit.
        var isHeld: Bool { holders > 0 }
    }

    /// All of it behind the lock, so that a permit is one block of memory: each attempt makes one.
    private let state: Locked<State>

    init(_ permits: KeyedSemaphore<LimitKey.Value>, of owner: AnyObject, _ key: LimitKey.Value) {
        state = Locked(
            // Only one that counts: a chain of tasks, each begun under the permit of the one before, would keep all.
            State(permits: permits, owner: ObjectIdentifier(owner), key: key, outer: Self.held.first))
    }

    /// One keeper lets go of it.
    func release() {
        let last = state.withLock { state -> (permits: KeyedSemaphore<LimitKey.Value>, key: LimitKey.Value)? in
            state.holders -= 1
            return state.holders == 0 ? (state.permits, state.key) : nil
        }
        if let last { last.permits.release(last.key) }
    }

    private func retain() -> Bool {
        state.withLock { state in
            guard state.isHeld else { return false }
            state.holders += 1
            return true
        }
    }

    /// The one within which it was taken.
    var outer: HeldPermit? { state.withLock { $0.outer } }

    private var isHeld: Bool { state.withLock { $0.isHeld } }

    /// The permits under which the task works, innermost first.
    private static var held: [HeldPermit] {
        guard let innermost else { return [] }
        return sequence(first: innermost) { $0.outer }.filter(\.isHeld)
    }

    /// Whether the task works under any permit.
    static var isWithinAny: Bool { !held.isEmpty }

    /// Whether the task works under a permit of that owner and key.
    static func covers(_ key: LimitKey.Value, of owner: AnyObject) -> Bool {
        held.contains { permit in
            permit.state.withLock { $0.owner == ObjectIdentifier(owner) && $0.key == key }
        }
    }

    /// Keeps the permits under which the task works; each is to be released.
    static func retainAll() -> [HeldPermit] {
        held.filter { $0.retain() }
    }
}
