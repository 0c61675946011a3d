// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A connection in the clear, which carries one exchange at a time. It is closed when it is dropped.
final class HTTP1Connection: Sendable {
    /// Why a wait ended before there was something to do.
    enum End: Error {
        case cancelled, timedOut
        /// Its connection was closed at rest, or has something to be read, and its request has not left.
        case stale
        /// The system has no memory to watch another socket.
        case unwatched
    }

    /// What was sent of a request.
    struct SendResult {
        /// Bytes; 0 if none can be sent now.
        var sentCount = 0
        /// In seconds of the monotonic clock, if any were sent.
        var time: TimeInterval = 0
        /// Why no more can be sent.
        var failure: Broken?
    }

    enum Arrival {
        case bytes([UInt8])
        case end
        case broken(Broken)
    }

    /// What happened while an exchange waited.
    struct News {
        /// Why it must end. Its request may have left before that.
        var end: End?
        /// Nil if the loop has not come to sending.
        var sent: SendResult?
        /// What the loop has read.
        var arrival: Arrival?
    }

    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        /// Which exchange has it, so that a late end of the one before does not hit it.
        var turn = 0
        /// Why the exchange must end.
        var end: End?
        var waiter: Waiter?
        var deadline = TimeInterval.infinity
        /// What the loop is to send for the one that waits.
        var outgoing: [UInt8]?
        var sent: SendResult?
        var arrival: Arrival?
        /// Whether the loop is told each time that something comes.
        var isWatched = false
        /// For how many seconds the server keeps it while it is idle, as far as it has said so.
        var idleLimit = TimeInterval.infinity

