// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension SocketConnection {
    /// The state of a connection: what both directions share. ``Reading`` and ``Writing`` have the rest.
    struct State {
        /// The life of a connection.
        enum Phase {
            /// The connection is being opened, or carries an exchange.
            case open(SocketChannel)
            /// The connection waits for its next exchange, up to a time of the monotonic clock.
            case resting(SocketChannel, until: TimeInterval)
            /// Nothing more can be read or sent. The owner closes the connection.
            case failed(SocketChannel)
            /// Closed while a task uses the channel without the lock. That task closes the channel.
            case closing(SocketChannel)
            case closed
        }

        var phase: Phase
        /// Why nothing more can be read or sent; nil while the connection is open or resting. Not part of the phase,
        /// which would store the number of its case within the address: a check for leaks would not find the error.
        private(set) var end: (any Error)?
        var reading: Reading
        var writing = Writing()
        var idleTimeout = TimeInterval.infinity
        var lastActivity: TimeInterval = 0

        init(_ channel: SocketChannel) {
            phase = .open(channel)
            // No event reports bytes that have already left the socket.
            reading = Reading(isReadable: channel.isIndirect)
        }
    }

    enum Direction { case reading, writing }

    /// The turn to read, or to write: one task at a time has it.
    enum Turn {
        case free
        /// A task is between two steps, and keeps the turn.
        case taken
        case waiting(Waiter)

        var isFree: Bool { if case .free = self { true } else { false } }
        var isWaiting: Bool { if case .waiting = self { true } else { false } }

        /// The task to resume, if one waits. It keeps the turn.
        mutating func takeWaiter() -> Waiter? {
            guard case .waiting(let waiter) = self else { return nil }
            self = .taken
            return waiter
        }
    }
}

extension SocketConnection.State {
    var deadline: TimeInterval { lastActivity + idleTimeout }

    /// The channel; throws the error that has ended the connection.
    var openChannel: SocketChannel {
        get throws {
            if let end { throw end }
            guard let channel else { throw CancellationError() }
            return channel
        }
    }

    /// Nil once closed.
    var channel: SocketChannel? {
        switch phase {
        case .open(let channel), .resting(let channel, _), .failed(let channel): channel
        case .closing, .closed: nil
        }
    }

    subscript(direction: SocketConnection.Direction) -> SocketConnection.Turn {
        get { direction == .reading ? reading.turn : writing.turn }
        set { if direction == .reading { reading.turn = newValue } else { writing.turn = newValue } }
    }

    var isAwaited: Bool { reading.turn.isWaiting || writing.turn.isWaiting }

    /// The tasks to resume if the connection has ended, or can send no more.
    mutating func takeEnded() -> [SocketConnection.Waiter] {
        guard isAwaited, failure != nil else { return [] }
        return [reading.turn.takeWaiter(), writing.turn.takeWaiter()].compactMap { $0 }
    }

    // MARK: Phases

    mutating func begin(idleTimeout: TimeInterval, now: TimeInterval) {
        if case .resting(let channel, _) = phase { phase = .open(channel) }
        (self.idleTimeout, lastActivity) = (idleTimeout, now)
        (writing.mayHaveSent, writing.sent.count, reading.target) = (false, 0, .pieces)
    }

    /// Makes the connection idle. Returns whether it is closed instead.
    mutating func rest(until deadline: TimeInterval, _ poller: pulse_poller) -> Bool {
        do {
            phase = .resting(try openChannel, until: deadline)
            return endRestIfOver(poller)
        } catch {
            closeChannel(poller, error)
            return true
        }
    }

    /// Closes an idle connection if the peer has ended it or its time is over. Returns whether it is closed.
    mutating func endRestIfOver(_ poller: pulse_poller, now: TimeInterval = -.infinity) -> Bool {
        // The event may be of an earlier connection with this number.
        guard case .resting(_, let deadline) = phase, reading.hasEnded && !isSilent || now >= deadline else {
            return false
        }
        // For a request that arrives at the same moment.
        let failure = TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true)
        closeChannel(poller, failure)
        return true
    }

    /// Ends both directions, unless they have ended.
    mutating func fail(_ error: any Error) {
        if let channel = try? openChannel { (phase, end) = (.failed(channel), error) }
    }

    /// Ends both directions, and drops all bytes, whatever the connection's end was before.
    mutating func close(_ poller: pulse_poller) -> [SocketConnection.Waiter] {
        closeChannel(poller, CancellationError())
        (reading.arrival, writing.outgoing, writing.outgoingSentCount) = (nil, Data(), 0)
        return takeEnded()
    }

    /// Closes the channel, or leaves that to the task that uses it without the lock: another connection could get its
    /// descriptor.
    private mutating func closeChannel(_ poller: pulse_poller, _ error: any Error) {
        end = error
        guard let channel else { return }
        guard writing.sender != .borrower else { return phase = .closing(channel) }
        channel.close(poller)
        phase = .closed
    }

    /// Ends a task's use of the channel without the lock.
    mutating func regain(_ poller: pulse_poller) {
        writing.sender = .anyone
        guard case .closing(let channel) = phase else { return }
        channel.close(poller)
        phase = .closed
    }

    /// Notes an event of the poller.
    mutating func note(_ event: pulse_poller_event) {
        // TLS may read in order to write, and write in order to read.
        let isIndirect = channel?.isIndirect == true
        reading.isReadable = reading.isReadable || event.is_readable || isIndirect
        reading.hasEnded = reading.hasEnded || event.has_ended
        writing.hasRoom = writing.hasRoom || event.is_writable || isIndirect
    }
}
#endif
