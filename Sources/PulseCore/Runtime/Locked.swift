// SPDX-License-Identifier: MIT

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A value behind a lock, for state whose users must not suspend.
///
/// The one lock type of the package. Never run a caller's code or resume a continuation inside ``withLock(_:)``:
/// copy out what is needed, leave, then act. The lock is not recursive.
package struct Locked<State: Sendable>: @unchecked Sendable {
    // Unchecked, and sound: `State` is Sendable and reached under the lock alone.
    private let buffer: ManagedBuffer<State, Primitive>

    package init(_ state: State) {
        buffer = Buffer<State>.create(minimumCapacity: 1) { buffer in
            buffer.withUnsafeMutablePointerToElements { Primitive.initialize($0) }
            return state
        }
    }

    package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try buffer.withUnsafeMutablePointers { state, lock in
            Primitive.lock(lock)
            defer { Primitive.unlock(lock) }
            return try body(&state.pointee)
        }
    }
}

private final class Buffer<State>: ManagedBuffer<State, Primitive> {
    deinit {
        withUnsafeMutablePointerToElements { Primitive.destroy($0) }
    }
}

#if canImport(Darwin)
private typealias Primitive = os_unfair_lock

extension os_unfair_lock {
    fileprivate static func initialize(_ lock: UnsafeMutablePointer<Self>) { lock.initialize(to: Self()) }
    fileprivate static func lock(_ lock: UnsafeMutablePointer<Self>) { os_unfair_lock_lock(lock) }
    fileprivate static func unlock(_ lock: UnsafeMutablePointer<Self>) { os_unfair_lock_unlock(lock) }
    fileprivate static func destroy(_ lock: UnsafeMutablePointer<Self>) { lock.deinitialize(count: 1) }
}
#else
private typealias Primitive = pthread_mutex_t

extension pthread_mutex_t {
    fileprivate static func initialize(_ lock: UnsafeMutablePointer<Self>) {
        lock.initialize(to: Self())
        pthread_mutex_init(lock, nil)
    }
    fileprivate static func lock(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_lock(lock) }
    fileprivate static func unlock(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_unlock(lock) }
    fileprivate static func destroy(_ lock: UnsafeMutablePointer<Self>) { pthread_mutex_destroy(lock) }
}
#endif
