// SPDX-License-Identifier: MIT

import PulseCore

/// A bounded pipe for bytes between a thread that must not block and a task that may suspend, in either direction.
///
/// The thread offers and takes without blocking. After a rejected attempt (``offer(_:resume:)`` returned false, or
/// ``take(into:resume:)`` returned ``Portion/nothingYet``), the pipe calls `wake` once, as soon as a retry can succeed.
/// One task reads or writes.
final class BytePipe: Sendable {
    /// A deferred resumption of a waiting task, for a thread that holds a lock and must perform it later.
    enum Resumption: Sendable {
        /// The reader of this pipe. When it resumes, it gets everything received until then.
        case reader(BytePipe)
        case writer(CheckedContinuation<Void, any Error>)

        func perform() {
            switch self {
            case .reader(let pipe): pipe.resumeReader()
            case .writer(let continuation): continuation.resume()
            }
        }
    }

    /// The result of ``take(into:resume:)``.
    enum Portion {
        case bytes(Int)
        case nothingYet
        case end
        case failed(any Error)
    }

    private struct State {
        var chunks: [Data] = []
        /// The index of the first unread chunk; `offset` counts its bytes that a thread has taken.
        var head = 0
        var offset = 0
        /// The bytes offered after the chunks.
        var block: ByteBlocks.Block?
        var count = 0
        var end: Result<Void, any Error>?
        var isThreadBlocked = false
        var reader: CheckedContinuation<Data?, any Error>?
        /// Whether a resumption of the reader is pending.
        var isReaderResuming = false
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
                // Bounds the array of a pipe that never becomes quite empty.
                chunks.removeFirst(head)
                head = 0
            }
            return chunk
        }

        /// Whether to wake a rejected thread, now that the reader has made room.
        mutating func wakesThread(_ capacity: Int) -> Bool {
            guard isThreadBlocked, count < capacity / 2 else { return false }
            isThreadBlocked = false
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

    /// Ends the pipe: it is complete, failed or cancelled. Only the first end counts. The reader gets bytes received
    /// before an error first; a cancellation drops them.
    func finish(_ error: (any Error)? = nil) {
        let waiters = state.withLock { state -> Waiters? in
            guard state.end == nil else { return nil }
            state.end = error.map { .failure($0) } ?? .success(())
            if error is CancellationError {
                (state.chunks, state.block) = ([], nil)
                (state.head, state.offset, state.count) = (0, 0, 0)
            }
            defer { (state.reader, state.writer, state.isThreadBlocked) = (nil, nil, false) }
            // A reader with a pending resumption first gets the bytes that triggered it.
            let last = state.reader == nil ? nil : state.popFirst(blocks)
            return Waiters(reader: state.reader, last: last, writer: state.writer, mustWake: state.isThreadBlocked)
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

    // MARK: Thread side

    /// Appends bytes for the reader. Returns false, with nothing taken, if the pipe is full. Drops bytes after the end.
    ///
    /// - Parameter resume: receives the waiting reader, if any. Bytes offered until it resumes are delivered in one
    ///   piece.
    func offer(_ bytes: UnsafeRawBufferPointer, resume: (Resumption) -> Void = { $0.perform() }) -> Bool {
        let (isTaken, mustCall) = state.withLock { state -> (Bool, Bool) in
            guard state.end == nil else { return (true, false) }
            guard state.count < capacity else {
                state.isThreadBlocked = true
                return (false, false)
            }
            state.append(bytes, blocks)
            guard state.reader != nil, !state.isReaderResuming else { return (true, false) }
            state.isReaderResuming = true
            return (true, true)
        }
        if mustCall { resume(.reader(self)) }
        return isTaken
    }

    private func resumeReader() {
        let (reader, chunk, mustWake) = state.withLock { state in
            state.isReaderResuming = false
            guard let reader = state.reader, let chunk = state.popFirst(blocks) else {
                return (nil, nil, false) as ResumedReader
            }
            state.reader = nil
            return (reader, chunk, state.wakesThread(capacity))
        }
        reader?.resume(returning: chunk)
        if mustWake { wake() }
    }

    private typealias ResumedReader = (CheckedContinuation<Data?, any Error>?, Data?, Bool)

    /// Moves the next written bytes into a buffer.
    ///
    /// - Parameter resume: receives the waiting writer, if there is room again.
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
                // Counts chunks only as they are removed.
                _ = state.popFirst(blocks)
                state.offset = 0
            }
            if taken == 0 {
                if state.end != nil { return (.end, nil) }
                state.isThreadBlocked = true
            }
            guard state.count < capacity else { return (.bytes(taken), nil) }
            defer { state.writer = nil }
            return (taken > 0 ? .bytes(taken) : .nothingYet, state.writer)
        }
        if let writer { resume(.writer(writer)) }
        return portion
    }

    // MARK: Task side

    /// The next bytes; nil after the last.
    func read() async throws -> Data? {
        try await withCheckedThrowingContinuation { continuation in
            let (ready, mustWake) = state.withLock { state -> (Result<Data?, any Error>?, Bool) in
                if let chunk = state.popFirst(blocks) { return (.success(chunk), state.wakesThread(capacity)) }
                if let end = state.end { return (end.map { nil }, false) }
                state.reader = continuation
                defer { state.isThreadBlocked = false }
                return (nil, state.isThreadBlocked)
            }
            if let ready { continuation.resume(with: ready) }
            if mustWake { wake() }
        }
    }

    /// Passes bytes to the thread and waits until there is room for more. Throws when the pipe has ended.
    func write(_ data: Data) async throws {
        guard !data.isEmpty else { return }
        try await withCheckedThrowingContinuation { continuation in
            let (ready, mustWake) = state.withLock { state -> (Result<Void, any Error>?, Bool) in
                if let end = state.end { return (end.flatMap { .failure(CancellationError()) }, false) }
                state.chunks.append(data)
                state.count += data.count
                defer { state.isThreadBlocked = false }
                guard state.count >= capacity else { return (.success(()), state.isThreadBlocked) }
                state.writer = continuation
                return (nil, state.isThreadBlocked)
            }
            if let ready { continuation.resume(with: ready) }
            if mustWake { wake() }
        }
    }
}
