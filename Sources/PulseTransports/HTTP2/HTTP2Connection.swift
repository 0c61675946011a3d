// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulsePlatform

/// One HTTP/2 connection, which many requests share (RFC 9113).
///
/// A task on the loop's thread reads into the state of each stream, from where the tasks of the exchanges take the
/// data. Any task or thread with something to send writes without waiting, one at a time: the current writer also sends
/// what others add meanwhile. The owner retains the connection; without an owner and a stream, it closes.
final class HTTP2Connection: Sendable {
    /// What the tasks of the connection hold between two steps.
    private struct Reference {
        weak var connection: HTTP2Connection?
    }

    private let socket: any ReusableConnection & EagerConnection
    private let clock: any PulseClock
    private let deadlines: DeadlineHeap
    private let onChange: @Sendable (HTTP2Connection) -> Void
    private let state: Locked<State>

    /// Throws ``TransportFailure`` if out of memory.
    ///
    /// - Parameters:
    ///   - connection: secured, with `h2` negotiated.
    ///   - deadlines: uses the same clock.
    ///   - expectedLimit: the server's probable stream limit, until its SETTINGS arrive; nil if unknown.
    ///   - onChange: called when a stream slot becomes free, when the peer may allow more of them, and when there will
    ///     be no more.
    init(
        _ connection: any ReusableConnection & EagerConnection, clock: any PulseClock, deadlines: DeadlineHeap,
        expectedLimit: Int? = nil, onChange: @escaping @Sendable (HTTP2Connection) -> Void
    ) throws {
        (socket, self.clock, self.deadlines, self.onChange) = (connection, clock, deadlines, onChange)
        state = Locked(State(try HTTP2Session(), expectedLimit: expectedLimit, now: clock.uptime))
    }

    deinit {
        if let alarm = state.withLock({ $0.alarm }) { deadlines.remove(alarm) }
        socket.close()
    }

    var remoteAddress: String? { socket.remoteAddress }

    // MARK: Owner

    /// Sends the preface and starts to read.
    func start() {
        // Each stream has its own timeout.
        socket.begin(idleTimeout: .infinity)
        pump()
        let reference = Reference(connection: self)
        // Detached: the connection outlives the request that has opened it, and its task-local values.
        Task.detached { [socket] in
            await socket.readingNearby { await Self.read(from: socket, for: reference) }
        }
    }

    /// Reserves a slot for a stream. Returns false if none is free now.
    func reserve() -> Bool {
        state.withLock { $0.reserve() }
    }

    /// The server's stream limit; nil until its SETTINGS arrive.
    var streamLimit: Int? { state.withLock { $0.streamLimit } }

    /// Releases a reserved slot that no exchange uses.
    func giveBack() {
        let now = clock.uptime
        perform(state.withLock { $0.giveBack(now: now) })
    }

    /// Whether the connection takes new streams, now or later. Once false, it stays false.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// The time since which the connection has had no stream or reserved slot, in seconds of the clock; nil if it has
    /// one.
    var idleSince: TimeInterval? { state.withLock { $0.idleSince } }

    /// Accepts no new streams, and closes after the last one. Reserved slots can still be used.
    func retire() {
        perform(state.withLock { $0.retire() })
    }

    /// Closes at once. Streams whose response is not complete fail with `CancellationError`.
    func close() {
        perform(
            state.withLock { state in
                if state.end == nil { state.session.endStreams() }
                return state.finish(.closed)
            })
    }

    // MARK: Streams

    /// Sends a request in a reserved slot. Returns nil, with nothing sent, if no stream can be opened.
    ///
    /// - Parameters:
    ///   - isFed: whether ``send(_:isLast:on:)`` sends the body afterward.
    ///   - isBatched: whether the loop sends the request, together with others.
    func open(_ request: HTTP2Request, isFed: Bool, isBatched: Bool, idleTimeout: TimeInterval) -> HTTP2Stream? {
        let now = clock.uptime
        let (id, effects, posts) = state.withLock { state in
            let (id, effects) = state.open(request, isFed: isFed, idleTimeout: idleTimeout, now: now)
            return (id, effects, isBatched && id != nil && state.willPost())
        }
        perform(effects)
        guard let id else { return nil }
        let stream = HTTP2Stream(id, of: self)
        if !isBatched { pump() } else if posts { socket.writingNearby { [weak self] in self?.pumpPosted() } }
        return stream
    }

    /// The state of a stream; nil once it is released.
    func stream(_ id: Int32) -> StreamState? {
        state.withLock { $0.streams[id] }
    }

    /// Ends a stream, with a RST_STREAM unless both sides have ended it, and removes it.
    func release(_ id: Int32) {
        let now = clock.uptime
        let effects = state.withLock { $0.release(id, now: now) }
        perform(effects)
        if effects.sends { pump() }
    }

    /// Ends a stream with a RST_STREAM; its tasks throw ``HTTP2Stream/Ended``.
    func abort(_ id: Int32) {
        let now = clock.uptime
        perform(state.withLock { $0.abort(id, now: now) })
        pump()
    }

