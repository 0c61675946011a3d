// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// What the thread of a loop and its owners share.
///
/// One thread at a time drives the transfers. A sender that finds the driver free starts its own transfer on the spot,
/// which saves waking the loop's thread; else whoever drives starts it. Only the loop's thread ever waits for its turn.
final class CurlEngine: Sendable {
    /// Handles cost some kilobytes each; those beyond are made when a burst needs them.
    static let idleLimit = 256

    /// How many origins are remembered that want HTTP/1.1.
    static let originLimit = 256

    let commands = CurlCommandQueue()
    /// The connections that libcurl has made and has nothing more to do with.
    let plain: HTTP1ConnectionPool
    /// Those that want HTTP/1.1.
    let origins = Locked<Set<Origin>>([])
    /// Nil after the end.
    let idle = Locked<[CurlTransfer]?>([])
    private let driver: Locked<CurlDriver>
    // Unchecked: a C pointer; the functions called without the driver's lock may be called at any time.
    nonisolated(unsafe) let environment: CurlTransfer.Environment
    private let startsInPlace: Bool

    init(_ library: CurlLibrary, _ poller: OpaquePointer, _ spin: CurlSpinPolicy, connections: Int, few: Int) {
        plain = HTTP1ConnectionPool(limit: connections, few: few, spin)
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        environment = CurlTransfer.Environment(
            library: library, poller: poller, sessions: CurlSessions(), deferred: CurlDeferredActions(),
            hasNoProxyAround: names.allSatisfy { getenv($0) == nil })
        driver = Locked(CurlDriver(environment, spin))
        // What raises SIGPIPE must run on the thread, which blocks it.
        startsInPlace = library.writesWithoutSignal
    }

    deinit {
        pulse_loop_destroy(poller)
    }

    var poller: OpaquePointer { environment.poller }

    // MARK: The thread

    func run() {
        pulse_loop_begin_thread()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var wake = TimeInterval.infinity
        while true {
            pulse_loop_wait(poller, commands.mayFallAsleep() ? min(wake, plain.nextCheck) : 0)
            commands.wakeUp()
            let isAll = receive(with: buffer)
            for connection in commands.sends() { connection.sendOutgoing(poller) }
            if isAll, commands.isIdle, pulse_monotonic_now() < wake { continue }
            // The callers that have waited longest go on while the next requests leave.
            perform(driver.withLock { $0.act() })
            let (next, rest, isClosed) = driver.withLock { driver in
                let (commands, isClosed) = commands.collect(underWay: driver.count)
                let (wake, rest) = driver.turn(commands)
                return (wake, rest, isClosed)
            }
            wake = next
            perform(rest)
            if isClosed { break }
        }
        plain.close()
        perform(driver.withLock { $0.end() })
        driver.withLock { $0.close() }
        let unused = idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
        withExtendedLifetime(unused) {}
        commands.end()
    }

    /// Reads for those whose connections have something to be read; true if that was all that happened.
    private func receive(with buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let isAll = withUnsafeTemporaryAllocation(of: UInt64.self, capacity: PULSE_LOOP_TURN) { numbers in
            var count: Int32 = 0
            let isAll = pulse_loop_plain_ready(poller, numbers.baseAddress, &count)
            plain.receive(UnsafeBufferPointer(rebasing: numbers[..<Int(count)]), with: buffer)
            return isAll
        }
        plain.checkTimeouts(now: pulse_monotonic_now())
        return isAll
    }

    private func perform(_ rest: [CurlDeferredActions.Step]) {
        for step in rest { step.perform() }
    }

    // MARK: The others

    func start(_ transfer: CurlTransfer, _ waiter: CurlReplySlot.Waiter) {
        transfer.begin(waiter)
        switch commands.post(.start(transfer), unless: { Task.isCancelled }) {
        case .refused: transfer.finish(.failure(CancellationError()))
        case .waitsAlone where startsInPlace: driveInPlace()
        case .waits, .waitsAlone: wake()
        case .noticed: break
        }
    }

    private func driveInPlace() {
        repeat {
            let turn = driver.withLockIfFree { $0.turnBetween(commands.collect(underWay: $0.count).commands) }
            // The holder looks into the inbox again after giving the lock back: the thread does so before it falls
            // asleep.
            guard let turn else { return }
            finish(turn)
            if let awaited = turn.awaited { look(for: awaited) }
        } while !commands.isEmpty
    }

    private func finish(_ turn: CurlDriver.Between) {
        // Whether the thread is asleep or about to be.
        if turn.isLate { pulse_loop_wake(poller) }
        perform(turn.rest)
    }

    /// Looks for an answer until it is there, another command comes, or the time for looking is over.
    private func look(for awaited: CurlDriver.Awaited) {
        let limit = pulse_monotonic_now() + CurlSpinPolicy.patience
        var isInTime = true
        while isInTime, commands.isEmpty {
            if let turn = driver.withLockIfFree({ $0.look(for: awaited) }) {
                finish(turn)
                guard turn.awaited != nil else { return }
            }
            // The server may wait for this very processor.
            sched_yield()
            isInTime = pulse_monotonic_now() < limit
        }
        driver.withLock { [isInTime] in $0.giveUp(awaited, inVain: !isInTime) }
    }

    func tell(_ command: CurlCommandQueue.Command) {
        switch commands.post(command) {
        case .waits, .waitsAlone: wake()
        case .refused, .noticed: break
        }
    }

    private func wake() {
        if commands.mustWake() { pulse_loop_wake(poller) }
    }

    /// Refuses what comes from now on, since the loop ends soon.
    func close() {
        commands.close()
        pulse_loop_wake(poller)
    }
}
#endif
