// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
package import Dispatch
import PulseCore

/// Polls descriptors for readiness, on a thread that starts on first use and runs as long as the process.
///
/// Dispatch has a table of the numbers that it watches. Foundation's libcurl closes sockets that Dispatch still
/// watches, and a later descriptor with the same number would get no events.
package final class ReadinessPoller: Sendable {
    private struct State {
        var sources: [UInt64: ReadinessSource] = [:]
        var latest: UInt64 = 0
    }

    private static let started = Locked<ReadinessPoller?>(nil)

    fileprivate let poller: pulse_poller
    private let state = Locked(State())

    /// The poller of this process. Throws `POSIXError` if the system has no descriptors left.
    package static func shared() throws -> ReadinessPoller {
        try started.withLock { started in
            if let started { return started }
            let poller = try ReadinessPoller()
            let thread = Thread { poller.run() }
            thread.name = "PulseKit.readiness"
            thread.start()
            started = poller
            return poller
        }
    }

    private init() throws {
        var poller = pulse_poller()
        guard pulse_poller_open(&poller) else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE) }
        self.poller = poller
    }

    fileprivate func newNumber() -> UInt64 {
        state.withLock { state in
            state.latest += 1
            return state.latest
        }
    }

    /// Retains the source until it is removed.
    fileprivate func add(_ source: ReadinessSource) {
        state.withLock { $0.sources[source.number] = source }
    }

    fileprivate func remove(_ source: ReadinessSource) {
        // Released outside of the lock.
        _ = state.withLock { $0.sources.removeValue(forKey: source.number) }
    }

    private func run() {
        pulse_poller_begin_thread()
        withUnsafeTemporaryAllocation(of: pulse_poller_event.self, capacity: Int(PULSE_POLLER_TURN)) { events in
            while true {
                let count = Int(pulse_poller_wait(poller, .infinity, events.baseAddress))
                let ready = state.withLock { state in events[..<count].compactMap { state.sources[$0.number] } }
                for source in ready { source.noteReady() }
            }
        }
    }
}

/// Reports, on a queue, when a descriptor can be read or written. It starts paused. A descriptor has at most one
/// source: the other direction needs a duplicate.
package final class ReadinessSource: Sendable {
    package enum Direction: Sendable {
        case read, write
    }

    private struct State {
        var isPaused = true
        /// Whether the handler runs, or is about to. Then the descriptor is not armed.
        var isHandling = false
        var isCancelled = false
    }

    fileprivate let number: UInt64
    private let descriptor: Int32
    private let direction: Direction
    private let poller: ReadinessPoller
    private let queue: DispatchQueue
    private let onReady: @Sendable () -> Void
    private let onCancel: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - queue: runs one handler at a time.
    ///   - onCancel: runs after all other handlers; the descriptor may be closed in it and not before.
    package init(
        _ direction: Direction, of descriptor: Int32, by poller: ReadinessPoller, on queue: DispatchQueue,
        onReady: @escaping @Sendable () -> Void, onCancel: @escaping @Sendable () -> Void
    ) {
        (self.direction, self.descriptor, self.poller, self.queue) = (direction, descriptor, poller, queue)
        (self.onReady, self.onCancel) = (onReady, onCancel)
        number = poller.newNumber()
        poller.add(self)
    }

    package func pause() {
        state.withLock { $0.isPaused = true }
    }

    package func resume() {
        state.withLock { state in
            state.isPaused = false
            arm(state)
        }
    }

    /// Stops the reports. A source must be cancelled before it is released.
    package func cancel() {
        let isFirst = state.withLock { state in
            guard !state.isCancelled else { return false }
            state.isCancelled = true
            pulse_poller_remove(poller.poller, descriptor)
            return !state.isHandling
        }
        poller.remove(self)
        if isFirst { queue.async { self.onCancel() } }
    }

    /// Arms the descriptor for the next report. It fails only if the kernel lacks memory; then there is no report.
    private func arm(_ state: State) {
        guard !state.isPaused, !state.isHandling, !state.isCancelled else { return }
        _ = pulse_poller_arm(poller.poller, descriptor, number, direction == .write)
    }

    fileprivate func noteReady() {
        let isHandled = state.withLock { state in
            // A source that was paused and resumed meanwhile is armed twice.
            guard !state.isPaused, !state.isHandling, !state.isCancelled else { return false }
            state.isHandling = true
            return true
        }
        if isHandled { queue.async { self.handle() } }
    }

    private func handle() {
        if !state.withLock(\.isCancelled) { onReady() }
        let isCancelled = state.withLock { state in
            state.isHandling = false
            arm(state)
            return state.isCancelled
        }
        if isCancelled { onCancel() }
    }
}
#endif
