// SPDX-License-Identifier: MIT

import PulseCore

/// Limits the number of concurrent requests to one origin. The others wait in order, urgent ones first.
///
/// Waiting here and not inside `URLSession` keeps the wait out of the idle timeout, which `URLSession` counts from the
/// moment a task is resumed.
struct HostSlots: Sendable {
    private let permits: KeyedSemaphore<Origin>

    init(limit: Int) {
        permits = KeyedSemaphore(limit: limit)
    }

    /// Waits for a slot. Throws `CancellationError` if the task is cancelled meanwhile; then it holds none.
    ///
    /// - Parameter context: the call's context, which records the waiting request as unsent.
    func acquire(
        _ origin: Origin, priority: RequestPriority = .normal,
        _ context: PluginContext? = nil
    ) async throws {
        if let id = permits.enter(origin) {
            context?.noteUnsent()
            try await permits.wait(origin, id, priority: priority)
            context?.noteSent()
        }
    }

    /// Cancels all waiters, and from now on every request that would have to wait.
    func shutdown() {
        permits.shutdown()
    }

    /// A slot that is released when it is deallocated.
    func slot(_ origin: Origin, for request: TransportRequest) async throws -> Slot {
        try await acquire(origin, priority: request.priority, request.context)
        return Slot(self, origin)
    }

    final class Slot: Sendable {
        private let slots: HostSlots
        private let origin: Origin

        fileprivate init(_ slots: HostSlots, _ origin: Origin) {
            self.slots = slots
            self.origin = origin
        }

        deinit {
            slots.release(origin)
        }
    }

    /// The number of requests that wait for a slot.
    func waiterCount(_ origin: Origin) -> Int {
        permits.waiterCount(origin)
    }

    /// The number of queue positions in memory: those of the waiters, and of some that have left.
    func queueSlotCount(_ origin: Origin) -> Int {
        permits.queueSlotCount(origin)
    }

    /// Passes the slot to the first waiter.
    func release(_ origin: Origin) {
        permits.release(origin)
    }
}
