// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

extension SocketConnection {
    enum Arrival {
        case bytes(Data)
        case end
    }

    /// What a writing task does next.
    enum WriteStep {
        case returns
        /// Sends more, after others had the connection.
        case sends
        case waits
    }

    struct State {
        /// Nil once closed.
        var channel: SocketChannel?
        /// Why nothing can be read or sent any more.
        var end: (any Error)?
        var idleTimeout = TimeInterval.infinity
        var lastActivity: TimeInterval = 0

        /// Whether a task reads. It holds no place in ``reader`` between a wait and its next attempt.
        var isReading = false
        var reader: Waiter?
        /// What the loop has read for the reader.
        var arrival: Arrival?
        /// Whether a read may find something: the loop gets one event for each arrival.
        var isReadable: Bool
        /// Whether the end of the peer's direction, or a failure, comes after the bytes that can be read.
        var hasEnded = false

        var isWriting = false
        var writer: Waiter?
        /// Whether a send may find room: the loop gets one event each time that there is some again.
        var hasRoom = true
        /// Whether a task sends the first bytes of a write, without the lock.
        var isFlushing = false
        /// Whether room was reported meanwhile.
        var hasGainedRoom = false
        /// What was closed meanwhile.
        var closing: SocketChannel?
        /// The bytes to send, of which the first ``outgoingSentCount`` are sent.
        var outgoing = Data()
        var outgoingSentCount = 0
        /// Whether to send only if nothing can be read.
        var mustBeIdle = false
        var finishesWhenSent = false
        /// Why nothing can be sent any more. A response may have come before that.
        var sendFailure: TransportFailure?
        /// Whether the peer may have got a byte of the exchange.
        var mayHaveSent = false
        /// The memory of a stream, if the exchange is one.
        var blocks: ByteBlocks?
        /// Whether the latest read has returned many bytes: a slow stream holds no block.
        var isFast = false
        /// The memory of a whole body that a task reads.
        var whole: BodyBuffer?
        /// Whether the loop's thread fills it.
        var isFilledByLoop = false
        /// Whether no task reads until the next exchange.
        var hasReadAll = false
        /// Until when the connection waits for its next exchange; nil during one.
        var restsUntil: TimeInterval?
        /// The bytes of the exchange that are sent.
        var sentCount = 0
        var sentAt: TimeInterval = 0

        init(_ channel: SocketChannel) {
            self.channel = channel
            // No event tells of bytes that have left the socket already.
            isReadable = channel.isIndirect
        }
    }
}

extension SocketConnection.State {
    /// The most bytes of a TLS record (RFC 8446, section 5.1).
    private static let recordSize = 16 << 10

    var deadline: TimeInterval { lastActivity + idleTimeout }

    /// The channel; throws what has ended the connection.
    var openChannel: SocketChannel {
        get throws {
            guard end == nil, let channel else { throw end ?? CancellationError() }
            return channel
        }
    }

    /// Ends both directions. Returns the tasks to resume.
    mutating func end(_ error: any Error) -> [SocketConnection.Waiter] {
        end = end ?? error
        return [reader.take(), writer.take()].compactMap { $0 }
    }

    /// The tasks to resume if the connection has ended, or can send no more.
    mutating func takeEnded() -> [SocketConnection.Waiter] {
        guard end != nil || sendFailure != nil, reader != nil || writer != nil else { return [] }
        return [reader.take(), writer.take()].compactMap { $0 }
    }

    /// Ends both directions, and drops all bytes, whatever the connection's end was before.
    mutating func close(_ poller: pulse_poller) -> [SocketConnection.Waiter] {
        closeChannel(poller)
        (arrival, outgoing, outgoingSentCount) = (nil, Data(), 0)
        end = CancellationError()
        return end(CancellationError())
    }

    /// Closes the channel, or has it closed by the task that uses it without the lock: its descriptor would become
    /// another connection's.
    private mutating func closeChannel(_ poller: pulse_poller) {
        if isFlushing { closing = closing ?? channel } else { channel?.close(poller) }
        channel = nil
    }

