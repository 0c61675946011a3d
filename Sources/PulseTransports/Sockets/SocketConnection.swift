// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A connection over a socket, in cleartext or over TLS. What need not wait happens on the caller's thread, the rest on
/// the loop's.
final class SocketConnection: ReusableConnection, EagerConnection {
    typealias Waiter = CheckedContinuation<Void, Never>

    let remoteAddress: String?
    /// The index by which the loop finds the connection.
    private let number: Int
    private let loop: SocketLoop
    private let state: Locked<State>

    init(_ channel: SocketChannel, number: Int, _ loop: SocketLoop, remoteAddress: String?) {
        self.number = number
        self.loop = loop
        self.remoteAddress = remoteAddress
        state = Locked(State(channel))
    }

    deinit {
        close()
        loop.core.remove(number)
    }

    func close() {
        let waiters = state.withLock { $0.close(loop.core.poller) }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Opening

    /// Waits until a connecting socket is connected. Throws ``ConnectionFailure``, and `CancellationError`; it is
    /// closed then.
    func finishConnecting() async throws {
        do {
            while true {
                let result = try state.withLock { state in
                    let channel = try state.openChannel
                    let result = pulse_socket_connect_result(channel.descriptor)
                    // Under the lock, so that the loop notes a later event later.
                    state.hasRoom = result != EINPROGRESS
                    return result
                }
                if result == 0 { return }
                guard result == EINPROGRESS else { throw ConnectionFailure(number: result) }
                await event { !$0.hasRoom }
                try Task.checkCancellation()
            }
        } catch {
            close()
            throw error
        }
    }

    /// The descriptor, for a session of TLS. Throws what has ended the connection.
    var descriptor: Int32 {
        get throws { try state.withLock { try $0.openChannel.descriptor } }
    }

    /// Secures a cleartext connection whose descriptor the session has. Throws as the session does, and
    /// `CancellationError`; it is closed then.
    func secure(_ session: TLSSession) async throws {
        do {
            // From now on the session is closed with the connection, and before its descriptor.
            try state.withLock { state in
                _ = try state.openChannel
                state.channel = SocketChannel(session)
            }
            while try !handshake(session) {
                await event { !$0.isReadable && !$0.hasRoom }
                try Task.checkCancellation()
            }
        } catch {
            close()
            throw error
        }
    }

    /// Moves a handshake on as far as possible without waiting. Returns whether it is done.
    private func handshake(_ session: TLSSession) throws -> Bool {
        try state.withLock { state in
            _ = try state.openChannel
            // Before the handshake looks: an event from now on lets it look again.
            (state.isReadable, state.hasRoom) = (false, false)
            // The computation would hold up the loop at the lock.
            state.isFlushing = true
        }
        let outcome = Result { try session.handshake() }
        return try state.withLock { state in
            state.isFlushing = false
            state.closing.take()?.close(loop.core.poller)
            let isDone = try outcome.get()
            _ = try state.openChannel
            // No event tells of bytes that have left the socket already.
            if isDone { (state.isReadable, state.hasRoom) = (true, true) }
            return isDone
        }
    }

    /// Waits for the socket's next event, or the end of the connection.
    ///
    /// - Parameter hasReason: false if what to wait for has happened.
    private func event(_ hasReason: @Sendable (State) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                wait(waiter) { state in
                    guard hasReason(state) else { return false }
                    state.writer = waiter
                    return true
                }
            }
        } onCancel: {
            state.withLock { $0.writer.take() }?.resume()
        }
    }

    // MARK: Reading

    func read() async throws -> Data? {
        var attempts = 0
        while true {
            switch try step({ try $0.read(isAgain: attempts > 0) }) {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case nil: attempts += 1
            }
            // The cooperative pool has few threads.
            if attempts % 16 == 0 { await Task.yield() }
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

    /// The loop's thread reads one body at a time itself: a switch of threads for each piece takes longer than to
    /// decrypt it, and several bodies are decrypted by several threads. The rows of `Benchmarks/transports` with 1 MiB
    /// show both.
    func read(_ begun: Data, upTo count: Int) async throws -> Data? {
        let isAlone = loop.core.beginFilling()
        defer { if isAlone { loop.core.endFilling() } }
        guard let whole = BodyBuffer(begun, count: count) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .maybeSent)
        }
        state.withLock { ($0.whole, $0.isFilledByLoop) = (whole, isAlone) }
        defer { state.withLock { $0.whole = nil } }
        guard isAlone else { return try await read() }
        // The task would have the lock while the loop wants it.
        return try await withTaskExecutorPreference(loop.core) { try await read() }
    }

    func readingNearby(_ work: @Sendable () async -> Void) async {
        await withTaskExecutorPreference(loop.core) { await work() }
    }

    func writingNearby(_ work: @escaping @Sendable () -> Void) {
        loop.core.post(work)
    }

    /// Reads or writes, and resumes the tasks that wait in vain if the connection ends thereby.
    private func step<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        var waiters: [Waiter] = []
        defer { for waiter in waiters { waiter.resume() } }
        return try state.withLock { state in
            defer { waiters = state.takeEnded() }
            return try body(&state)
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
            (state.mayHaveSent, state.hasReadAll, state.blocks, state.restsUntil) = (false, false, nil, nil)
        }
    }

    func rest(for seconds: TimeInterval) {
        let deadline = pulse_monotonic_now() + seconds
        let isOver = state.withLock { state in
            state.restsUntil = deadline
            return state.endRestIfOver(loop.core.poller)
        }
        if !isOver { loop.core.note(deadline) }
    }

    func beginStreaming() {
        state.withLock { $0.blocks = ByteBlocks() }
    }

    func endReading() {
        state.withLock { ($0.hasReadAll, $0.blocks) = (true, nil) }
    }

    var mayHaveSent: Bool { state.withLock { $0.mayHaveSent } }

    func limitIdleTime(to timeout: TimeInterval) {
        let now = pulse_monotonic_now()
        let deadline = state.withLock { state in
            (state.idleTimeout, state.lastActivity) = (timeout, now)
            return state.reader == nil && state.writer == nil ? .infinity : state.deadline
        }
        if deadline < .infinity { loop.core.note(deadline) }
    }

    func upgrade(unread: Data) {
        state.withLock { state in
            state.idleTimeout = .infinity
            if !unread.isEmpty, state.channel != nil { state.arrival = .bytes(unread) }
        }
    }

    var sent: (count: Int, time: TimeInterval) {
        state.withLock { ($0.sentCount, $0.sentAt) }
    }

    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {
        let isLeft = state.withLock { state in
            state.start(bytes, ifIdle: ifIdle)
            if !isBatched { state.flush() }
            return state.maySend
        }
        if isLeft { loop.core.post(self) }
    }

    func write(_ bytes: Data) async throws {
        try await finishWriting(from: try firstStep(of: bytes))
    }

    func startWriting(_ bytes: Data) throws -> Bool {
        try firstStep(of: bytes) == .returns
    }

    func finishStarted() async throws {
        try await finishWriting(from: try step { try $0.continueWriting() })
    }

    /// The peer may respond before the system returns from a send. So the loop, which reads that, does not have to wait
    /// for the lock: two switches of threads, which the row of `Benchmarks/sockets` with one message at a time shows.
    private func firstStep(of bytes: Data) throws -> WriteStep {
        guard let channel = try step({ try $0.write(bytes) }) else {
            return try step { try $0.continueWriting() }
        }
        let outcome = bytes.withUnsafeBytes { channel.send($0) }
        return try step { try $0.endFirstSend(outcome, of: bytes.count, loop.core.poller) }
    }

    func finishSending() async throws { try await finishStarted() }

    private func finishWriting(from first: WriteStep) async throws {
        var next = first
        while next != .returns {
            guard !Task.isCancelled else {
                if !state.withLock({ $0.takeBack() }) { close() }
                throw CancellationError()
            }
            // The lock would go to this task again, and not to a reader or the loop that waits for it.
            if next == .waits { await room() } else { await Task.yield() }
            next = try step { try $0.continueWriting() }
        }
    }

    /// Waits until the loop has sent all bytes, or a failure.
    private func room() async {
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

    func finishWriting() {
        state.withLock { state in
            state.finishesWhenSent = true
            state.finishIfSent()
        }
    }

    // MARK: Loop side

    /// Makes the poller report the socket's events. False without memory.
    func isWatched(by poller: pulse_poller) -> Bool {
        state.withLock { state in
            state.channel.map { pulse_poller_add(poller, $0.descriptor, UInt64(number)) } ?? false
        }
    }

    /// Sends and reads what it can after an event, and adds the tasks to resume.
    func handle(
        _ event: pulse_poller_event, with buffer: UnsafeMutableRawBufferPointer, now: TimeInterval,
        _ waiters: inout [Waiter]
    ) {
        let isLeft = state.withLock { state in
            state.note(event)
            if state.endRestIfOver(loop.core.poller) { return false }
            if state.hasRoom, !state.isUnsent { state.flush() }
            if state.reader != nil, state.mayRead {
                if let whole = state.whole {
                    if state.isFilledByLoop { state.receive(into: whole, now: now) }
                } else if state.blocks == nil {
                    // A stream's reader takes more at a time than the loop has room for.
                    state.receive(with: buffer, now: now)
                }
                if state.mayRead { waiters += state.reader.take() }
            }
            if !state.isSending { waiters += state.writer.take() }
            waiters += state.takeEnded()
            return state.maySend && !state.isUnsent
        }
        if isLeft { loop.core.post(self) }
    }

    /// Sends what was posted, and adds the tasks to resume.
    func flush(_ waiters: inout [Waiter]) {
        let isLeft = state.withLock { state in
            state.flush()
            if !state.isSending { waiters += state.writer.take() }
            waiters += state.takeEnded()
            return state.maySend
        }
        if isLeft { loop.core.post(self) }
    }

    /// Ends the waits that have timed out, unless bytes have arrived, and the rest of an idle connection. Returns the
    /// time of the next check.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let (waiters, next) = state.withLock { state -> ([Waiter], TimeInterval) in
            if let end = state.restsUntil {
                return ([], state.endRestIfOver(loop.core.poller, now: now) ? .infinity : end)
            }
            guard state.reader != nil || state.writer != nil else { return ([], .infinity) }
            guard state.deadline <= now else { return ([], state.deadline) }
            // After a suspension of the process, the response may be waiting to be read.
            if !state.isUnsent, !state.hasReadAll, !state.isSilent {
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
