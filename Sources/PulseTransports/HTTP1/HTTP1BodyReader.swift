// SPDX-License-Identifier: MIT

import PulseCore

/// Reads the body of a streamed response from an HTTP/1.1 connection.
final class HTTP1BodyReader: BodyReader, @unchecked Sendable {
    // Unchecked: a stream has one reader at a time, which alone uses the parser; a lock protects the rest.

    private struct State {
        /// Nil once the connection is back in the pool, or closed: an ended stream keeps nothing alive.
        var source: Source?
        var timings: PulseResponse.Timings
        var trailers = HTTPHeaders()
    }

    private struct Source: Sendable {
        let pooled: PooledConnection
        let pool: (any IdleConnections)?
        let upload: BodyUpload?
        /// The size of the request without an uploaded body, in bytes.
        let headSize: Int

        var isSent: Bool { upload?.isSent ?? (pooled.connection.sent.count == headSize) }
    }

    private let startedAt: TimeInterval
    private var parser: HTTP1ResponseParser
    private var readCount = 0
    /// The bytes of the latest read, if they belong to the body unchanged.
    private var passed: Data?
    private var failure: (any Error)?
    private let state: Locked<State>

    /// - Parameters:
    ///   - parser: has read the head, and possibly a part of the body.
    ///   - headSize: of the request without an uploaded body, in bytes.
    init(
        _ parser: HTTP1ResponseParser, _ timings: PulseResponse.Timings, from pooled: PooledConnection,
        to pool: (any IdleConnections)?, _ upload: BodyUpload?, headSize: Int, startedAt: TimeInterval
    ) {
        (self.parser, self.startedAt) = (parser, startedAt)
        let source = Source(pooled: pooled, pool: pool, upload: upload, headSize: headSize)
        state = Locked(State(source: source, timings: timings))
        pooled.connection.beginStreaming()
        completeIfPossible()
    }

    var timings: PulseResponse.Timings { state.withLock { $0.timings } }

    var trailers: HTTPHeaders { state.withLock { $0.trailers } }

    func read() async throws -> Data? {
        while true {
            if let piece = takePiece() { return piece }
            if let failure { throw failure }
            if parser.isComplete {
                // The server may keep reading after its response.
                try await state.withLock({ $0.source })?.upload?.end()
                completeIfPossible(isOver: true)
                return nil
            }
            try await receive()
        }
    }

    /// Closes the connection.
    func cancel() {
        guard let source = state.withLock({ $0.source.take() }) else { return }
        source.upload?.cancel()
        source.pooled.connection.close()
    }

    private func takePiece() -> Data? {
        if let piece = passed.take() { return piece }
        let piece = parser.takeBody()
        return piece.isEmpty ? nil : piece
    }

    private func receive() async throws {
        guard let source = state.withLock({ $0.source }) else { throw CancellationError() }
        readCount += 1
        // The cooperative pool has few threads.
        if readCount % 64 == 0 { await Task.yield() }
        do {
            if let bytes = try await source.pooled.connection.read() {
                if try parser.passes(bytes.count) {
                    passed = bytes
                } else {
                    try bytes.withUnsafeBytes { try parser.read($0) }
                }
            } else if try !parser.readEnd() {
                throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
            }
        } catch is HTTP1ResponseParser.Malformed {
            // The bytes before the fault are part of the body.
            failure = TransportFailure(code: .badServerResponse, phase: .responseStarted)
        } catch let lost as TransportFailure {
            failure = TransportFailure(code: lost.code, phase: .responseStarted, underlying: lost.underlying)
        } catch {
            throw source.upload?.failure ?? error
        }
        completeIfPossible()
    }

    /// Returns the connection to the pool as soon as the exchange is over, whether or not its last bytes are read.
    ///
    /// - Parameter isOver: whether nothing more will be sent.
    private func completeIfPossible(isOver: Bool = false) {
        let now = SystemClock().uptime
        // Read outside the lock: the connection has its own lock.
        let current = parser.isComplete ? state.withLock { $0.source } : nil
        let (isSent, sentAt) = (current?.isSent == true, current?.pooled.connection.sent.time ?? 0)
        let ended = state.withLock { state -> Source? in
            state.timings.bytesReceived = parser.body.receivedCount
            guard parser.isComplete, let source = state.source else { return nil }
            state.trailers = parser.trailers
            guard isOver || isSent || source.upload == nil else { return nil }
            state.timings.lastByte = now - startedAt
            if isSent { state.timings.requestSent = sentAt - startedAt }
            state.source = nil
            return source
        }
        // An idle connection holds no memory of a stream.
        ended?.pooled.connection.endReading()
        ended?.pooled.release(to: ended?.pool, after: parser, isSent: isSent, now: now)
    }
}