        mutating func takeWaiter() -> Waiter? {
            defer { (waiter, deadline, outgoing) = (nil, .infinity, nil) }
            return waiter
        }
    }

    /// Its place among the ``HTTP1ConnectionPool``, by which the loop knows it.
    let id: UInt64
    let origin: Origin
    let remoteAddress: String?
    private let descriptor: Int32
    private let state = Locked(State())

    init(_ descriptor: Int32, id: UInt64, _ origin: Origin, remoteAddress: String?) {
        self.descriptor = descriptor
        self.id = id
        self.origin = origin
        self.remoteAddress = remoteAddress
    }

    deinit {
        close(descriptor)
    }

    // MARK: Its exchange

    /// Begins an exchange; gives its number for ``end(_:turn:)``.
    ///
    /// - Parameter poller: of the loop, if this is not to be told of the answer: its sender looks for it.
    func begin(unseenBy poller: OpaquePointer? = nil) -> Int {
        state.withLock { state in
            state.turn += 1
            if let poller, state.isWatched {
                pulse_loop_ignore(poller, descriptor, id)
                state.isWatched = false
            }
            return state.turn
        }
    }

    /// Ends the exchange, whose late cancel does not hit the next one; false if something else has ended it before.
    ///
    /// - Parameter idleLimit: for how many seconds the server keeps the connection from now on, if it has said so.
    func finish(idleLimit: TimeInterval? = nil) -> Bool {
        state.withLock { state in
            state.turn += 1
            if let idleLimit { state.idleLimit = idleLimit }
            return state.end == nil
        }
    }

    /// For how many seconds the server keeps it while it is idle; infinity if it has not said.
    var idleLimit: TimeInterval { state.withLock { $0.idleLimit } }

    /// Whether it is open and has nothing to be read: what comes unasked answers no request.
    var isQuiet: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    /// Sends what can be sent now.
    func send(_ bytes: ArraySlice<UInt8>) -> SendResult {
        let count = bytes.withUnsafeBytes { bytes in
            pulse_socket_send(descriptor, bytes.baseAddress, bytes.count)
        }
        let number = errno
        if count >= 0 { return SendResult(sentCount: count, time: pulse_monotonic_now()) }
        return SendResult(failure: Self.isBlocked(number) ? nil : Broken(number: number))
    }

    enum Received {
        case bytes(Int)
        case nothingYet
        case end
    }

    func receive(_ buffer: UnsafeMutableRawBufferPointer) throws(Broken) -> Received {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        let number = errno
        guard Self.isBlocked(number) else { throw Broken(number: number) }
        return .nothingYet
    }

    /// The connection has failed, or ended before its time.
    struct Broken: Error {
        /// The system's; 0 for an end.
        let number: Int32
    }

    private static func isBlocked(_ number: Int32) -> Bool {
        number == EAGAIN || number == EWOULDBLOCK || number == EINTR
    }

    /// Throws ``End`` if the exchange must end.
    func check() throws {
        if let end = state.withLock({ $0.end }) { throw end }
    }

    /// Waits until something is there for the exchange.
    ///
    /// - Parameter deadline: in seconds of the monotonic clock.
    /// - Parameter outgoing: what the loop is to send before that.
    /// - Parameter begin: has the loop send, or watch; false if it has no memory to do so.
    func wait(
        until deadline: TimeInterval, sending outgoing: [UInt8]? = nil, begin: (HTTP1Connection) -> Bool
    ) async -> News {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                guard state.end == nil else { return true }
                (state.waiter, state.deadline, state.outgoing) = (waiter, deadline, outgoing)
                return false
            }
            if isOver { return waiter.resume() }
            if !begin(self) { end(.unwatched) }
        }
        return state.withLock { state in
            defer { (state.sent, state.arrival) = (nil, nil) }
            return News(end: state.end, sent: state.sent, arrival: state.arrival)
        }
    }

    // MARK: The loop

    /// Has the loop watch, once, for something to be read, or if so asked for room to write; false if it has no memory
    /// for that.
    func watch(_ poller: OpaquePointer, orWriting: Bool) -> Bool {
        state.withLock { state in
            state.isWatched = false
            return pulse_loop_await(poller, descriptor, orWriting, id)
        }
    }

    /// Sends for the exchange that waits, and has its answer watched for.
    func sendOutgoing(_ poller: OpaquePointer) {
        // Under the lock, so that an exchange which is ended knows whether its request has left.
        let waiter = state.withLock { state -> Waiter? in
            guard let outgoing = state.outgoing else { return nil }
            state.outgoing = nil
            guard state.turn <= 1 || isQuiet else {
                state.end = .stale
                return state.takeWaiter()
            }
            let sent = send(outgoing[...])
            state.sent = sent
            guard sent.failure == nil else { return state.takeWaiter() }
            if sent.sentCount < outgoing.count {
                state.isWatched = false
                if pulse_loop_await(poller, descriptor, true, id) { return nil }
            } else {
                state.isWatched = state.isWatched || pulse_loop_await_always(poller, descriptor, id)
                if state.isWatched { return nil }
            }
            state.end = .unwatched
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Reads for the exchange that waits, as there may be something for it; gives what lets it go on. What the loop is
    /// told of before it has sent the request is not for it.
    ///
    /// - Parameter buffer: of the loop's thread.
    func receive(with buffer: UnsafeMutableRawBufferPointer) -> Waiter? {
        state.withLock { state in
            guard state.outgoing == nil, let waiter = state.takeWaiter() else { return nil }
            do throws(Broken) {
                switch try receive(buffer) {
                case .bytes(let count): state.arrival = .bytes(Array(buffer[..<count]))
                case .end: state.arrival = .end
                case .nothingYet: break
                }
            } catch {
                state.arrival = .broken(error)
            }
            return waiter
        }
    }

    // MARK: From outside

    /// Ends the exchange of that turn, or whichever has the connection.
    func end(_ end: End, turn: Int? = nil) {
        let waiter = state.withLock { state -> Waiter? in
            guard turn == nil || turn == state.turn, state.end == nil else { return nil }
            state.end = end
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Ends a wait that has lasted too long, unless its answer is there; gives when the next look is due.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let mayHaveAnswer = state.withLock { $0.waiter != nil && $0.deadline <= now && $0.outgoing == nil }
        // The process may have been stopped for so long, and the answer waits to be read.
        let hasAnswer = mayHaveAnswer && !isQuiet
        let (waiter, next) = state.withLock { state -> (Waiter?, TimeInterval) in
            guard state.waiter != nil else { return (nil, .infinity) }
            guard state.deadline <= now else { return (nil, state.deadline) }
            if !hasAnswer { state.end = .timedOut }
            return (state.takeWaiter(), .infinity)
        }
        waiter?.resume()
        return next
    }
}
#endif
