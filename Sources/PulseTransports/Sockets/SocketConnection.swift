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

extension SocketConnection {
    fileprivate enum Arrival {
        case bytes(Data)
        case end
    }

    fileprivate struct State {
        /// Negative once closed.
        var descriptor: Int32
        /// Why nothing can be read or sent any more.
        var end: (any Error)?
        var idleTimeout = TimeInterval.infinity
        var lastActivity: TimeInterval = 0

        var reader: Waiter?
        /// What the loop has read for the reader.
        var arrival: Arrival?
        /// Whether a read may find something: the loop gets one event for each arrival.
        var isReadable = false
        /// Whether the end of the peer's direction, or a failure, comes after the bytes that can be read.
        var hasEnded = false

        var writer: Waiter?
        /// The bytes to send, of which the first ``outgoingSentCount`` are sent.
        var outgoing = Data()
        var outgoingSentCount = 0
        /// Whether to send only if nothing can be read.
        var mustBeIdle = false
        var finishesWhenSent = false
        /// Why nothing can be sent any more. A response may have come before that.
        var sendFailure: TransportFailure?
        /// The bytes of the exchange that are sent.
        var sentCount = 0
        var sentAt: TimeInterval = 0
    }
}

extension SocketConnection.State {
    var deadline: TimeInterval { lastActivity + idleTimeout }

    mutating func end(_ error: any Error) -> [SocketConnection.Waiter] {
        end = end ?? error
        return [reader.take(), writer.take()].compactMap { $0 }
    }

    // MARK: Reading

    /// Whether a read returns or throws without waiting. Bytes that arrive before the request is sent belong to no
    /// request.
    var mayRead: Bool {
        end != nil || arrival != nil || !isUnsent && (isReadable || sendFailure != nil)
    }

    /// Reads without waiting; nil if there is nothing to read.
    mutating func read() throws -> SocketConnection.Arrival? {
        guard reader == nil else { throw PulseError.invalidRequest(reason: "another task reads") }
        if arrival == nil, end == nil, !isUnsent, isReadable || sendFailure != nil {
            receive(upTo: 64 << 10)
        }
        if let arrival = arrival.take() { return arrival }
        if let error = end ?? sendFailure { throw error }
        return nil
    }

    /// Receives into the loop's buffer, for the waiting reader.
    mutating func receive(with buffer: UnsafeMutableRawBufferPointer, now: TimeInterval) {
        guard arrival == nil, end == nil else { return }
        let count = received(recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)), of: buffer.count)
        if count > 0 {
            arrival = .bytes(Data(buffer[..<count]))
            lastActivity = max(lastActivity, now)
        }
    }

    /// Receives into a new block, which becomes the bytes without a copy.
    private mutating func receive(upTo limit: Int) {
        guard let block = malloc(limit) else { return }
        let count = received(recv(descriptor, block, limit, Int32(MSG_DONTWAIT)), of: limit)
        guard count > 0 else { return free(block) }
        // A block that is mostly empty would cost more memory than its bytes.
        let bytes = count > limit / 2 ? block : realloc(block, count) ?? block
        arrival = .bytes(Data(bytesNoCopy: bytes, count: count, deallocator: .free))
        lastActivity = pulse_monotonic_now()
    }

    /// Notes the result of a `recv`, and returns the number of bytes.
    private mutating func received(_ count: Int, of room: Int) -> Int {
        let number = errno
        switch count {
        case 1...:
            isReadable = count == room || hasEnded
        case 0:
            arrival = .end
        default:
            if Self.isBlocked(number) {
                (isReadable, hasEnded) = (false, false)
            } else {
                end = Self.lost(number, phase: .maybeSent)
            }
        }
        return max(0, count)
    }

    /// Whether the connection is open with nothing to read.
    var isSilent: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    private static func isBlocked(_ number: Int32) -> Bool {
        number == EAGAIN || number == EWOULDBLOCK || number == EINTR
    }

    private static func lost(_ number: Int32, phase: PulseError.Phase) -> TransportFailure {
        TransportFailure(
            code: .networkConnectionLost, phase: phase,
            underlying: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
    }

    // MARK: Writing

    var isSending: Bool { outgoingSentCount < outgoing.count }
    /// Whether the loop must still check that nothing can be read.
    var isUnsent: Bool { mustBeIdle && isSending && end == nil }

    mutating func start(_ bytes: Data, ifIdle: Bool) {
        (outgoing, outgoingSentCount, mustBeIdle) = (bytes, 0, ifIdle)
    }

    /// Sends as many bytes as possible without waiting.
    mutating func flush() {
        guard isSending, end == nil, sendFailure == nil else { return }
        guard !mustBeIdle || isSilent else {
            end = TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true)
            return
        }
        mustBeIdle = false
        let count = outgoing.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[outgoingSentCount...])
            return pulse_socket_send(descriptor, rest.baseAddress, rest.count)
        }
        let number = errno
        guard count >= 0 else {
            if !Self.isBlocked(number) {
                sendFailure = Self.lost(number, phase: outgoingSentCount == 0 ? .beforeSend : .maybeSent)
            }
            return
        }
        outgoingSentCount += count
        sentCount += count
        sentAt = pulse_monotonic_now()
        lastActivity = sentAt
        if !isSending { outgoing = Data(); outgoingSentCount = 0 }
        finishIfSent()
    }

    /// Whether a writer must wait. Throws what has ended it.
    func mustWaitToWrite() throws -> Bool {
        if let error = end ?? sendFailure { throw error }
        return isSending
    }

    /// Takes back bytes of which nothing is sent. False if something is.
    mutating func takeBack() -> Bool {
        guard outgoingSentCount == 0 else { return false }
        outgoing = Data()
        return true
    }

    mutating func finishIfSent() {
        guard finishesWhenSent, !isSending, descriptor >= 0 else { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }
}

extension [SocketConnection.Waiter] {
    fileprivate static func += (waiters: inout Self, waiter: SocketConnection.Waiter?) {
        if let waiter { waiters.append(waiter) }
    }
}
#endif
