// SPDX-License-Identifier: MIT

import PulseCore

/// What carries the body of one request behind its head: a connection of HTTP/1.1, or a stream of HTTP/2.
protocol UploadChannel: Sendable {
    /// Whether the system has got the head.
    var hasHead: Bool { get }
    /// Waits until it has. Throws if it never will.
    func finishHead() async throws
    /// Sends the next bytes, and waits until there is room for more. The last may be empty; the others are not. Throws
    /// if nothing more can be sent.
    func send(_ chunk: Data, isLast: Bool) async throws
    /// Waits until the system has got all. Throws if it never will.
    func finish() async throws
    /// Says whether the body waits for its source. That time is not the server's.
    func setWaitsForSource(_ waits: Bool)
    /// Says that the response is complete: what else can be read is no sign of a living server.
    func endReading()
    /// Ends the exchange, because the body cannot be produced.
    func abort()
}

/// The body of one request on its way into the connection, beside the response.
///
/// The task writes the whole body unless the response refuses it. A failure of the connection is left to the reader of
/// the response, which may have come before it.
final class BodyUpload: Sendable {
    private struct Stopped: Error {}

    private struct State {
        var isStopped = false
        /// Whether the whole body is written, and the channel is no longer the task's.
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

    /// Begins to write behind the head, which the channel has got.
    init(_ feed: BodyFeed, over channel: any UploadChannel) {
        (length, self.channel) = (feed.length, channel)
        // The head of a reused connection that is stale was not sent.
        let hasBegun = channel.hasHead
        if hasBegun { feed.begin() }
        // Only the task keeps the feed, whose file is closed when it ends.
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

    /// Lets no further chunk follow: the server has refused the body.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        // The server is slow from now on, and not the source.
        if isFirst { channel.setWaitsForSource(false) }
    }

    /// Waits until the body is written, or the connection has failed. Throws the error of the body's source, and
    /// `CancellationError`. The response is complete.
    func end() async throws {
        channel.endReading()
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
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

    /// Ends the task, and waits for nothing. Called when the exchange has ended, or the body is needed no more.
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
            // Before the body is begun, which may be possible only once: a reused connection may be stale.
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
        // A slow source does not make the server slow.
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

    /// Does nothing once stopped. The channel has no next exchange before the body is sent, after which nothing calls
    /// this.
    private func setWaitsForSource(_ waits: Bool) {
        guard !isStopped else { return }
        channel.setWaitsForSource(waits)
        // A stop that came meanwhile has said so before this.
        if waits, isStopped { channel.setWaitsForSource(false) }
    }
}
