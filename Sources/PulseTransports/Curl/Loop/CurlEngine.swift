// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// State shared by the loop's thread and its owners.
///
/// One thread at a time drives the transfers. A sender that finds the driver free starts its own transfer immediately,
/// which saves waking the loop's thread; otherwise the current driver starts it. Only the loop's thread blocks on the
/// lock.
final class CurlEngine: Sendable {
    /// Each handle costs some kilobytes. More are created when a burst needs them.
    static let idleLimit = 256

    /// The number of remembered origins that require HTTP/1.1.
    static let originLimit = 256

    let commands = CurlCommandQueue()
    let threadEnd = ThreadEnd()
    /// The origins that require HTTP/1.1.
    let origins = Locked<Set<Origin>>([])
    /// Idle handles; nil after shutdown.
    let idle = Locked<[CurlTransfer]?>([])
    private let driver: Locked<CurlDriver>
    // Unchecked: a C pointer. The functions called without the driver's lock are thread-safe.
    nonisolated(unsafe) let environment: CurlTransfer.Environment
    private let startsInPlace: Bool

    init(_ library: CurlLibrary, _ poller: OpaquePointer) {
        environment = CurlTransfer.Environment(
            library: library, poller: poller, sessions: CurlSessions(), deferred: CurlDeferredActions(),
            hasNoProxyAround: !CurlProxy.isInEnvironment)
        driver = Locked(CurlDriver(environment))
        // Writes that raise SIGPIPE must run on the thread, which blocks the signal.
        startsInPlace = library.writesWithoutSignal
    }

    deinit {
        pulse_loop_destroy(poller)
    }

    var poller: OpaquePointer { environment.poller }

    // MARK: Thread side

    func run() {
        pulse_poller_begin_thread()
        var wake = TimeInterval.infinity
        while true {
            pulse_loop_wait(poller, commands.mayBlock() ? wake : 0)
            commands.wakeUp()
            // Resumes the callers that have waited longest while the next requests are sent.
            perform(driver.withLock { $0.act() })
            let (next, rest, isClosed) = driver.withLock { driver in
                let (commands, isClosed) = commands.collect(underWay: driver.count)
                let (wake, rest) = driver.process(commands)
                return (wake, rest, isClosed)
            }
            wake = next
            perform(rest)
            if isClosed { break }
        }
        perform(driver.withLock { $0.end() })
        driver.withLock { $0.close() }
        let unused = idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
        withExtendedLifetime(unused) {}
        threadEnd.come()
    }

    private func perform(_ rest: [CurlDeferredActions.Step]) {
        for step in rest { step.perform() }
    }

    // MARK: Caller side

    func start(_ transfer: CurlTransfer, _ waiter: CurlReplySlot.Waiter) {
        transfer.begin(waiter)
        switch commands.post(.start(transfer), unless: { Task.isCancelled }) {
        case .refused: transfer.finish(.failure(CancellationError()))
        case .queuedAlone where startsInPlace: driveInPlace()
        case .queued, .queuedAlone: wake()
        case .noticed: break
        }
    }

    private func driveInPlace() {
        repeat {
            let result = driver.withLockIfFree { $0.processInPlace(commands.collect(underWay: $0.count).commands) }
            // The lock's holder checks the queue again after releasing the lock; the thread does so before it sleeps.
            guard let result else { return }
            finish(result)
        } while !commands.isEmpty
    }

    private func finish(_ result: CurlDriver.InPlaceResult) {
        // Needed if the thread is asleep or about to sleep.
        if result.isLate { pulse_loop_wake(poller) }
        perform(result.rest)
    }

    func tell(_ command: CurlCommandQueue.Command) {
        switch commands.post(command) {
        case .queued, .queuedAlone: wake()
        case .refused, .noticed: break
        }
    }

    private func wake() {
        if commands.mustWake() { pulse_loop_wake(poller) }
    }

    /// Refuses all later commands, since the loop ends soon.
    func close() {
        commands.close()
        pulse_loop_wake(poller)
    }
}
#endif
