// SPDX-License-Identifier: MIT

import PulseCore

/// One permit of a ``ConcurrencyLimitPlugin``, released once, when its last holder releases it.
///
/// It is bound to the task while the rest of the chain runs. A call made within it, such as a validator's session
/// renewal, is part of the work that holds the permit. If such calls needed their own permits, they could use up all
/// permits and deadlock. Work that continues after its call has left retains the permit.
struct HeldPermit: Sendable {
    @TaskLocal static var innermost: HeldPermit?

    private struct State: Sendable {
        let permits: KeyedSemaphore<RateLimitPlugin.Key.Value>
        let owner: ObjectIdentifier
        let key: RateLimitPlugin.Key.Value
        let outer: HeldPermit?
        /// The number of holders; the permit is released at 0.
        var holders = 1

        /// Whether the permit is still held: the task may outlive it.
        var isHeld: Bool { holders > 0 }
    }

    /// All state is behind the lock, so that a permit is one allocation: each attempt makes one.
    private let state: Locked<State>

    init(_ permits: KeyedSemaphore<RateLimitPlugin.Key.Value>, of owner: AnyObject, _ key: RateLimitPlugin.Key.Value) {
        state = Locked(
            // Only a permit still held: otherwise a chain of tasks, each started under the previous one's permit, would
            // retain all.
            State(permits: permits, owner: ObjectIdentifier(owner), key: key, outer: Self.held.first))
    }

    /// Releases one hold.
    func release() {
        let last = state.withLock {
            state -> (permits: KeyedSemaphore<RateLimitPlugin.Key.Value>, key: RateLimitPlugin.Key.Value)? in
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

    /// The permit within which this one was taken.
    var outer: HeldPermit? { state.withLock { $0.outer } }

    private var isHeld: Bool { state.withLock { $0.isHeld } }

    /// The held permits of the task, innermost first.
    private static var held: [HeldPermit] {
        guard let innermost else { return [] }
        return sequence(first: innermost) { $0.outer }.filter(\.isHeld)
    }

    /// Whether the task holds any permit.
    static var isWithinAny: Bool { !held.isEmpty }

    /// Whether the task holds a permit of this owner and key.
    static func covers(_ key: RateLimitPlugin.Key.Value, of owner: AnyObject) -> Bool {
        held.contains { permit in
            permit.state.withLock { $0.owner == ObjectIdentifier(owner) && $0.key == key }
        }
    }

    /// Retains the held permits of the task; release each of them.
    static func retainAll() -> [HeldPermit] {
        held.filter { $0.retain() }
    }
}
