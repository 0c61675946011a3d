// SPDX-License-Identifier: MIT

/// A body that arrives, or is produced, chunk by chunk.
///
/// ```swift
/// let body = ByteStream(next: { try await source.nextChunk() }, cancel: { source.close() })
/// for try await chunk in body { digest.update(data: chunk) }
/// ```
///
/// An `AsyncSequence` of `Data` with a single reader. Nothing is fetched ahead of the reader beyond what the source
/// buffers. The stream ends when its last chunk has been read, when it fails or is cancelled, when the loop over it
/// exits, or when the stream is deallocated. Each of these frees the source. Safe to use from any thread.
public final class ByteStream: AsyncSequence, Sendable {
    /// One chunk of the body.
    public typealias Element = Data

    private struct State {
        var hasReader = false
        var end: End?
        var observers: [@Sendable (PulseError?, _ bytesRead: Int) -> Void] = []
        var bytesRead = 0
        var timingsAtEnd: (@Sendable () -> PulseResponse.Timings?)?
        var trailersAtEnd: (@Sendable () -> HTTPHeaders)?
        /// The method and the redacted URL.
        var request: String?
    }

    private struct End {
        let error: PulseError?
    }

    private let nextChunk: @Sendable () async throws -> Data?
    private let cancelSource: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a stream over a source.
    ///
    /// - Parameter next: returns the next chunk, or nil after the last; never called concurrently.
    /// - Parameter cancel: frees the source if the stream ends before `next` returned nil. It is called at most once,
    ///   possibly while `next` waits; `next` must then return or throw soon.
    public init(next: @escaping @Sendable () async throws -> Data?, cancel: @escaping @Sendable () -> Void = {}) {
        nextChunk = next
        cancelSource = cancel
    }

    /// Creates a stream of existing chunks.
    public convenience init(_ chunks: [Data]) {
        let rest = Locked(chunks[...])
        self.init(next: { rest.withLock { $0.popFirst() } })
    }

    deinit {
        finish(.cancelled, cancelsSource: true)
    }

    /// Returns the measurements of the whole transfer, if the source measures; called after the stream has ended.
    package var timingsAtEnd: (@Sendable () -> PulseResponse.Timings?)? {
        get { state.withLock { $0.timingsAtEnd } }
        set { state.withLock { $0.timingsAtEnd = newValue } }
    }

    /// Returns the trailer fields after the bytes, if the source may have some; empty before the stream has ended.
    package var trailersAtEnd: (@Sendable () -> HTTPHeaders)? {
        get { state.withLock { $0.trailersAtEnd } }
        set { state.withLock { $0.trailersAtEnd = newValue } }
    }

    /// The method and the redacted URL of the request that this stream responds to, for the text of a failure.
    package var request: String? {
        get { state.withLock { $0.request } }
        set { state.withLock { $0.request = newValue } }
    }

    /// Returns the reader. Only the first reader can read; any other throws ``PulseError/invalidRequest(reason:)``.
    public func makeAsyncIterator() -> Iterator {
        let isFirst = state.withLock { state in
            defer { state.hasReader = true }
            return !state.hasReader
        }
        return Iterator(reader: isFirst ? Reader(self) : nil)
    }

    /// The reader of a stream. It is Sendable, so that one stream can wrap another; it must not be used concurrently.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let reader: Reader?

        /// Returns the next chunk, or nil after the last. Throws ``PulseError``; a second reader gets
        /// ``PulseError/invalidRequest(reason:)``.
        public mutating func next() async throws -> Data? {
            guard let reader else {
                throw PulseError.invalidRequest(reason: "a byte stream can be read only once")
            }
            return try await reader.stream.read()
        }
    }

    /// Ends the stream and frees its source; a reader gets ``PulseError/cancelled``. Does nothing once the stream has
    /// ended.
    public func cancel() {
        finish(.cancelled, cancelsSource: true)
    }

    /// Ends the stream as if all of it had been read, and frees its source. Does nothing once the stream has ended.
    package func finish() {
        finish(nil, cancelsSource: true)
    }

    /// Runs `body` once when the stream has ended, with its error if it failed; at once if it has already ended.
    ///
    /// May be called several times. Each closure runs on the thread that ends the stream and should be short.
    public func onEnd(_ body: @escaping @Sendable (PulseError?) -> Void) {
        onEnd { error, _ in body(error) }
    }

    /// Also passes the number of bytes read.
    package func onEnd(_ body: @escaping @Sendable (PulseError?, _ bytesRead: Int) -> Void) {
        let (end, bytesRead) = state.withLock { state in
            if state.end == nil { state.observers.append(body) }
            return (state.end, state.bytesRead)
        }
        if let end { body(end.error, bytesRead) }
    }

    /// Returns the whole body, for small bodies. Above `limit` bytes it cancels the stream and throws
    /// ``PulseError/responseTooLarge(limit:)``.
    public func collect(upTo limit: Int) async throws -> Data {
        var collected = Data()
        for try await chunk in self {
            guard collected.count + chunk.count <= limit else {
                cancel()
                throw PulseError.responseTooLarge(limit: limit)
            }
            collected.append(chunk)
        }
        return collected
    }

    private func read() async throws -> Data? {
        if let end = state.withLock({ $0.end }) {
            guard let error = end.error else { return nil }
            throw error
        }
        do {
            let chunk = try await withTaskCancellationHandler {
                try Task.checkCancellation()
                return try await nextChunk()
            } onCancel: {
                cancel()
            }
            if chunk == nil { finish(nil, cancelsSource: false) }
            // A cancelled source may report a normal end, and a truncated body must not look complete.
            let error = state.withLock { state in
                state.bytesRead += chunk?.count ?? 0
                return state.end?.error
            }
            if let error { throw error }
            return chunk
        } catch {
            let error = PulseError(wrapping: error).naming(request: request)
            // The first end determines the error: a cancelled source may throw any error.
            finish(error, cancelsSource: true)
            throw state.withLock { $0.end?.error } ?? error
        }
    }

    private func finish(_ error: PulseError?, cancelsSource: Bool) {
        let ended = state.withLock { state -> (observers: [@Sendable (PulseError?, Int) -> Void], bytesRead: Int)? in
            guard state.end == nil else { return nil }
            state.end = End(error: error)
            defer { state.observers = [] }
            return (state.observers, state.bytesRead)
        }
        guard let ended else { return }
        if cancelsSource { cancelSource() }
        ended.observers.forEach { $0(error, ended.bytesRead) }
    }

    /// Deallocated with its iterator, so that leaving a loop over the stream ends it even if others retain the stream.
    fileprivate final class Reader: Sendable {
        let stream: ByteStream

        init(_ stream: ByteStream) {
            self.stream = stream
        }

        deinit {
            stream.finish(.cancelled, cancelsSource: true)
        }
    }
}