    /// For tests: the number of streams in memory, here or in the session.
    var keptCount: Int { state.withLock { max($0.streams.count, $0.session.streams.count) } }

    func takeHead(of id: Int32) throws -> Head? {
        try state.withLock { try $0.takeHead(of: id) }
    }

    func takeBytes(upTo limit: Int, of id: Int32) throws -> State.Portion {
        let portion = try state.withLock { try $0.takeBytes(upTo: limit, of: id) }
        if case .bytes(_, opensWindow: true) = portion { pump() }
        return portion
    }

    /// Adds bytes to the body of a request. Returns false if nothing more can be sent on the stream.
    func send(_ bytes: Data, isLast: Bool, on id: Int32) -> Bool {
        let now = clock.uptime
        let (isTaken, effects) = state.withLock { $0.send(bytes, isLast: isLast, on: id, now: now) }
        perform(effects)
        pump()
        return isTaken
    }

    func setWaitsForSource(_ waits: Bool, on id: Int32) {
        let now = clock.uptime
        perform(state.withLock { $0.setWaitsForSource(waits, id, now: now) })
    }

    /// Waits until the goal is met, the stream has ended, or the task is cancelled.
    func wait(for goal: Goal, of id: Int32) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                let now = clock.uptime
                perform(
                    state.withLock { state in
                        // An earlier cancellation found no waiter to resume.
                        state.wait(waiter, for: goal, of: id, isCancelled: Task.isCancelled, now: now)
                    })
            }
        } onCancel: {
            state.withLock { $0.takeWaiter(for: goal, of: id) }?.resume()
        }
    }

    // MARK: Effects

    private func perform(_ effects: Effects) {
        for waiter in effects.waiters { waiter.resume() }
        if let alarm = effects.obsolete { deadlines.remove(alarm) }
        if let time = effects.check { setAlarm(at: time) }
        if effects.closes {
            if let bytes = effects.lastBytes, !bytes.isEmpty { _ = try? socket.startWriting(bytes) }
            socket.close()
        }
        if effects.tellsOwner { onChange(self) }
    }

    private func setAlarm(at time: TimeInterval) {
        let alarm = deadlines.add(time) { [weak self] in self?.checkWaits(at: time) }
        if let obsolete = state.withLock({ $0.note(alarm, at: time) }) { deadlines.remove(obsolete) }
    }

    private func checkWaits(at time: TimeInterval) {
        let now = clock.uptime
        perform(state.withLock { $0.checkWaits(at: time, now: now) })
        pump()
    }

    // MARK: Reading

    private static func read(from socket: any ReusableConnection & EagerConnection, for reference: Reference) async {
        var readCount = 0
        while true {
            let result: Result<Data?, any Error>
            do { result = .success(try await socket.read()) } catch { result = .failure(error) }
            guard let connection = reference.connection, connection.take(result) else { return }
            readCount += 1
            // Other connections share the thread.
            if readCount % 8 == 0 { await Task.yield() }
        }
    }

    /// Returns whether more can arrive.
    private func take(_ result: Result<Data?, any Error>) -> Bool {
        let (now, time) = (clock.uptime, SystemClock().uptime)
        let (effects, isOver) = state.withLock { state -> (Effects, Bool) in
            let effects =
                switch result {
                case .success(let bytes?): state.receive(bytes, now: now, time: time)
                case .success(.none):
                    state.finish(.lost(TransportFailure(code: .networkConnectionLost, phase: .maybeSent)))
                case .failure(let error): state.finish(.lost(error))
                }
            return (effects, state.end != nil)
        }
        perform(effects)
        if !isOver { pump() }
        return !isOver
    }

    // MARK: Writing

    /// Sends all pending bytes, unless another task is already sending.
    private func pump() {
        send(isNext: false)
    }

    /// Sends what others have posted to the loop.
    private func pumpPosted() {
        state.withLock { $0.isPosted = false }
        pump()
    }

    /// - Parameter isNext: whether the caller has just handed bytes to the socket.
    private func send(isNext: Bool) {
        var isNext = isNext
        while let bytes = nextOutgoing(isNext: isNext) {
            do {
                guard try socket.startWriting(bytes) else { return finishInTask() }
                isNext = true
            } catch {
                return perform(state.withLock { $0.finishSending(error) })
            }
        }
    }

    private func nextOutgoing(isNext: Bool) -> Data? {
        let (now, time) = (clock.uptime, SystemClock().uptime)
        let (bytes, effects) = state.withLock { $0.takeOutgoing(isNext: isNext, now: now, time: time) }
        perform(effects)
        return bytes
    }

    /// Waits until the socket has room, and continues to send.
    private func finishInTask() {
        perform(state.withLock { $0.noteStarted() })
        let reference = Reference(connection: self)
        Task.detached { [socket] in
            do {
                try await socket.finishStarted()
                reference.connection?.send(isNext: true)
            } catch {
                reference.connection?.failSending(error)
            }
        }
    }

    private func failSending(_ error: any Error) {
        perform(state.withLock { $0.finishSending(error) })
    }
}
#endif
