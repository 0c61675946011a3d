// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension SocketConnection {
    /// What a writing task does next.
    enum WriteStep {
        case returns
        /// Sends more, after others have used the connection.
        case sends
        case waits
    }

    struct Writing {
        enum Phase {
            case open
            /// The direction ends once the outgoing bytes are sent.
            case finishing
            /// Nothing more can be sent. A response may have arrived before that.
            case failed(any Error)
        }

        /// The sender: any holder of the lock, always or only if nothing can be read, or a task that uses the channel
        /// without the lock.
        enum Sender { case anyone, anyoneIfIdle, borrower }

        var turn = Turn.free
        var phase = Phase.open
        /// Whether a send may find room: the loop gets one event each time that room becomes available.
        var hasRoom = true
        /// The bytes to send, of which the first ``outgoingSentCount`` are sent.
        var outgoing = Data()
        var outgoingSentCount = 0
        var sender = Sender.anyone
        /// Whether the peer may have received a byte of the exchange.
        var mayHaveSent = false
        /// The number of bytes of the exchange that are sent, and when the last of them were.
        var sent: (count: Int, time: TimeInterval) = (0, 0)

        var unsentCount: Int { outgoing.count - outgoingSentCount }
        var isSending: Bool { unsentCount > 0 }

        mutating func start(_ bytes: Data, ifIdle: Bool) {
            (outgoing, outgoingSentCount) = (bytes, 0)
            sender = ifIdle ? .anyoneIfIdle : .anyone
        }
    }
}

extension SocketConnection.State {
    /// The maximum size of a TLS record in bytes (RFC 8446, section 5.1).
    private static let recordSize = 16 << 10

    /// Why nothing more can be sent.
    var failure: (any Error)? {
        if case .failed(let error) = writing.phase { end ?? error } else { end }
    }

    /// Whether the loop must still check that nothing can be read.
    var isUnsent: Bool { writing.sender == .anyoneIfIdle && writing.isSending && end == nil }
    /// Whether the next ``flush()`` may send something.
    var maySend: Bool { writing.isSending && writing.sender != .borrower && writing.hasRoom && failure == nil }

    /// Sends as many bytes as possible without waiting; over TLS, at most a turn.
    mutating func flush() {
        guard writing.isSending, writing.sender != .borrower, failure == nil, let channel else { return }
        guard writing.sender == .anyone || channel.isIdle else {
            return fail(TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true))
        }
        writing.sender = .anyone
        note(
            writing.outgoing.withUnsafeBytes { bytes in
                channel.send(UnsafeRawBufferPointer(rebasing: bytes[writing.outgoingSentCount...]))
            })
    }

    /// Notes the outcome of a send.
    private mutating func note(_ outcome: SocketChannel.Outcome) {
        switch outcome {
        case .bytes(let count):
            writing.mayHaveSent = true
            writing.outgoingSentCount += count
            writing.sent = (writing.sent.count + count, pulse_monotonic_now())
            lastActivity = writing.sent.time
            // A socket accepts all that it has room for.
            writing.hasRoom = channel?.isIndirect == true || !writing.isSending
            if !writing.isSending { (writing.outgoing, writing.outgoingSentCount) = (Data(), 0) }
            finishIfSent()
        case .blocked:
            writing.hasRoom = false
            writing.mayHaveSent = writing.mayHaveSent || channel?.mayHaveSent == true
        case .failed(let code, let cause):
            // A send of several records may have failed after the first.
            let isLong = writing.unsentCount > Self.recordSize
            writing.mayHaveSent = writing.mayHaveSent || isLong && channel?.mayHaveSent == true
            writing.phase = .failed(
                TransportFailure(code: code, phase: isBegun ? .maybeSent : .beforeSend, underlying: cause))
        case .end:
            break
        }
    }

    /// Whether a part of the outgoing bytes may have been sent.
    private var isBegun: Bool { writing.outgoingSentCount > 0 || channel?.mayHaveSent == true }

    /// Starts a write. Returns the channel that the task sends on next, without the lock, before it calls
    /// ``endFirstSend(_:of:_:)``; nil if it calls ``continueWriting()`` instead.
    mutating func write(_ bytes: Data) throws -> SocketChannel? {
        if let failure { throw Self.writeFailure(failure, isBegun: false) }
        guard writing.turn.isFree, !writing.isSending else {
            throw PulseError.invalidRequest(reason: "another task writes")
        }
        guard case .open = writing.phase else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend, underlying: POSIXError(.EPIPE))
        }
        writing.start(bytes, ifIdle: false)
        guard writing.isSending else { return nil }
        writing.turn = .taken
        guard writing.hasRoom, let channel, !channel.isIndirect else { return nil }
        // Room that is reported from now on counts, whatever the send finds.
        (writing.sender, writing.hasRoom) = (.borrower, false)
        return channel
    }

    /// Notes the outcome of the first send, of this many bytes.
    mutating func endFirstSend(
        _ outcome: SocketChannel.Outcome, of count: Int, _ poller: pulse_poller
    ) throws -> SocketConnection.WriteStep {
        regain(poller)
        let hasGainedRoom = writing.hasRoom
        note(outcome)
        writing.hasRoom = writing.hasRoom || hasGainedRoom
        // All is sent, even if the peer has ended the connection meanwhile.
        if case .bytes(count) = outcome, channel != nil {
            writing.turn = .free
            return .returns
        }
        return try continueWriting()
    }

    mutating func continueWriting() throws -> SocketConnection.WriteStep {
        if writing.hasRoom { flush() }
        if let failure {
            let error = Self.writeFailure(failure, isBegun: isBegun)
            (writing.turn, writing.outgoing, writing.outgoingSentCount) = (.free, Data(), 0)
            throw error
        }
        writing.turn = writing.isSending ? .taken : .free
        return !writing.isSending ? .returns : writing.hasRoom ? .sends : .waits
    }

    /// The failure of a write: the connection may have ended while it read, or while earlier bytes were sent.
    private static func writeFailure(_ error: any Error, isBegun: Bool) -> any Error {
        guard let failure = error as? TransportFailure else { return error }
        return TransportFailure(
            code: failure.code, phase: isBegun ? .maybeSent : .beforeSend, underlying: failure.underlying)
    }

    /// Takes back unsent bytes. Returns false if some may have been sent.
    mutating func takeBack() -> Bool {
        guard !isBegun else { return false }
        // TLS keeps no bytes that it has not encrypted.
        (writing.turn, writing.outgoing) = (.free, Data())
        finishIfSent()
        return true
    }

    mutating func finishWriting() {
        if case .open = writing.phase { writing.phase = .finishing }
        finishIfSent()
    }

    private mutating func finishIfSent() {
        if case .finishing = writing.phase, !writing.isSending { channel?.finishWriting() }
    }
}
#endif
