// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

extension SocketConnection {
    enum Arrival {
        case bytes(Data)
        case end
    }

    struct Reading {
        /// Where received bytes go.
        enum Target {
            /// Newly allocated memory.
            case pieces
            /// The memory of a stream.
            case stream(ByteBlocks)
            /// The memory of a whole body, which the loop's thread fills, or the task.
            case whole(BodyBuffer, isFilledByLoop: Bool)
            /// No task reads until the next exchange.
            case finished
        }

        var turn = Turn.free
        var target = Target.pieces
        /// What the loop has read for the reader.
        var arrival: Arrival?
        /// Whether a read may find something: the loop gets one event for each arrival.
        var isReadable: Bool
        /// Whether the end of the peer's direction, or a failure, follows the bytes that can be read.
        var hasEnded = false
        /// Whether the latest read has returned many bytes: a slow stream holds no block.
        var isFast = false

        var isFinished: Bool { if case .finished = target { true } else { false } }
    }
}

extension SocketConnection.State {
    /// Whether a read returns or throws without waiting. Bytes that arrive before the request is sent belong to no
    /// request.
    var mayRead: Bool { reading.arrival != nil || !isUnsent && (reading.isReadable || failure != nil) }
    /// Whether the connection is open with nothing to read.
    var isSilent: Bool { channel?.isSilent == true }

    /// Reads without waiting; nil if there is nothing to read. The task then waits and calls again, until the
    /// result is not nil.
    mutating func read(isAgain: Bool) throws -> SocketConnection.Arrival? {
        guard isAgain || reading.turn.isFree else { throw PulseError.invalidRequest(reason: "another task reads") }
        reading.turn = .free
        try Task.checkCancellation()
        let arrival = try nextArrival()
        if arrival == nil { reading.turn = .taken }
        // Time without a reader does not count as the peer's.
        if arrival == nil, !isAgain { lastActivity = pulse_monotonic_now() }
        return arrival
    }

    private mutating func nextArrival() throws -> SocketConnection.Arrival? {
        if mayReceive, mayRead {
            switch reading.target {
            case .whole(let body, _): receive(into: body, now: pulse_monotonic_now())
            case .stream(let blocks) where reading.isFast: receive(into: blocks)
            case .pieces, .stream, .finished: receive(upTo: 64 << 10)
            }
        }
        if let arrival = reading.arrival.take() { return arrival }
        if let failure { throw failure }
        return nil
    }

    /// Receives for the waiting reader, on the loop's thread.
    mutating func receive(with buffer: UnsafeMutableRawBufferPointer, now: TimeInterval) {
        guard mayReceive else { return }
        switch reading.target {
        case .whole(let body, isFilledByLoop: true): receive(into: body, now: now)
        // A stream's reader takes more at a time than the loop has room for.
        case .whole, .stream: break
        case .pieces, .finished:
            let count = fill(buffer)
            guard count > 0 else { return }
            reading.arrival = .bytes(Data(buffer[..<count]))
            lastActivity = max(lastActivity, now)
        }
    }

    private var mayReceive: Bool { reading.arrival == nil && end == nil }

    /// Receives a part of a whole body, which is delivered once it is complete.
    private mutating func receive(into body: BodyBuffer, now: TimeInterval) {
        guard let room = body.room() else {
            return fail(TransportFailure(code: .resourceUnavailable, phase: .maybeSent))
        }
        let count = fill(room)
        guard count > 0 else { return }
        lastActivity = max(lastActivity, now)
        if let bytes = body.add(count) { (reading.arrival, reading.target) = (.bytes(bytes), .pieces) }
    }

    /// Receives into a block of a stream.
    private mutating func receive(into blocks: ByteBlocks) {
        let block = blocks.take()
        block.add(fill(block.room))
        reading.isFast = block.count >= 32 << 10
        guard block.count > 0 else { return blocks.recycle(block) }
        if let copy = block.takeCopy() {
            reading.arrival = .bytes(copy)
            blocks.recycle(block)
        } else {
            reading.arrival = .bytes(blocks.data(of: block))
        }
        lastActivity = pulse_monotonic_now()
    }

    /// Receives into a new block, which becomes the bytes without a copy.
    private mutating func receive(upTo limit: Int) {
        guard let block = malloc(limit) else { return }
        let count = fill(UnsafeMutableRawBufferPointer(start: block, count: limit))
        reading.isFast = count > limit / 2
        guard count > 0 else { return free(block) }
        // A block that is mostly empty would cost more memory than its bytes.
        let bytes = count > limit / 2 ? block : realloc(block, count) ?? block
        reading.arrival = .bytes(Data(bytesNoCopy: bytes, count: count, deallocator: .free))
        lastActivity = pulse_monotonic_now()
    }

    /// Receives the available bytes, up to the buffer's size, and notes what follows them. Returns the number of bytes.
    private mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let channel else { return 0 }
        var count = 0
        repeat {
            switch channel.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])) {
            case .bytes(let more):
                count += more
                reading.isReadable = count == buffer.count || reading.hasEnded
            case .end:
                // The next read finds it again, and no event announces it.
                if count == 0 { reading.arrival = .end } else { reading.isReadable = true }
                return count
            case .blocked:
                (reading.isReadable, reading.hasEnded) = (false, false)
                return count
            case .failed(let code, let cause):
                fail(TransportFailure(code: code, phase: .maybeSent, underlying: cause))
                return count
            }
            // TLS returns one record at a time.
        } while channel.isIndirect && count < buffer.count
        return count
    }
}
#endif
