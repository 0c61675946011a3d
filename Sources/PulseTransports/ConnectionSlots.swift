// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Limits the number of concurrent requests to one origin. The others wait in order, urgent ones first, each for at
/// most its pool timeout.
///
/// Waiting here and not inside `URLSession` keeps the wait out of the idle timeout, which `URLSession` counts from the
/// moment a task is resumed. A stream takes no slot: streams stay open for long and would starve other requests.
struct ConnectionSlots: Sendable {
    /// The number of slots per origin.
    let limit: Int
    private let permits: KeyedSemaphore<Origin>
    private let clock: any PulseClock
    private let timeouts: DeadlineHeap

    /// - Parameter clock: measures the waits, as a transport measures its other timeouts: by the system's clock.
    init(limit: Int, clock: any PulseClock = .system) {
        self.limit = max(1, limit)
        permits = KeyedSemaphore(limit: limit)
        self.clock = clock
        timeouts = DeadlineHeap(clock: clock, for: .timeout)
    }

    /// Waits for a slot. Throws `CancellationError` if the task is cancelled meanwhile, and a ``TransportFailure`` with
    /// a ``PulseError/PoolTimeout`` after the timeout; it then holds no slot.
    ///
    /// - Parameters:
    ///   - timeout: seconds; infinity for no limit.
    ///   - context: the call's context, which records the waiting request as unsent.
    func acquire(
        _ origin: Origin, priority: RequestOptions.Priority = .normal, timeout: TimeInterval = .infinity,
        _ context: PluginContext? = nil
    ) async throws {
        guard let id = permits.enter(origin) else { return }
        context?.noteUnsent()
        do {
            try await wait(origin, id, priority: priority, timeout: timeout)
        } catch let failure as TransportFailure {
            // The chain takes back the count of a request that fails before it is sent.
            context?.call.record(.sent)
            throw failure
        }
        context?.noteSent()
    }

    private func wait(
        _ origin: Origin, _ id: UInt64, priority: RequestOptions.Priority, timeout: TimeInterval
    ) async throws {
        guard timeout < .infinity else { return try await permits.wait(origin, id, priority: priority) }
        let alarm = Locked<DeadlineHeap.Alarm?>(nil)
        defer { if let alarm = alarm.withLock({ $0 }) { timeouts.remove(alarm) } }
        try await permits.wait(origin, id, priority: priority) { [limit, permits, clock, timeouts] in
            let added = timeouts.add(clock.uptime + timeout) {
                let error = PulseError.PoolTimeout(host: origin.host, limit: timeout, connections: limit)
                permits.fail(origin, id, with: error.failure)
            }
            alarm.withLock { $0 = added }
        }
    }

    /// Cancels all waiters, and from now on every request that would have to wait.
    func shutdown() {
        permits.shutdown()
        timeouts.shutdown()
    }

    /// A slot that is released when it is deallocated; an empty one for a request that takes none.
    func slot(_ origin: Origin, for request: TransportRequest) async throws -> Slot {
        guard request.takesSlot else { return Slot(permits, nil) }
        try await acquire(origin, priority: request.priority, timeout: request.poolTimeout, request.context)
        return Slot(permits, origin)
    }

    final class Slot: Sendable {
        private let permits: KeyedSemaphore<Origin>
        private let origin: Origin?

        fileprivate init(_ permits: KeyedSemaphore<Origin>, _ origin: Origin?) {
            self.permits = permits
            self.origin = origin
        }

        deinit {
            if let origin { permits.release(origin) }
        }
    }

    /// The number of requests that wait for a slot.
    func waiterCount(_ origin: Origin) -> Int {
        permits.waiterCount(origin)
    }

    /// The number of queue positions in memory: those of the waiters, and of some cancelled ones.
    func queueSlotCount(_ origin: Origin) -> Int {
        permits.queueSlotCount(origin)
    }

    /// Passes the slot to the first waiter.
    func release(_ origin: Origin) {
        permits.release(origin)
    }
}