    /// Closes a connection that waits for its next exchange, if the peer has ended it or its time is over. Returns
    /// whether it is closed.
    mutating func endRestIfOver(_ poller: pulse_poller, now: TimeInterval = -.infinity) -> Bool {
        // The event may be of an earlier connection with this number.
        guard let restsUntil, hasEnded && !isSilent || now >= restsUntil else { return false }
        closeChannel(poller)
        // For a request that comes at the same moment.
        end = end ?? TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true)
        return true
    }

    /// Notes what an event of the poller says.
    mutating func note(_ event: pulse_poller_event) {
        // TLS may read in order to write, and write in order to read.
        let isIndirect = channel?.isIndirect == true
        isReadable = isReadable || event.is_readable || isIndirect
        hasRoom = hasRoom || event.is_writable || isIndirect
        hasGainedRoom = hasGainedRoom || isFlushing && event.is_writable
        hasEnded = hasEnded || event.has_ended
    }

    // MARK: Reading

    /// Whether a read returns or throws without waiting. Bytes that arrive before the request is sent belong to no
    /// request.
    var mayRead: Bool {
        end != nil || arrival != nil || !isUnsent && (isReadable || sendFailure != nil)
    }

    /// Reads without waiting; nil if there is nothing to read. The task then waits and calls again, until it gets
    /// something else.
    mutating func read(isAgain: Bool) throws -> SocketConnection.Arrival? {
        guard isAgain || !isReading else { throw PulseError.invalidRequest(reason: "another task reads") }
        isReading = false
        try Task.checkCancellation()
        let arrival = try nextArrival()
        isReading = arrival == nil
        // The time without a reader is not the peer's.
        if arrival == nil, !isAgain { lastActivity = pulse_monotonic_now() }
        return arrival
    }

    private mutating func nextArrival() throws -> SocketConnection.Arrival? {
        if arrival == nil, end == nil, !isUnsent, isReadable || sendFailure != nil {
            if let whole {
                receive(into: whole, now: pulse_monotonic_now())
            } else if let blocks, isFast {
                receive(into: blocks)
            } else {
                receive(upTo: 64 << 10)
            }
        }
        if let arrival = arrival.take() { return arrival }
        if let error = end ?? sendFailure { throw error }
        return nil
    }

    /// Receives into the loop's buffer, for the waiting reader.
    mutating func receive(with buffer: UnsafeMutableRawBufferPointer, now: TimeInterval) {
        guard arrival == nil, end == nil else { return }
        let count = fill(buffer)
        if count > 0 {
            arrival = .bytes(Data(buffer[..<count]))
            lastActivity = max(lastActivity, now)
        }
    }

    /// Receives a part of a whole body, which becomes the bytes once it is complete.
    mutating func receive(into whole: BodyBuffer, now: TimeInterval) {
        guard arrival == nil, end == nil else { return }
        guard let room = whole.room() else {
            return end = TransportFailure(code: .resourceUnavailable, phase: .maybeSent)
        }
        let count = fill(room)
        guard count > 0 else { return }
        lastActivity = max(lastActivity, now)
        if let bytes = whole.add(count) { (arrival, self.whole) = (.bytes(bytes), nil) }
    }

    /// Receives into a block of a stream.
    private mutating func receive(into blocks: ByteBlocks) {
        let block = blocks.take()
        block.add(fill(block.room))
        isFast = block.count >= 32 << 10
        guard block.count > 0 else { return blocks.recycle(block) }
        if let copy = block.takeCopy() {
            arrival = .bytes(copy)
            blocks.recycle(block)
        } else {
            arrival = .bytes(blocks.data(of: block))
        }
        lastActivity = pulse_monotonic_now()
    }

    /// Receives into a new block, which becomes the bytes without a copy.
    private mutating func receive(upTo limit: Int) {
        guard let block = malloc(limit) else { return }
        let count = fill(UnsafeMutableRawBufferPointer(start: block, count: limit))
        isFast = count > limit / 2
        guard count > 0 else { return free(block) }
        // A block that is mostly empty would cost more memory than its bytes.
        let bytes = count > limit / 2 ? block : realloc(block, count) ?? block
        arrival = .bytes(Data(bytesNoCopy: bytes, count: count, deallocator: .free))
        lastActivity = pulse_monotonic_now()
    }

    /// Receives what there is, up to the buffer's size, and notes what comes behind it. Returns the number of bytes.
    private mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let channel else { return 0 }
        var count = 0
        repeat {
            switch channel.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])) {
            case .bytes(let more):
                count += more
                isReadable = count == buffer.count || hasEnded
            case .end:
                // The next read finds it again, and no event announces it.
                if count == 0 { arrival = .end } else { isReadable = true }
                return count
            case .blocked:
                (isReadable, hasEnded) = (false, false)
                return count
            case .failed(let code, let cause):
                end = TransportFailure(code: code, phase: .maybeSent, underlying: cause)
                return count
            }
            // TLS returns one record at a time.
        } while channel.isIndirect && count < buffer.count
        return count
    }

    /// Whether the connection is open with nothing to read.
    var isSilent: Bool { channel?.isSilent == true }

    // MARK: Writing

    var isSending: Bool { outgoingSentCount < outgoing.count }
    /// Whether the loop must still check that nothing can be read.
    var isUnsent: Bool { mustBeIdle && isSending && end == nil }
    /// Whether the next ``flush()`` may send something.
    var maySend: Bool { isSending && !isFlushing && hasRoom && end == nil && sendFailure == nil }

    mutating func start(_ bytes: Data, ifIdle: Bool) {
        (outgoing, outgoingSentCount, mustBeIdle) = (bytes, 0, ifIdle)
    }

    /// Sends as many bytes as possible without waiting, or a turn of them.
    mutating func flush() {
        guard isSending, !isFlushing, end == nil, sendFailure == nil, let channel else { return }
        guard !mustBeIdle || channel.isIdle else {
            end = TransportFailure(code: .networkConnectionLost, phase: .beforeSend, isStaleConnection: true)
            return
        }
        mustBeIdle = false
        note(
            outgoing.withUnsafeBytes { bytes in
                channel.send(UnsafeRawBufferPointer(rebasing: bytes[outgoingSentCount...]))
            })
    }

    /// Notes what a send has done.
    private mutating func note(_ outcome: SocketChannel.Outcome) {
        switch outcome {
        case .bytes(let count):
            mayHaveSent = true
            outgoingSentCount += count
            sentCount += count
            sentAt = pulse_monotonic_now()
            lastActivity = sentAt
            // A socket takes all that it has room for.
            hasRoom = channel?.isIndirect == true || !isSending
            if !isSending { outgoing = Data(); outgoingSentCount = 0 }
            finishIfSent()
        case .blocked:
            hasRoom = false
            mayHaveSent = mayHaveSent || channel?.mayHaveSent == true
        case .failed(let code, let cause):
            // A send of several records may have failed behind the first.
            let isLong = outgoing.count - outgoingSentCount > Self.recordSize
            mayHaveSent = mayHaveSent || isLong && channel?.mayHaveSent == true
            sendFailure = TransportFailure(code: code, phase: isBegun ? .maybeSent : .beforeSend, underlying: cause)
        case .end:
            break
        }
    }

    /// Whether a part of the outgoing bytes may be sent.
    private var isBegun: Bool { outgoingSentCount > 0 || channel?.mayHaveSent == true }

    /// Begins to write. Returns the channel that the task sends on next, without the lock, before it calls
    /// ``endFirstSend(_:_:)``; nil if it calls ``continueWriting()`` instead.
    mutating func write(_ bytes: Data) throws -> SocketChannel? {
        if let error = end ?? sendFailure { throw Self.writeFailure(error, isBegun: false) }
        guard !isWriting, !isSending else { throw PulseError.invalidRequest(reason: "another task writes") }
        guard !finishesWhenSent else {
            throw TransportFailure(code: .networkConnectionLost, phase: .beforeSend, underlying: POSIXError(.EPIPE))
        }
        start(bytes, ifIdle: false)
        isWriting = isSending
        guard isSending, hasRoom, let channel, !channel.isIndirect else { return nil }
        (isFlushing, hasGainedRoom) = (true, false)
        return channel
    }

    /// Notes what the first send of so many bytes has done.
    mutating func endFirstSend(
        _ outcome: SocketChannel.Outcome, of count: Int, _ poller: pulse_poller
    ) throws -> SocketConnection.WriteStep {
        isFlushing = false
        closing.take()?.close(poller)
        note(outcome)
        hasRoom = hasRoom || hasGainedRoom
        // All is sent, also if the peer has ended the connection meanwhile.
        if case .bytes(count) = outcome, channel != nil {
            isWriting = false
            return .returns
        }
        return try continueWriting()
    }

    mutating func continueWriting() throws -> SocketConnection.WriteStep {
        if hasRoom { flush() }
        if let error = end ?? sendFailure {
            let failure = Self.writeFailure(error, isBegun: isBegun)
            (isWriting, outgoing, outgoingSentCount) = (false, Data(), 0)
            throw failure
        }
        isWriting = isSending
        return !isSending ? .returns : hasRoom ? .sends : .waits
    }

    /// The failure of a write: the connection may have ended while it read, or while earlier bytes were sent.
    private static func writeFailure(_ error: any Error, isBegun: Bool) -> any Error {
        guard let failure = error as? TransportFailure else { return error }
        return TransportFailure(
            code: failure.code, phase: isBegun ? .maybeSent : .beforeSend, underlying: failure.underlying)
    }

    /// Takes back bytes of which nothing is sent. False if something may be.
    mutating func takeBack() -> Bool {
        guard !isBegun else { return false }
        // TLS keeps no bytes that it has not encrypted.
        (isWriting, outgoing) = (false, Data())
        finishIfSent()
        return true
    }

    mutating func finishIfSent() {
        if finishesWhenSent, !isSending { channel?.finishWriting() }
    }
}
#endif
