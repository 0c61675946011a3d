// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A cleartext connection, which carries one exchange at a time. It closes when it is released.
final class HTTP1Connection: Sendable {
    /// Why a wait ended without data.
    enum End: Error {
        case cancelled, timedOut
        /// The idle connection was closed or has unexpected bytes, and the request was not sent.
        case stale
        /// The system has no memory to watch another socket.
        case unwatched
    }

    /// The result of sending a request or a part of it.
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

    /// The events that occurred while an exchange waited.
    struct Events {
        /// Why the exchange must end. Its request may have been sent before.
        var end: End?
        /// Nil if the loop has not tried to send.
        var sent: SendResult?
        /// The bytes that the loop has read.
        var arrival: Arrival?
    }

    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        /// The number of the current exchange. It prevents a late end of the previous exchange from hitting this one.
        var exchangeID = 0
        /// Why the exchange must end.
        var end: End?
        var waiter: Waiter?
        var deadline = TimeInterval.infinity
        /// The bytes that the loop sends for the waiting exchange.
        var outgoing: [UInt8]?
        var sent: SendResult?
        var arrival: Arrival?
        /// Whether the loop gets an event for every arrival.
        var isWatched = false
        /// For how many seconds the server keeps an idle connection, if it has said so.
        var idleLimit = TimeInterval.infinity

        mutating func takeWaiter() -> Waiter? {
            defer { (waiter, deadline, outgoing) = (nil, .infinity, nil) }
            return waiter
        }
    }

    /// The index in the ``HTTP1ConnectionPool``, by which the loop finds the connection.
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

    // MARK: Exchange

    /// Begins an exchange and returns its number for ``end(_:exchangeID:)``.
    func begin() -> Int {
        state.withLock { state in
            state.exchangeID += 1
            return state.exchangeID
        }
    }

    /// Ends the exchange, so that a late cancellation cannot hit the next one. False if it has already ended.
    ///
    /// - Parameter idleLimit: for how many seconds the server keeps the connection from now on, if it has said so.
    func finish(idleLimit: TimeInterval? = nil) -> Bool {
        state.withLock { state in
            state.exchangeID += 1
            if let idleLimit { state.idleLimit = idleLimit }
            return state.end == nil
        }
    }

    /// For how many seconds the server keeps an idle connection; infinity if it does not say.
    var idleLimit: TimeInterval { state.withLock { $0.idleLimit } }

    /// Whether the connection is open with nothing to read: unsolicited bytes belong to no request.
    var isQuiet: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    /// Sends as many bytes as possible without blocking.
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

    /// The connection has failed or ended early.
    struct Broken: Error {
        /// The errno; 0 for an end of the stream.
        let number: Int32
    }

    private static func isBlocked(_ number: Int32) -> Bool {
        number == EAGAIN || number == EWOULDBLOCK || number == EINTR
    }

    /// Throws ``End`` if the exchange must end.
    func check() throws {
        if let end = state.withLock({ $0.end }) { throw end }
    }

    /// Waits for the next event of the exchange.
    ///
    /// - Parameter deadline: in seconds of the monotonic clock.
    /// - Parameter outgoing: the bytes that the loop sends first.
    /// - Parameter begin: makes the loop send or watch; false if it has no memory.
    func wait(
        until deadline: TimeInterval, sending outgoing: [UInt8]? = nil, begin: (HTTP1Connection) -> Bool
    ) async -> Events {
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
            return Events(end: state.end, sent: state.sent, arrival: state.arrival)
        }
    }

    // MARK: Loop side

    /// Makes the loop watch once for readability or, if requested, for writability. False if it has no memory.
    func watch(_ poller: OpaquePointer, orWriting: Bool) -> Bool {
        state.withLock { state in
            state.isWatched = false
            return pulse_loop_await(poller, descriptor, orWriting, id)
        }
    }

    /// Sends for the waiting exchange, and watches for its response.
    func sendOutgoing(_ poller: OpaquePointer) {
        // Holds the lock, so that an ended exchange knows whether its request was sent.
        let waiter = state.withLock { state -> Waiter? in
            guard let outgoing = state.outgoing else { return nil }
            state.outgoing = nil
            guard state.exchangeID <= 1 || isQuiet else {
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

    /// Reads for the waiting exchange and returns its waiter. Events from before the loop has sent the request are
    /// ignored.
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

    // MARK: External events

    /// Ends the exchange with that number, or the current one.
    func end(_ end: End, exchangeID: Int? = nil) {
        let waiter = state.withLock { state -> Waiter? in
            guard exchangeID == nil || exchangeID == state.exchangeID, state.end == nil else { return nil }
            state.end = end
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Ends a wait that has timed out, unless its response has arrived. Returns the time of the next check.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let mayHaveResponse = state.withLock { $0.waiter != nil && $0.deadline <= now && $0.outgoing == nil }
        // After a suspension of the process, the response may be waiting to be read.
        let hasResponse = mayHaveResponse && !isQuiet
        let (waiter, next) = state.withLock { state -> (Waiter?, TimeInterval) in
            guard state.waiter != nil else { return (nil, .infinity) }
            guard state.deadline <= now else { return (nil, state.deadline) }
            if !hasResponse { state.end = .timedOut }
            return (state.takeWaiter(), .infinity)
        }
        waiter?.resume()
        return next
    }
}
#endif
