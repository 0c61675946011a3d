// SPDX-License-Identifier: MIT

#if canImport(Darwin)
public import Darwin
#elseif canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// A value behind a lock, for state that is used without suspension.
///
/// The only lock type of the package. Never run a caller's code or resume a continuation inside ``withLock(_:)``: copy
/// out what is needed, leave, then act. The lock is not recursive.
@usableFromInline
package struct Locked<State: Sendable>: @unchecked Sendable {
    // Unchecked, and safe: `State` is Sendable and only accessed under the lock.
    @usableFromInline let buffer: ManagedBuffer<State, LockPrimitive>

    @inlinable
    package init(_ state: State) {
        buffer = LockBuffer<State>.create(minimumCapacity: 1) { buffer in
            buffer.withUnsafeMutablePointerToElements { LockPrimitive.initialize($0) }
            return state
        }
    }

    @inlinable
    package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try buffer.withUnsafeMutablePointers { state, lock in
            LockPrimitive.lock(lock)
            defer { LockPrimitive.unlock(lock) }
            return try body(&state.pointee)
        }
    }
}

@usableFromInline
final class LockBuffer<State>: ManagedBuffer<State, LockPrimitive> {
    @inlinable
    deinit {
        withUnsafeMutablePointerToElements { LockPrimitive.destroy($0) }
    }
}

#if canImport(Darwin)
@usableFromInline typealias LockPrimitive = os_unfair_lock

extension os_unfair_lock {
    @usableFromInline static func initialize(_ lock: UnsafeMutablePointer<Self>) { lock.initialize(to: Self()) }
    @inlinable static func lock(_ lock: UnsafeMutablePointer<Self>) { os_unfair_lock_lock(lock) }
    @inlinable static func unlock(_ lock: UnsafeMutablePointer<Self>) { os_unfair_lock_unlock(lock) }
    @usableFromInline static func destroy(_ lock: UnsafeMutablePointer<Self>) { lock.deinitialize(count: 1) }
}
#else
@usableFromInline typealias LockPrimitive = pthread_mutex_t

extension pthread_mutex_t {
    @usableFromInline static func initialize(_ lock: UnsafeMutablePointer<Self>) {
        lock.initialize(to: Self())
        pthread_mutex_init(lock, nil)
    }
    @inlinable static func lock(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_lock(lock) }
    @inlinable static func unlock(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_unlock(lock) }
    @usableFromInline static func destroy(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_destroy(lock) }
}
#endif
