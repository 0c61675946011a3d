// SPDX-License-Identifier: MIT

import PulseCore

/// Limits how many requests to one origin are under way at a time. The rest wait in their order, urgent ones first.
///
/// Waiting here and not inside `URLSession` keeps it out of the idle timeout, which `URLSession` counts from the moment
/// a task is resumed.
struct HostSlots: Sendable {
    private let permits: KeyedSemaphore<Origin>

    init(limit: Int) {
        permits = KeyedSemaphore(limit: limit)
    }

    /// Waits for a slot. Throws `CancellationError` if the task is cancelled meanwhile; then it holds none.
    ///
    /// - Parameter context: whose request has not left while it waits, though it was noted so.
    // Inlined into the one function that calls it: an asynchronous function less to enter and leave.
    @inline(__always)
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

    /// Cancels those who wait, and from now on everybody who would have to wait.
    func shutdown() {
        permits.shutdown()
    }

    /// A slot that is given back when it is dropped.
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

    /// How many requests wait for a slot now.
    func waiterCount(_ origin: Origin) -> Int {
        permits.waiterCount(origin)
    }

    /// How many places the line takes in memory: those of the waiters, and of some that have left.
    func placeCount(_ origin: Origin) -> Int {
        permits.placeCount(origin)
    }

    /// Gives the slot to the first that waits.
    func release(_ origin: Origin) {
        permits.release(origin)
    }
}
