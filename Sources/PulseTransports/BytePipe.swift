// SPDX-License-Identifier: MIT

import PulseCore

/// A bounded pipe for bytes between a thread that must not wait and a task that may, in either direction.
///
/// The thread offers and takes without waiting. When it was turned away (``offer(_:resume:)`` gave false,
/// ``take(into:resume:)`` gave ``Portion/nothingYet``), `wake` is called once, as soon as another try is worth it. One
/// task reads or writes.
final class BytePipe: Sendable {
    /// A wait that is over, for a thread that holds a lock and must go on with it later.
    enum Resumption: Sendable {
        /// The reader of this pipe: it gets all that has come by the time it is resumed.
        case reader(BytePipe)
        case writer(CheckedContinuation<Void, any Error>)

        func perform() {
            switch self {
            case .reader(let pipe): pipe.resumeReader()
            case .writer(let continuation): continuation.resume()
            }
        }
    }

    /// What ``take(into:resume:)`` found.
    enum Portion {
        case bytes(Int)
        case nothingYet
        case end
        case failed(any Error)
    }

    private struct State {
        var chunks: [Data] = []
        /// The first chunk not read yet, and how much of it a thread has taken.
        var head = 0
        var offset = 0
        /// What was offered behind the chunks.
        var block: ByteBlocks.Block?
        var count = 0
        var end: Result<Void, any Error>?
        var isTurnedAway = false
        var reader: CheckedContinuation<Data?, any Error>?
        /// Whether somebody is about to resume the reader.
        var isReaderCalled = false
        var writer: CheckedContinuation<Void, any Error>?

        mutating func append(_ bytes: UnsafeRawBufferPointer, _ blocks: ByteBlocks) {
            count += bytes.count
            var rest = bytes[...]
            while !rest.isEmpty {
                let block = block ?? blocks.take()
                rest = rest.dropFirst(block.append(UnsafeRawBufferPointer(rebasing: rest)))
                self.block = block
                guard block.isFull else { continue }
                chunks.append(blocks.data(of: block))
                self.block = nil
            }
        }

        mutating func popFirst(_ blocks: ByteBlocks) -> Data? {
            guard head < chunks.count else {
                guard let block, block.count > 0 else { return nil }
                count -= block.count
                if let copy = block.takeCopy() { return copy }
                self.block = nil
                return blocks.data(of: block)
            }
            let chunk = chunks[head]
            chunks[head] = Data()
            head += 1
            count -= chunk.count
            if head == chunks.count {
                chunks.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024, head > chunks.count / 2 {
                // A pipe that is never quite empty would keep the places of all chunks.
                chunks.removeFirst(head)
                head = 0
            }
            return chunk
        }

        /// Whether a thread that was turned away is to try again, now that something was read.
        mutating func takesTurnBack(_ capacity: Int) -> Bool {
            guard isTurnedAway, count < capacity / 2 else { return false }
            isTurnedAway = false
            return true
        }
    }

    private let capacity: Int
    private let wake: @Sendable () -> Void
    private let blocks = ByteBlocks()
    private let state = Locked(State())

    init(capacity: Int = 2 << 20, wake: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.wake = wake
    }

    /// Ends the pipe: all bytes are there, or no more are wanted or can be had. The first end counts. Bytes that came
    /// before an error are read before it; before a cancellation they are dropped.
    func finish(_ error: (any Error)? = nil) {
        let waiters = state.withLock { state -> Waiters? in
            guard state.end == nil else { return nil }
            state.end = error.map { .failure($0) } ?? .success(())
            if error is CancellationError {
                (state.chunks, state.block) = ([], nil)
                (state.head, state.offset, state.count) = (0, 0, 0)
            }
            defer { (state.reader, state.writer, state.isTurnedAway) = (nil, nil, false) }
            // A reader that is about to be resumed gets what it was called for first.
            let last = state.reader == nil ? nil : state.popFirst(blocks)
            return Waiters(reader: state.reader, last: last, writer: state.writer, mustWake: state.isTurnedAway)
        }
        guard let waiters else { return }
        if let error, waiters.last == nil {
            waiters.reader?.resume(throwing: error)
        } else {
            waiters.reader?.resume(returning: waiters.last)
        }
        waiters.writer?.resume(throwing: error ?? CancellationError())
        if waiters.mustWake { wake() }
    }

    private struct Waiters {
        let reader: CheckedContinuation<Data?, any Error>?
        let last: Data?
        let writer: CheckedContinuation<Void, any Error>?
        let mustWake: Bool
    }

    // MARK: The thread's side

    /// Appends bytes for the reader; false, with nothing taken, if the pipe is full. After its end bytes are dropped.
    ///
    /// - Parameter resume: gets the reader, if it waits; what is offered until it is resumed goes to it in one piece.
    func offer(_ bytes: UnsafeRawBufferPointer, resume: (Resumption) -> Void = { $0.perform() }) -> Bool {
        let (isTaken, mustCall) = state.withLock { state -> (Bool, Bool) in
            guard state.end == nil else { return (true, false) }
            guard state.count < capacity else {
                state.isTurnedAway = true
                return (false, false)
            }
            state.append(bytes, blocks)
            guard state.reader != nil, !state.isReaderCalled else { return (true, false) }
            state.isReaderCalled = true
            return (true, true)
        }
        if mustCall { resume(.reader(self)) }
        return isTaken
    }

