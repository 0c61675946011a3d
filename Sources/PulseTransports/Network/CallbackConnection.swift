// SPDX-License-Identifier: MIT

import PulseCore

/// A connection over a channel that reports by callbacks.
final class CallbackConnection: ReusableConnection {
    typealias Waiter = CheckedContinuation<Void, Never>

    private static let receiveLimit = 64 << 10

    private let channel: any CallbackChannel
    private let clock: any PulseClock
    // The callbacks and the task of the timeouts hold the state alone, so that the connection closes when it is
    // released.
    private let state = Locked(State())

    /// A connection over a channel that is not started.
    init(_ channel: any CallbackChannel, clock: any PulseClock = .system) {
        (self.channel, self.clock) = (channel, clock)
    }

    deinit {
        close()
    }

    var remoteAddress: String? { state.withLock { $0.remoteAddress } }

    /// Connects; called once. Throws ``TransportFailure``, or `CancellationError` after ``close()`` or if the task is
    /// cancelled; the connection is then closed.
    func open(timeout: TimeInterval) async throws {
        do {
            try Task.checkCancellation()
            state.limit(to: timeout, clock)
            channel.start { [state] event in state.update { $0.note(event) } }
            await wait(.opening) { $0.isOpening }
            try Task.checkCancellation()
            try state.withLock { try $0.endOpening() }
        } catch {
            close()
            throw error
        }
    }

    func close() {
        state.update { $0.close(CancellationError()) }
        channel.cancel()
    }

    // MARK: Reading

    func read() async throws -> Data? {
        var isAgain = false
        while true {
            switch try state.withLock({ try $0.read(isAgain: isAgain) }) {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .asks:
                channel.receive(upTo: Self.receiveLimit) { [state, clock] bytes, isEnd, failure in
                    let now = clock.uptime
                    state.update { $0.receive(bytes, isEnd: isEnd, failure, now: now) }
                }
            case .waits: break
            }
            await wait(.reading) { !$0.mayRead }
            isAgain = true
        }
    }

    // MARK: Writing

    func write(_ bytes: Data) async throws {
        try state.withLock { try $0.beginWriting() }
        channel.send(bytes) { [state] failure in state.update { $0.endSending(failure) } }
        if state.withLock({ $0.isFinishedByHandOver() }) { channel.finish() }
        await wait(.writing) { $0.isSending }
        do {
            try state.withLock { try $0.endWriting() }
        } catch let error as CancellationError {
            // The system cannot return the bytes.
            close()
            throw error
        }
    }

    func finishWriting() {
        if state.withLock({ $0.finishes() }) { channel.finish() }
    }

    // MARK: The exchange before the upgrade

    func begin(idleTimeout: TimeInterval) {
        limitIdleTime(to: idleTimeout)
    }

    func limitIdleTime(to timeout: TimeInterval) {
        state.limit(to: timeout, clock)
    }

    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {
        let now = clock.uptime
        guard state.withLock({ $0.handOver(bytes.count, now: now) }) else { return }
        channel.send(bytes) { [state, clock] failure in
            let now = clock.uptime
            state.update { $0.noteSent(failure, now: now) }
        }
    }

    var sent: (count: Int, time: TimeInterval) { state.withLock { ($0.sentCount, $0.sentAt) } }

    var mayHaveSent: Bool { sent.count > 0 }

    func beginStreaming() {}

    func endReading() {}

    /// Returns at once: the channel keeps the order of its bytes.
    func finishSending() async throws {}

    func upgrade(unread: Data) {
        state.withLock { $0.upgrade(unread: unread) }
    }

    // MARK: Waiting

    /// Waits until resumed, unless there is no reason to or the task is cancelled.
    private func wait(_ role: Role, while isWaiting: (State) -> Bool) async {
        await state.suspend(if: isWaiting) {
            $0.waiters[role] = $1
        } onCancel: {
            $0.waiters.removeValue(forKey: role)
        }
    }
}

extension Locked<CallbackConnection.State> {
    /// Changes the state, then resumes the returned waiters.
    fileprivate func update(_ body: (inout State) -> [CallbackConnection.Waiter?]) {
        for waiter in withLock(body) { waiter?.resume() }
    }

    /// Limits the time without a byte from now on, replacing earlier limits.
    fileprivate func limit(to timeout: TimeInterval, _ clock: any PulseClock) {
        let now = clock.uptime
        withLock { $0.limit(to: timeout, now: now) }
        guard timeout.isFinite else { return }
        let watch = Task {
            while let rest = withLock({ $0.timeLeft(now: clock.uptime) }), rest > 0 {
                do { try await clock.sleep(rest, for: .timeout) } catch { return }
            }
            let now = clock.uptime
            update { $0.expire(now: now) }
        }
        let isOver = withLock { state in
            guard state.end == nil else { return true }
            state.watch = watch
            return false
        }
        if isOver { watch.cancel() }
    }
}
