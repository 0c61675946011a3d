// SPDX-License-Identifier: MIT

/// Suspends until `body`, or a thread that it starts, calls `resume` with a value, which must happen exactly once.
///
/// For values that another thread creates just before. If a continuation is resumed while its task suspends, the
/// runtime synchronizes with an atomic that the thread sanitizer does not see: it reports the task's first access to
/// the value. It sees the lock.
package func withFencedContinuation<Value: Sendable>(
    _ body: (_ resume: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
    // A zero-sized state would have the address of its object, and each access would count as one to the object.
    let fence = Locked(false)
    let value = await withCheckedContinuation { continuation in
        body { value in
            fence.withLock { $0 = true }
            continuation.resume(returning: value)
        }
    }
    _ = fence.withLock { $0 }
    return value
}
