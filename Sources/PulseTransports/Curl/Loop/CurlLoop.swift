// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// Runs all transfers of a transport: on their senders' threads, and on one of its own, which waits for all of them and
/// ends with this object.
///
/// One thread at a time drives the transfers. A sender that finds them free starts its own immediately, which saves
/// waking the loop's thread; otherwise the current driver starts it. Only the loop's thread blocks on the lock.
final class CurlLoop: Sendable {
    /// Each handle costs some kilobytes. More are created when a burst needs them.
    private static let idleLimit = 256
    /// The number of remembered origins that require HTTP/1.1.
    private static let originLimit = 256

    private let environment: CurlEnvironment
    private let queue = CurlCommandQueue()
    private let transfers: Locked<CurlTransfers>
    private let threadEnd = ThreadEnd()
    /// Idle handles; nil after shutdown.
    private let idle = Locked<[CurlTransfer]?>([])
    /// The origins that require HTTP/1.1.
    private let origins = Locked<Set<Origin>>([])

    /// Starts the thread. Throws ``TransportFailure`` if the system has no descriptors left.
    init(_ library: CurlLibrary, connections: Int) throws {
        guard let poller = pulse_loop_create(connections) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        environment = CurlEnvironment(library, poller)
        transfers = Locked(CurlTransfers(environment))
        let thread = Thread { [environment, queue, transfers, threadEnd] in
            Self.drive(transfers, environment.poller, queue)
            threadEnd.come()
        }
        thread.name = "PulseKit.curl"
        thread.start()
    }

    deinit {
        close()
        // Before the poller goes, to which they refer.
        releaseIdle()
    }

    // MARK: Thread side

    /// The thread's work. It holds no loop, so that a released one ends.
    private static func drive(_ transfers: Locked<CurlTransfers>, _ poller: OpaquePointer, _ queue: CurlCommandQueue) {
        pulse_poller_begin_thread()
        var (wake, isClosed) = (TimeInterval.infinity, false)
        while !isClosed {
            queue.whileAsleep { pulse_loop_wait(poller, $0 ? wake : 0) }
            // Resumes the callers that have waited longest while the next requests are sent.
            perform(transfers.withLock { $0.act() })
            let steps = transfers.withLock { transfers in
                let commands: [CurlCommandQueue.Command]
                (commands, isClosed) = queue.collect(underWay: transfers.count)
                defer { wake = transfers.wake }
                return transfers.process(commands)
            }
            perform(steps)
        }
        perform(transfers.withLock { $0.end() })
        transfers.withLock { $0.close() }
    }

    private static func perform(_ steps: [CurlTransfers.Step]) {
        for step in steps { step.perform() }
    }

    // MARK: Sender side

    /// A transfer that is configured for a request. Throws ``TransportFailure`` without memory, and ``PulseError`` for
    /// what this libcurl does not support.
    func transfer(for request: CurlRequest, id: UInt64, queued: TimeInterval) throws -> CurlTransfer {
        let idle = idle.withLock { $0?.popLast() }
        guard let transfer = idle ?? CurlTransfer(request, environment) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .beforeSend)
        }
        try transfer.prepare(request, id: id, queued: queued)
        return transfer
    }

    /// Runs a transfer until its response is available: complete, or the head of a streamed one.
    func run(_ transfer: CurlTransfer) async throws -> CurlTransfer.Reply {
        let id = transfer.id
        await withTaskCancellationHandler {
            await withCheckedContinuation { start(transfer, $0) }
        } onCancel: {
            cancel(id)
        }
        do {
            return try transfer.takeReply()
        } catch {
            if !transfer.isAbandoned {
                // A failure leaves no settings on the handle.
                transfer.handle.forgetSettings()
                reuse(transfer)
            }
            throw error
        }
    }

    private func start(_ transfer: CurlTransfer, _ waiter: CurlTransfer.Waiter) {
        transfer.begin(waiter)
        // Writes that raise SIGPIPE must run on the thread, which blocks the signal.
        let mayDrive = environment.library.writesWithoutSignal
        switch queue.post(.start(transfer), mayDrive: mayDrive, unless: { Task.isCancelled }) {
        case .fail: transfer.finish(.failure(CancellationError()))
        case .drive: driveInPlace()
        case .wake: pulse_loop_wake(environment.poller)
        case .nothing: break
        }
    }

    private func driveInPlace() {
        repeat {
            let result = transfers.withLockIfFree { transfers in
                let steps = transfers.processInPlace(queue.collect(underWay: transfers.count).commands)
                return (steps: steps, isThreadLate: transfers.isThreadLate)
            }
            // The lock's holder checks the queue again after releasing the lock; the thread does so before it sleeps.
            guard let result else { return }
            // Needed if the thread is asleep or about to sleep.
            if result.isThreadLate { pulse_loop_wake(environment.poller) }
            Self.perform(result.steps)
        } while !queue.isEmpty
    }

    /// Ends a transfer, if it is under way.
    func cancel(_ id: UInt64) {
        tell(.cancel(id))
    }

    /// Resumes a transfer that waits for a pipe.
    func resume(_ id: UInt64) {
        tell(.resume(id))
    }

    private func tell(_ command: CurlCommandQueue.Command) {
        if case .wake = queue.post(command) { pulse_loop_wake(environment.poller) }
    }

    /// Takes back a transfer whose response was read, or which has failed and left the loop.
    func reuse(_ transfer: CurlTransfer) {
        guard CurlLibrary.reusesHandles, transfer.handle.isCurrent else { return }
        transfer.rest()
        let surplus = idle.withLock { idle -> CurlTransfer? in
            guard let count = idle?.count, count < Self.idleLimit else { return transfer }
            idle?.append(transfer)
            return nil
        }
        withExtendedLifetime(surplus) {}
    }

    /// Ends all transfers, closes all connections and waits for the end of the thread.
    func shutdown() async {
        close()
        await threadEnd.wait()
        releaseIdle()
    }

    private func releaseIdle() {
        let unused = idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
        withExtendedLifetime(unused) {}
    }

    private func close() {
        queue.close()
        pulse_loop_wake(environment.poller)
    }

    // MARK: Connections

    /// Whether the server of an origin requires HTTP/1.1, as it has said over HTTP/2 (RFC 9113, section 7).
    func needsHTTP1(_ origin: Origin) -> Bool {
        origins.withLock { !$0.isEmpty && $0.contains(origin) }
    }

    func noteHTTP1(_ origin: Origin) {
        origins.withLock { origins in
            // The servers repeat the requirement.
            if origins.count >= Self.originLimit { origins.removeAll() }
            origins.insert(origin)
        }
    }
}
#endif
