// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The body of one request on its way into its stream, beside the response.
///
/// The task sends the whole body unless the response refuses it. A failure of the stream is left to the reader of the
/// response, which may have come before it.
final class HTTP2Upload: Sendable {
    private struct Stopped: Error {}

    private struct State {
        var isStopped = false
        /// Whether the socket has the whole body.
        var isSent = false
        /// Whether the task has ended, or no longer matters.
        var isOver = false
        var waiter: CheckedContinuation<Void, Never>?
        /// Why the body could not be produced.
        var failure: (any Error)?
        var task: Task<Void, Never>?
    }

    private let length: Int64?
    private let stream: HTTP2Stream
    private let state = Locked(State())

    /// Starts to send the body; the stream has the header fields.
    init(_ feed: BodyFeed, on stream: HTTP2Stream) {
        (length, self.stream) = (feed.length, stream)
        let hasBegun = stream.state?.isTaken == true
        if hasBegun { feed.begin() }
        // Only the task keeps the feed, whose file is closed when it ends.
        let task = Task {
            await run(feed, hasBegun: hasBegun)
            finish(cancels: false)
        }
        state.withLock { $0.task = task }
    }

    /// Whether the whole body is sent.
    var isSent: Bool { state.withLock { $0.isSent } }

    /// Why the body could not be produced. The stream has ended then.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Lets no further chunk follow: the server has refused the body.
    func stop() {
        state.withLock { $0.isStopped = true }
        // The server is slow from now on, and not the source.
        stream.setWaitsForSource(false)
    }

    /// Waits until the body is sent, or the stream has ended. Throws the error of the body's source, and
    /// `CancellationError`.
    func end() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
                let isOver = state.withLock { state in
                    if !state.isOver { state.waiter = waiter }
                    return state.isOver
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            cancel()
        }
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// Ends the task, and waits for nothing. Called when the stream is over.
    func cancel() {
        finish(cancels: true)
    }

    private func finish(cancels: Bool) {
        let (waiter, task) = state.withLock { state in
            (state.isStopped, state.isOver) = (state.isStopped || cancels, true)
            return (state.waiter.take(), state.task)
        }
        if cancels { task?.cancel() }
        waiter?.resume()
    }

    private func run(_ feed: BodyFeed, hasBegun: Bool) async {
        do {
            // Before the body is begun, which may be possible only once: the connection may be stale.
            try await stream.wait(for: .taken)
        } catch {
            return
        }
        guard stream.state?.isTaken == true else { return }
        if !hasBegun { feed.begin() }
        do {
            try await write(feed)
            state.withLock { $0.isSent = true }
        } catch is Stopped {
        } catch {
            let isStopped = state.withLock { state in
                if !state.isStopped { state.failure = BodyFeed.failure(of: error) }
                return state.isStopped
            }
            if !isStopped { stream.abort() }
        }
    }

    private func write(_ feed: BodyFeed) async throws {
        // A slow source does not make the server slow.
        stream.setWaitsForSource(true)
        // The response may have refused the body before that.
        if state.withLock({ $0.isStopped }) { stream.setWaitsForSource(false) }
        var count: Int64 = 0
        try await feed.write { chunk in
            count += Int64(chunk.count)
            if !chunk.isEmpty { try await send(chunk, isLast: count == length) }
        }
        if length == nil || length == 0 { try await send(Data(), isLast: true) }
        try? await stream.wait(for: .sent)
        guard stream.state?.sentAt != nil else { throw Stopped() }
    }

    private func send(_ bytes: Data, isLast: Bool) async throws {
        guard !state.withLock({ $0.isStopped }), stream.send(bytes, isLast: isLast) else { throw Stopped() }
        do {
            try await stream.wait(for: .room)
        } catch {
            throw Stopped()
        }
    }
}
#endif
