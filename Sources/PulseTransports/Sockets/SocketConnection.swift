// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A cleartext socket. What need not wait happens on the caller's thread, the rest on the loop's.
final class SocketConnection: ReusableConnection {
    typealias Waiter = CheckedContinuation<Void, Never>

    let remoteAddress: String?
    /// The index by which the loop finds the connection.
    private let number: Int
    private let loop: SocketLoop
    private let state: Locked<State>

    init(_ descriptor: Int32, number: Int, _ loop: SocketLoop, remoteAddress: String?) {
        self.number = number
        self.loop = loop
        self.remoteAddress = remoteAddress
        state = Locked(State(descriptor: descriptor))
    }

    deinit {
        close()
        loop.core.remove(number)
    }

    func close() {
        let waiters = state.withLock { state in
            if state.descriptor >= 0 { pulse_poller_close_socket(loop.core.poller, state.descriptor) }
            state.descriptor = -1
            return state.end(CancellationError())
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Reading

    func read() async throws -> Data? {
        while true {
            try Task.checkCancellation()
            switch try state.withLock({ try $0.read() }) {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case nil: break
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    wait(waiter) { state in
                        guard !state.mayRead, state.reader == nil else { return false }
                        state.reader = waiter
                        return true
                    }
                }
            } onCancel: {
                state.withLock { $0.reader.take() }?.resume()
            }
        }
    }

    /// Waits, unless there is nothing to wait for.
    ///
    /// - Parameter register: stores the waiter; false without a reason to wait.
    private func wait(_ waiter: Waiter, _ register: (inout State) -> Bool) {
        let deadline = state.withLock { state -> TimeInterval? in
            // A cancellation that came earlier has found no waiter.
            guard state.end == nil, !Task.isCancelled, register(&state) else { return nil }
            return state.deadline
        }
        if let deadline { loop.core.note(deadline) } else { waiter.resume() }
    }

    // MARK: Writing

    func begin(idleTimeout: TimeInterval) {
        let now = pulse_monotonic_now()
        state.withLock { state in
            (state.idleTimeout, state.lastActivity, state.sentCount) = (idleTimeout, now, 0)
        }
    }

    var sent: (count: Int, time: TimeInterval) {
        state.withLock { ($0.sentCount, $0.sentAt) }
    }

    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {
        state.withLock { state in
            state.start(bytes, ifIdle: ifIdle)
            if !isBatched { state.flush() }
        }
        if isBatched { loop.core.post(self) }
    }

    func write(_ bytes: Data) async throws {
        try state.withLock { state in
            guard try !state.mustWaitToWrite() else {
                throw PulseError.invalidRequest(reason: "another task writes")
            }
            state.start(bytes, ifIdle: false)
            state.flush()
        }
        while try state.withLock({ try $0.mustWaitToWrite() }) {
            guard !Task.isCancelled else {
                if !state.withLock({ $0.takeBack() }) { close() }
                throw CancellationError()
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    wait(waiter) { state in
                        guard state.isSending, state.sendFailure == nil else { return false }
                        state.writer = waiter
                        return true
                    }
                }
            } onCancel: {
                state.withLock { $0.writer.take() }?.resume()
            }
        }
    }

    func finishWriting() {
        state.withLock { state in
            state.finishesWhenSent = true
            state.finishIfSent()
        }
    }

    // MARK: Loop side

    /// Makes the poller report the socket's events. False without memory.
    func isWatched(by poller: pulse_poller) -> Bool {
        state.withLock { pulse_poller_add(poller, $0.descriptor, UInt64(number)) }
    }

    /// Sends and reads what it can after an event, and adds the tasks to resume.
    func handle(
        _ event: pulse_poller_event, with buffer: UnsafeMutableRawBufferPointer, now: TimeInterval,
        _ waiters: inout [Waiter]
    ) {
        state.withLock { state in
            state.isReadable = state.isReadable || event.is_readable
            state.hasEnded = state.hasEnded || event.has_ended
            if event.is_writable, !state.isUnsent { state.flush() }
            if state.reader != nil, state.mayRead {
                state.receive(with: buffer, now: now)
                if state.mayRead { waiters += state.reader.take() }
            }
            if !state.isSending || state.sendFailure != nil { waiters += state.writer.take() }
        }
    }

    /// Sends what was posted. Returns the task to resume if that fails.
    func flush() -> Waiter? {
        state.withLock { state in
            state.flush()
            return state.end == nil && state.sendFailure == nil ? nil : state.reader.take()
        }
    }

    /// Ends the waits that have timed out, unless bytes have arrived. Returns the time of the next check.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let (waiters, next) = state.withLock { state -> ([Waiter], TimeInterval) in
            guard state.reader != nil || state.writer != nil else { return ([], .infinity) }
            guard state.deadline <= now else { return ([], state.deadline) }
            // After a suspension of the process, the response may be waiting to be read.
            if !state.isUnsent, !state.isSilent {
                state.isReadable = true
                return (state.reader.take().map { [$0] } ?? [], .infinity)
            }
            return (state.end(TransportFailure(code: .timedOut, phase: .maybeSent)), .infinity)
        }
        for waiter in waiters { waiter.resume() }
        return next
    }
}

extension [SocketConnection.Waiter] {
    fileprivate static func += (waiters: inout Self, waiter: SocketConnection.Waiter?) {
        if let waiter { waiters.append(waiter) }
    }
}
#endif
