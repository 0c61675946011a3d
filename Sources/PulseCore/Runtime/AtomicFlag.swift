// SPDX-License-Identifier: MIT

#if !canImport(Darwin)
public import Synchronization
#endif

/// A switch that many threads read and few change: reading it costs no more than reading memory.
///
/// It orders no other memory: whoever finds it set still has to look, under a lock, at what it stands for.
@usableFromInline
package struct AtomicFlag: ~Copyable, Sendable {
    #if canImport(Darwin)
    // The systems that PulseKit runs on do not all have the Synchronization module, and their lock is cheap.
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