    private func resumeReader() {
        let (reader, chunk, mustWake) = state.withLock { state in
            state.isReaderCalled = false
            guard let reader = state.reader, let chunk = state.popFirst(blocks) else {
                return (nil, nil, false) as Called
            }
            state.reader = nil
            return (reader, chunk, state.takesTurnBack(capacity))
        }
        reader?.resume(returning: chunk)
        if mustWake { wake() }
    }

    private typealias Called = (CheckedContinuation<Data?, any Error>?, Data?, Bool)

    /// Moves the next written bytes into a buffer.
    ///
    /// - Parameter resume: gets the writer, if it waited and there is room again.
    func take(
        into buffer: UnsafeMutableRawBufferPointer, resume: (Resumption) -> Void = { $0.perform() }
    ) -> Portion {
        let (portion, writer) = state.withLock { state -> (Portion, CheckedContinuation<Void, any Error>?) in
            if case .failure(let error) = state.end { return (.failed(error), nil) }
            var taken = 0
            while taken < buffer.count, state.head < state.chunks.count {
                let chunk = state.chunks[state.head]
                let length = min(buffer.count - taken, chunk.count - state.offset)
                let start = chunk.startIndex + state.offset
                chunk.copyBytes(
                    to: UnsafeMutableRawBufferPointer(rebasing: buffer[taken...]), from: start..<start + length)
                taken += length
                state.offset += length
                guard state.offset == chunk.count else { break }
                // Whole chunks are counted off when they go.
                _ = state.popFirst(blocks)
                state.offset = 0
            }
            if taken == 0 {
                if state.end != nil { return (.end, nil) }
                state.isTurnedAway = true
            }
            guard state.count < capacity else { return (.bytes(taken), nil) }
            defer { state.writer = nil }
            return (taken > 0 ? .bytes(taken) : .nothingYet, state.writer)
        }
        if let writer { resume(.writer(writer)) }
        return portion
    }

    // MARK: The task's side

    /// The next bytes, nil after the last.
    func read() async throws -> Data? {
        try await withCheckedThrowingContinuation { continuation in
            let (ready, mustWake) = state.withLock { state -> (Result<Data?, any Error>?, Bool) in
                if let chunk = state.popFirst(blocks) { return (.success(chunk), state.takesTurnBack(capacity)) }
                if let end = state.end { return (end.map { nil }, false) }
                state.reader = continuation
                defer { state.isTurnedAway = false }
                return (nil, state.isTurnedAway)
            }
            if let ready { continuation.resume(with: ready) }
            if mustWake { wake() }
        }
    }

    /// Hands bytes to the thread and waits until there is room for more. Throws when the pipe has ended.
    func write(_ data: Data) async throws {
        guard !data.isEmpty else { return }
        try await withCheckedThrowingContinuation { continuation in
            let (ready, mustWake) = state.withLock { state -> (Result<Void, any Error>?, Bool) in
                if let end = state.end { return (end.flatMap { .failure(CancellationError()) }, false) }
                state.chunks.append(data)
                state.count += data.count
                defer { state.isTurnedAway = false }
                guard state.count >= capacity else { return (.success(()), state.isTurnedAway) }
                state.writer = continuation
                return (nil, state.isTurnedAway)
            }
            if let ready { continuation.resume(with: ready) }
            if mustWake { wake() }
        }
    }
}

/// Memory for what is offered to a pipe. A block comes back when the owner of its bytes lets go of them: fresh pages
/// would cost more than the copy into them.
private final class ByteBlocks: Sendable {
    /// One piece of memory with bytes; it belongs to the pipe, under its lock, until they are handed out.
    final class Block: @unchecked Sendable {
        // Unchecked: it belongs to one of them at a time, as above.

        /// Small pieces are put together up to this many bytes: each chunk costs the reader a switch of threads.
        static let size = 256 << 10

        let start = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        private(set) var count = 0

        deinit {
            start.deallocate()
        }

        var isFull: Bool { count == Self.size }

        /// Takes what there is room for, and tells how much that was.
        func append(_ bytes: UnsafeRawBufferPointer) -> Int {
            let length = min(bytes.count, Self.size - count)
            guard length > 0, let source = bytes.baseAddress else { return 0 }
            (start + count).copyMemory(from: source, byteCount: length)
            count += length
            return length
        }

        /// A copy of the bytes if they are few: a reader that keeps many short chunks must not keep a block for each.
        func takeCopy() -> Data? {
            guard count <= Self.size / 4 else { return nil }
            defer { count = 0 }
            return Data(bytes: start, count: count)
        }

        func clear() {
            count = 0
        }
    }

    /// How many idle blocks are kept; more are given back to the system.
    private static let idleLimit = 4

    private let idle = Locked<[Block]>([])

    func take() -> Block {
        idle.withLock { $0.popLast() } ?? Block()
    }

    /// The block's bytes, in place.
    func data(of block: Block) -> Data {
        Data(
            bytesNoCopy: block.start, count: block.count,
            deallocator: .custom { [self] _, _ in giveBack(block) })
    }

    private func giveBack(_ block: Block) {
        block.clear()
        idle.withLock { if $0.count < Self.idleLimit { $0.append(block) } }
    }
}
