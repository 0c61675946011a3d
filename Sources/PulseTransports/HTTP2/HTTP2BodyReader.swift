// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// Reads the body of a streamed response from an HTTP/2 stream.
final class HTTP2BodyReader: BodyReader, @unchecked Sendable {
    // Unchecked: a stream has one reader at a time, which alone uses the pieces; a lock protects the rest.

    private struct Source: Sendable {
        let stream: HTTP2Stream
        let upload: BodyUpload?
    }

    private struct State {
        /// Nil once the response is read, or its stream is cancelled: an ended stream keeps nothing alive.
        var source: Source?
        var timings: PulseResponse.Timings
        var trailers = HTTPHeaders()

        mutating func note(_ stream: HTTP2Connection.StreamState?, startedAt: TimeInterval) {
            guard let stream else { return }
            timings.note(stream, startedAt: startedAt)
            trailers = stream.trailers
        }
    }

    /// The number of bytes to take at a time. Meanwhile the peer can send as many more.
    private static let portion = 64 << 10

    private let startedAt: TimeInterval
    /// The pieces that are taken but not read, in reverse order.
    private var pieces: [Data] = []
    private var readCount = 0
    private let state: Locked<State>

    /// - Parameter stream: has the head of the response.
    init(_ timings: PulseResponse.Timings, from stream: HTTP2Stream, _ upload: BodyUpload?, startedAt: TimeInterval) {
        self.startedAt = startedAt
        state = Locked(State(source: Source(stream: stream, upload: upload), timings: timings))
    }

    var timings: PulseResponse.Timings {
        let known = state.withLock { $0.source }?.stream.state
        return state.withLock { state in
            state.note(known, startedAt: startedAt)
            return state.timings
        }
    }

    var trailers: HTTPHeaders { state.withLock { $0.trailers } }

    func read() async throws -> Data? {
        if let piece = pieces.popLast() { return piece }
        guard let source = state.withLock({ $0.source }) else { throw CancellationError() }
        readCount += 1
        // The cooperative pool has few threads.
        if readCount % 64 == 0 { await Task.yield() }
        do {
            if let next = try await source.stream.bytes(upTo: Self.portion) {
                pieces = next.reversed()
                return pieces.popLast()
            }
            // The server may keep reading after its response.
            try await source.upload?.end()
        } catch let ended as HTTP2Stream.Ended {
            throw source.upload?.failure ?? ended.failureOfBody
        } catch {
            throw source.upload?.failure ?? error
        }
        end()
        return nil
    }

    func cancel() {
        end()
    }

    private func end() {
        guard let source = state.withLock({ $0.source.take() }) else { return }
        let known = source.stream.state
        state.withLock { $0.note(known, startedAt: startedAt) }
        source.upload?.cancel()
        source.stream.release()
    }
}

extension PulseResponse.Timings {
    /// Copies the measurements of a stream.
    mutating func note(_ stream: HTTP2Connection.StreamState, startedAt: TimeInterval) {
        firstByte = stream.firstByteAt.map { $0 - startedAt }
        lastByte = stream.lastByteAt.map { $0 - startedAt }
        requestSent = stream.sentAt.map { $0 - startedAt }
        bytesReceived = stream.receivedCount
    }
}

extension HTTP2Stream.Ended {
    /// The error of a body whose head was received.
    fileprivate var failureOfBody: any Error {
        let progress = HTTP2Outcome.Progress(isBegun: true, hasHead: true)
        guard case .failed(let error) = HTTP2Outcome(of: cause, progress) else { return CancellationError() }
        return error
    }
}
#endif
