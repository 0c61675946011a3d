// SPDX-License-Identifier: MIT

#if !canImport(Darwin)
public import Synchronization
#endif

/// A flag that many threads read and few change: reading it is as cheap as reading memory.
///
/// It orders no other memory: a reader that finds it set must still read the state behind it under a lock.
@usableFromInline
package struct AtomicFlag: ~Copyable, Sendable {
    #if canImport(Darwin)
    // Not all supported systems have the Synchronization module, and their lock is cheap.
    @usableFromInline let value: Locked<Bool>

    @inlinable
    package init(_ isSet: Bool = false) {
        value = Locked(isSet)
    }

    @inlinable
    package var isSet: Bool { value.withLock { $0 } }

    @inlinable
    package func set(_ isSet: Bool) {
        value.withLock { $0 = isSet }
    }
    #else
    @usableFromInline let value: Atomic<Bool>

    @inlinable
    package init(_ isSet: Bool = false) {
        value = Atomic(isSet)
    }

    @inlinable
    package var isSet: Bool { value.load(ordering: .relaxed) }

    @inlinable
    package func set(_ isSet: Bool) {
        value.store(isSet, ordering: .relaxed)
    }
    #endif
}
