// SPDX-License-Identifier: MIT

import PulseCore

/// Carries the body of one request after its head: an HTTP/1.1 connection or an HTTP/2 stream.
protocol UploadChannel: Sendable {
    /// Whether the system has the head.
    var hasHead: Bool { get }
    /// Waits until it has. Throws if it never will.
    func finishHead() async throws
    /// Sends the next bytes, and waits until there is room for more. The last may be empty; the others are not. Throws
    /// if nothing more can be sent.
    func send(_ chunk: Data, isLast: Bool) async throws
    /// Waits until the system has the whole body. Throws if it never will.
    func finish() async throws
    /// Sets whether the body waits for its source. That time does not count as the server's.
    func setWaitsForSource(_ waits: Bool)
    /// Notes that the response is complete: further bytes do not prove that the server is alive.
    func endReading()
    /// Ends the exchange, because the body cannot be produced.
    func abort()
}

/// Uploads the body of one request while its response is read.
///
/// A task writes the whole body unless the response refuses it. The reader of the response reports connection failures:
/// the response may precede them.
final class BodyUpload: Sendable {
    private struct Stopped: Error {}

    private struct State {
        var isStopped = false
        /// Whether the whole body is written, and the task no longer uses the channel.
        var isSent = false
        /// Whether the task has ended, or no longer matters.
        var isOver = false
        var waiter: CheckedContinuation<Void, Never>?
        /// Why the body could not be produced.
        var failure: (any Error)?
        var task: Task<Void, Never>?
    }

    private let length: Int64?
    private let channel: any UploadChannel
    private let state = Locked(State())

    /// Starts sending the body; the head was already handed to the channel.
    init(_ feed: BodyFeed, over channel: any UploadChannel) {
        (length, self.channel) = (feed.length, channel)
        // On a reused connection that is stale, the head was not sent.
        let hasBegun = channel.hasHead
        if hasBegun { feed.begin() }
        // Only the task retains the feed, so the file is closed when the task ends.
        let task = Task {
            await run(feed, hasBegun: hasBegun)
            finish(cancels: false)
        }
        state.withLock { $0.task = task }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether the whole body is written, and nothing more happens to the channel.
    var isSent: Bool { state.withLock { $0.isSent } }

    /// Why the body could not be produced. The exchange has ended then.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Sends no further chunk: the server has refused the body.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        // From now on, any wait is for the server, not for the source.
        if isFirst { channel.setWaitsForSource(false) }
    }

    /// Waits until the body is written, or the connection has failed. Call it once the response is complete. Throws the
    /// error of the body's source, and `CancellationError`.
    func end() async throws {
        channel.endReading()
        await withTaskCancellationHandler {
            await state.suspend(if: { !$0.isOver }) { $0.waiter = $1 }
        } onCancel: {
            cancel()
        }
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// Cancels the task without waiting for it. Called when the exchange has ended, or the body is no longer needed.
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
            // Before the body starts, which may be possible only once: a reused connection may be stale.
            try await channel.finishHead()
        } catch {
            return
        }
        if !hasBegun { feed.begin() }
        do {
            try await write(feed)
            return state.withLock { $0.isSent = true }
        } catch is Stopped {
        } catch {
            let isStopped = state.withLock { state in
                if !state.isStopped { state.failure = BodyFeed.failure(of: error) }
                return state.isStopped
            }
            if !isStopped { channel.abort() }
        }
        setWaitsForSource(false)
    }

    private func write(_ feed: BodyFeed) async throws {
        // A slow source must not count as a slow server.
        setWaitsForSource(true)
        var count: Int64 = 0
        try await feed.write { chunk in
            count += Int64(chunk.count)
            if !chunk.isEmpty { try await send(chunk, isLast: count == length) }
        }
        if length == nil || length == 0 { try await send(Data(), isLast: true) }
        setWaitsForSource(false)
        do { try await channel.finish() } catch { throw Stopped() }
    }

    private func send(_ chunk: Data, isLast: Bool) async throws {
        guard !isStopped else { throw Stopped() }
        setWaitsForSource(false)
        do { try await channel.send(chunk, isLast: isLast) } catch { throw Stopped() }
        setWaitsForSource(true)
    }

    /// Does nothing once stopped. The channel has no next exchange before the body is sent, and nothing calls this
    /// after that.
    private func setWaitsForSource(_ waits: Bool) {
        guard !isStopped else { return }
        channel.setWaitsForSource(waits)
        // A concurrent stop has set it to false before this call.
        if waits, isStopped { channel.setWaitsForSource(false) }
    }
}
