// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// A connection over a socket, in cleartext or over TLS. Work that need not wait runs on the caller's thread, the rest
/// on the loop's.
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

    /// Waits until a connecting socket is connected. Throws ``ConnectionFailure``, and `CancellationError`; the
    /// connection is then closed.
    func finishConnecting() async throws {
        do {
            while true {
                let result = try state.withLock { state in
                    let channel = try state.openChannel
                    let result = pulse_socket_connect_result(channel.descriptor)
                    // Under the lock, so that the loop notes a later event later.
                    (state.writing.turn, state.writing.hasRoom) = (.free, result != EINPROGRESS)
                    return result
                }
                if result == 0 { return }
                guard result == EINPROGRESS else { throw ConnectionFailure(number: result) }
                await wait(in: .writing) { !$0.writing.hasRoom }
                try Task.checkCancellation()
            }
        } catch {
            close()
            throw error
        }
    }

    /// The descriptor, for a TLS session. Throws the error that has ended the connection.
    var descriptor: Int32 {
        get throws { try state.withLock { try $0.openChannel.descriptor } }
    }

    /// Performs the TLS handshake over the connection, whose descriptor the session has. Throws as the session does,
    /// and `CancellationError`; the connection is then closed.
    func secure(_ session: TLSSession) async throws {
        do {
            // From now on the session is closed with the connection, and before its descriptor.
            try state.withLock { state in
                _ = try state.openChannel
                state.phase = .open(SocketChannel(session))
            }
            while try !handshake(session) {
                await wait(in: .writing) { !$0.reading.isReadable && !$0.writing.hasRoom }
                try Task.checkCancellation()
            }
        } catch {
            close()
            throw error
        }
    }

    /// Continues a handshake as far as possible without waiting. Returns whether it is done.
    private func handshake(_ session: TLSSession) throws -> Bool {
        try state.withLock { state in
            _ = try state.openChannel
            // Reset before the handshake reads: an event from now on makes it read again.
            (state.reading.isReadable, state.writing.hasRoom) = (false, false)
            // The computation would block the loop at the lock.
            (state.writing.turn, state.writing.sender) = (.free, .borrower)
        }
        let outcome = Result { try session.handshake() }
        return try state.withLock { state in
            state.regain(loop.core.poller)
            let isDone = try outcome.get()
            _ = try state.openChannel
            // No event reports bytes that have already left the socket.
            if isDone { (state.reading.isReadable, state.writing.hasRoom) = (true, true) }
            return isDone
        }
    }

    /// Waits for the loop, while the task keeps the turn of the direction.
    ///
    /// - Parameter hasReason: returns false if the awaited change has already happened.
    private func wait(in direction: Direction, _ hasReason: @Sendable (inout State) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let deadline = state.withLock { state -> TimeInterval? in
                    // An earlier cancellation found no waiter to resume.
                    guard state.end == nil, !Task.isCancelled, hasReason(&state) else { return nil }
                    state[direction] = .waiting(waiter)
                    return state.deadline
                }
                if let deadline { loop.core.note(deadline) } else { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0[direction].takeWaiter() }?.resume()
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
            await wait(in: .reading) { !$0.mayRead }
        }
    }

    /// The loop's thread reads one body at a time itself: a thread switch for each piece takes longer than decrypting
    /// it, and several bodies are decrypted by several threads. The rows of `Benchmarks/transports` with 1 MiB show
    /// both.
    func read(_ begun: Data, upTo count: Int) async throws -> Data? {
        let isAlone = loop.core.beginFilling()
        defer { if isAlone { loop.core.endFilling() } }
        guard let body = BodyBuffer(begun, count: count) else {
            throw TransportFailure(code: .resourceUnavailable, phase: .maybeSent)
        }
        state.withLock { $0.reading.target = .whole(body, isFilledByLoop: isAlone) }
        defer { state.withLock { $0.reading.target = .pieces } }
        guard isAlone else { return try await read() }
        // The task would hold the lock while the loop needs it.
        return try await withTaskExecutorPreference(loop.core) { try await read() }
    }

    func readingNearby(_ work: @Sendable () async -> Void) async {
        await withTaskExecutorPreference(loop.core) { await work() }
    }

    func writingNearby(_ work: @escaping @Sendable () -> Void) {
        loop.core.post(work)
    }

    /// Reads or writes, and resumes the waiting tasks if the connection ends as a result.
    private func step<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        var waiters: [Waiter] = []
        defer { for waiter in waiters { waiter.resume() } }
        return try state.withLock { state in
            defer { waiters = state.takeEnded() }
            return try body(&state)
        }
    }

    // MARK: Writing

    func begin(idleTimeout: TimeInterval) {
        let now = pulse_monotonic_now()
        state.withLock { $0.begin(idleTimeout: idleTimeout, now: now) }
    }

    func rest(for seconds: TimeInterval) {
        let deadline = pulse_monotonic_now() + seconds
        let isOver = state.withLock { $0.rest(until: deadline, loop.core.poller) }
        if !isOver { loop.core.note(deadline) }
    }

    func beginStreaming() {
        state.withLock { $0.reading.target = .stream(ByteBlocks()) }
    }

    func endReading() {
        state.withLock { $0.reading.target = .finished }
    }

    var mayHaveSent: Bool { state.withLock { $0.writing.mayHaveSent } }

    func limitIdleTime(to timeout: TimeInterval) {
        let now = pulse_monotonic_now()
        let deadline = state.withLock { state in
            (state.idleTimeout, state.lastActivity) = (timeout, now)
            return state.isAwaited ? state.deadline : .infinity
        }
        if deadline < .infinity { loop.core.note(deadline) }
    }

    func upgrade(unread: Data) {
        state.withLock { state in
            state.idleTimeout = .infinity
            if !unread.isEmpty, state.channel != nil { state.reading.arrival = .bytes(unread) }
        }
    }

    var sent: (count: Int, time: TimeInterval) {
        state.withLock { $0.writing.sent }
    }

    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool) {
        let isLeft = state.withLock { state in
            state.writing.start(bytes, ifIdle: ifIdle)
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

    /// Sends without the lock: the peer may respond before the send returns, and the loop would wait for the lock to
    /// read that. It costs two thread switches, which the row of `Benchmarks/sockets` with one message at a time shows.
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
            // Otherwise this task would get the lock again, before a reader or the loop that waits for it.
            if next == .sends { await Task.yield() }
            // Waits until the loop has sent all bytes, or has failed.
            if next == .waits { await wait(in: .writing) { $0.writing.isSending && $0.failure == nil } }
            next = try step { try $0.continueWriting() }
        }
    }

    func finishWriting() {
        state.withLock { $0.finishWriting() }
    }

    // MARK: Loop side

    /// Makes the poller report the socket's events. Returns false if out of memory.
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
            if state.writing.hasRoom, !state.isUnsent { state.flush() }
            if state.reading.turn.isWaiting, state.mayRead {
                state.receive(with: buffer, now: now)
                if state.mayRead { waiters += state.reading.turn.takeWaiter() }
            }
            if !state.writing.isSending { waiters += state.writing.turn.takeWaiter() }
            waiters += state.takeEnded()
            return state.maySend && !state.isUnsent
        }
        if isLeft { loop.core.post(self) }
    }

    /// Sends what was posted, and adds the tasks to resume.
    func flush(_ waiters: inout [Waiter]) {
        let isLeft = state.withLock { state in
            state.flush()
            if !state.writing.isSending { waiters += state.writing.turn.takeWaiter() }
            waiters += state.takeEnded()
            return state.maySend
        }
        if isLeft { loop.core.post(self) }
    }

    /// Ends the waits that have timed out, unless bytes have arrived, and closes an expired idle connection. Returns
    /// the time of the next check.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let (waiters, next) = state.withLock { state -> ([Waiter], TimeInterval) in
            if case .resting(_, let end) = state.phase {
                return ([], state.endRestIfOver(loop.core.poller, now: now) ? .infinity : end)
            }
            guard state.isAwaited else { return ([], .infinity) }
            guard state.deadline <= now else { return ([], state.deadline) }
            // After a suspension of the process, the response may be waiting to be read.
            if !state.isUnsent, !state.reading.isFinished, !state.isSilent {
                state.reading.isReadable = true
                return (state.reading.turn.takeWaiter().map { [$0] } ?? [], .infinity)
            }
            state.fail(TransportFailure(code: .timedOut, phase: .maybeSent))
            return (state.takeEnded(), .infinity)
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
