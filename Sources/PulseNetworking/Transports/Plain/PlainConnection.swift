// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A connection in the clear, which carries one exchange at a time. It is closed when it is dropped.
final class PlainConnection: Sendable {
    /// Why a wait ended before there was something to do.
    enum End: Error {
        case cancelled, timedOut
        /// The system has no memory to watch another socket.
        case unwatched
    }

    private struct State {
        /// Which exchange has it, so that a late end of the one before does not hit it.
        var turn = 0
        /// Why the exchange must end.
        var end: End?
        var waiter: CheckedContinuation<Void, Never>?
        var deadline = TimeInterval.infinity
    }

    /// By which the loop knows it.
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
    func begin() -> Int {
        state.withLock { state in
            state.turn += 1
            return state.turn
        }
    }

    /// Ends the exchange, whose late cancel does not hit the next one; false if something else has ended it before.
    func finish() -> Bool {
        state.withLock { state in
            state.turn += 1
            return state.end == nil
        }
    }

    /// Whether it is open and has nothing to be read: what comes unasked answers no request.
    var isQuiet: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count < 0 && Self.isBlocked(errno)
    }

    /// How many bytes were taken; 0 if none can be now.
    func send(_ bytes: ArraySlice<UInt8>) throws(Broken) -> Int {
        let count = bytes.withUnsafeBytes { bytes in
            pulse_socket_send(descriptor, bytes.baseAddress, bytes.count)
        }
        if count >= 0 { return count }
        let number = errno
        guard Self.isBlocked(number) else { throw Broken(number: number) }
        return 0
    }

    enum Received {
        case bytes(Int)
        case nothingYet
        case end
    }

    /// Throws ``Broken``.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) throws -> Received {
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

    /// Waits until there may be something to read, or if so asked until there may be room to write. Throws ``End``.
    ///
    /// - Parameter deadline: in seconds of the monotonic clock.
    func wait(in loop: CurlLoop, until deadline: TimeInterval, orWriting: Bool = false) async throws {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                guard state.end == nil else { return true }
                (state.waiter, state.deadline) = (waiter, deadline)
                return false
            }
            if isOver { return waiter.resume() }
            guard pulse_loop_await(loop.poller, descriptor, orWriting, id) else { return end(.unwatched) }
            if loop.plain.isLate(for: deadline) { loop.wake() }
        }
        try check()
    }

    // MARK: From outside

    /// Called by the loop: there may be something to do.
    func wake() {
        let waiter = state.withLock { state in
            defer { (state.waiter, state.deadline) = (nil, .infinity) }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Ends the exchange of that turn, or whichever has the connection.
    func end(_ end: End, turn: Int? = nil) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard turn == nil || turn == state.turn, state.end == nil else { return nil }
            state.end = end
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Ends a wait that has lasted too long, unless its answer is there; gives when the next look is due.
    func checkTimeout(now: TimeInterval) -> TimeInterval {
        let isStruck = state.withLock { $0.waiter != nil && $0.deadline <= now }
        // The process may have been stopped for so long, and the answer waits to be read.
        let hasAnswer = isStruck && !isQuiet
        let (waiter, next) = state.withLock { state -> (CheckedContinuation<Void, Never>?, TimeInterval) in
            guard let waiter = state.waiter else { return (nil, .infinity) }
            guard state.deadline <= now else { return (nil, state.deadline) }
            if !hasAnswer { state.end = .timedOut }
            state.waiter = nil
            return (waiter, .infinity)
        }
        waiter?.resume()
        return next
    }
}
#endif
