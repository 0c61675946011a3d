// SPDX-License-Identifier: MIT

import PulseCore

/// One direction of an in-memory connection. A writer waits while the buffer is full.
final class MemoryPipe: Sendable {
    typealias Waiter = CheckedContinuation<Void, Never>

    private let state: Locked<State>

    init(capacity: Int) {
        state = Locked(State(capacity: capacity))
    }

    /// The next bytes; nil once the writing side has finished. A cancelled task gets the bytes that have arrived,
    /// without waiting.
    func read() async throws -> Data? {
        while true {
            let (arrival, writer) = try state.withLock { state in
                let arrival = try state.take()
                return (arrival, arrival == nil ? nil : state.writer.take())
            }
            writer?.resume()
            switch arrival {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case nil: try Task.checkCancellation()
            }
            await state.suspend(if: \.mustWaitToRead) {
                $0.reader = $1
            } onCancel: {
                $0.reader.take()
            }
        }
    }

    /// Writes all bytes, waiting for space. After a `CancellationError` some of them may have been written.
    ///
    /// - Parameter heedsCancellation: whether cancellation ends the wait for space.
    func write(_ bytes: Data, heedsCancellation: Bool) async throws {
        try state.withLock { try $0.beginWriting() }
        try await finish(bytes, heedsCancellation: heedsCancellation)
    }

    /// Starts a write. Returns whether all bytes were written; if not, ``finishStarted()`` must be called next.
    func startWriting(_ bytes: Data) throws -> Bool {
        try state.withLock { try $0.beginWriting() }
        var isLeft = false
        defer { if !isLeft { change { $0.endWriting() } } }
        let count = try append(bytes, from: 0)
        isLeft = count < bytes.count
        if isLeft { state.withLock { $0.started = (bytes, count) } }
        return !isLeft
    }

    func finishStarted() async throws {
        guard let (bytes, count) = state.withLock({ $0.started.take() }) else { return }
        try await finish(bytes, from: count, heedsCancellation: true)
    }

    private func append(_ bytes: Data, from start: Int) throws -> Int {
        let (count, reader) = try state.withLock { state in
            let count = try state.append(bytes, from: start)
            return (count, count > 0 ? state.reader.take() : nil)
        }
        reader?.resume()
        return count
    }

    private func finish(_ bytes: Data, from start: Int = 0, heedsCancellation: Bool) async throws {
        defer { change { $0.endWriting() } }
        var taken = start
        while true {
            taken += try append(bytes, from: taken)
            guard taken < bytes.count else { return }
            if heedsCancellation {
                try Task.checkCancellation()
                await state.suspend(if: \.mustWaitToWrite) {
                    $0.writer = $1
                } onCancel: {
                    $0.writer.take()
                }
            } else {
                await state.suspend(if: \.mustWaitToWrite) { $0.writer = $1 }
            }
        }
    }

    // MARK: Ends

    /// Ends the direction, after a write in progress.
    func finish() {
        change { $0.finish() }
    }

    func closeWriter(resetting: Bool) {
        change { $0.closeWriter(resetting: resetting) }
    }

    func closeReader() {
        change { $0.closeReader() }
    }

    /// Runs `body` once when either side has ended the direction; at once if that has happened.
    func onEnd(_ body: @escaping @Sendable () -> Void) {
        change { $0.observers.append(body) }
    }

    private func change(_ change: (inout State) -> Void) {
        let (waiters, observers) = state.withLock { state -> ([Waiter], [@Sendable () -> Void]) in
            change(&state)
            guard state.hasEnded else { return ([], []) }
            defer { state.observers = [] }
            return ([state.reader.take(), state.writer.take()].compactMap { $0 }, state.observers)
        }
        observers.forEach { $0() }
        waiters.forEach { $0.resume() }
    }
}

extension MemoryPipe {
    enum Arrival: Sendable {
        case bytes(Data)
        case end
    }

    enum Ending: Sendable {
        case finished
        case reset
    }

    struct State: Sendable {
        let capacity: Int
        var buffer = Data()
        /// How the writing side ended. The reader sees it after the buffered bytes.
        var ending: Ending?
        var isWriterClosed = false
        var isReaderClosed = false
        var isWriting = false
        /// The write in progress, and the number of its bytes in the buffer so far.
        var started: (bytes: Data, count: Int)?
        /// Whether the direction ends with the write in progress.
        var isFinishing = false
        var reader: Waiter?
        var writer: Waiter?
        var observers: [@Sendable () -> Void] = []

        init(capacity: Int) {
            self.capacity = max(1, capacity)
        }

        var hasEnded: Bool { ending != nil || isReaderClosed }
        var mustWaitToRead: Bool { buffer.isEmpty && !hasEnded && reader == nil }
        var mustWaitToWrite: Bool { buffer.count >= capacity && !hasEnded && writer == nil }

        /// Takes the buffered bytes or the end; nil if the reader must wait.
        mutating func take() throws -> Arrival? {
            if isReaderClosed { throw CancellationError() }
            guard reader == nil else { throw PulseError.invalidRequest(reason: "another task reads") }
            guard buffer.isEmpty else {
                defer { buffer = Data() }
                return .bytes(buffer)
            }
            switch ending {
            case .finished: return .end
            case .reset: throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent)
            case nil: return nil
            }
        }

        mutating func beginWriting() throws {
            guard !isWriting else { throw PulseError.invalidRequest(reason: "another task writes") }
            isWriting = true
        }

        /// Appends as many bytes as fit, and returns their number.
        mutating func append(_ bytes: Data, from offset: Int) throws -> Int {
            if isWriterClosed { throw CancellationError() }
            if hasEnded {
                throw TransportFailure(code: .networkConnectionLost, phase: offset == 0 ? .beforeSend : .maybeSent)
            }
            let count = min(bytes.count - offset, capacity - buffer.count)
            guard count > 0 else { return 0 }
            buffer.append(bytes.dropFirst(offset).prefix(count))
            return count
        }

        mutating func endWriting() {
            isWriting = false
            if isFinishing { finish() }
        }

        mutating func finish() {
            isFinishing = isWriting
            if !isWriting { ending = ending ?? .finished }
        }

        mutating func closeWriter(resetting: Bool) {
            isWriterClosed = true
            ending = resetting ? .reset : ending ?? .finished
        }

        mutating func closeReader() {
            isReaderClosed = true
            buffer = Data()
        }
    }
}
