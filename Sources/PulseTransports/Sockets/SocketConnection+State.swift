// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension SocketConnection {
    enum Arrival {
        case bytes(Data)
        case end
    }

    struct State {
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
#endif
