// SPDX-License-Identifier: MIT

import PulseCore

/// The body of one request on its way into the connection, beside the response.
///
/// The task writes the whole body unless the response refuses it. A failure of the connection is left to the reader of
/// the response, which may have come before it.
final class HTTP1Upload: Sendable {
    private struct Stopped: Error {}

    private struct State {
        var isStopped = false
        /// Whether the whole body is written, and the connection is no longer the task's.
        var isSent = false
        /// Whether the task has ended, or no longer matters.
        var isOver = false
        var waiter: CheckedContinuation<Void, Never>?
        /// Why the body could not be produced.
        var failure: (any Error)?
        var task: Task<Void, Never>?
    }

    private let isChunked: Bool
    private let connection: any ReusableConnection
    private let idleTimeout: TimeInterval
    private let state = Locked(State())

    /// Begins to write behind the head, which the connection has got.
    init(_ feed: BodyFeed, over connection: any ReusableConnection, idleTimeout: TimeInterval) {
        (self.connection, self.idleTimeout) = (connection, idleTimeout)
        isChunked = feed.length == nil
        // The head of a reused connection that is stale was not sent.
        let hasBegun = connection.sent.count > 0
        if hasBegun { feed.begin() }
        // Only the task keeps the feed, whose file is closed when it ends.
        let task = Task {
            await run(feed, hasBegun: hasBegun)
            finish(cancels: false)
        }
        state.withLock { $0.task = task }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Whether the whole body is written, and nothing more happens to the connection.
    var isSent: Bool { state.withLock { $0.isSent } }

    /// Why the body could not be produced. The connection is closed then.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Lets no further chunk follow: the server has refused the body.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        if isFirst { connection.limitIdleTime(to: idleTimeout) }
    }

    /// Waits until the body is written, or the connection has failed. Throws the error of the body's source, and
    /// `CancellationError`. The response is complete: what else can be read is no sign of a living server.
    func end() async throws {
        connection.endReading()
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

    /// Ends the task, and waits for nothing. Called when the connection is closed, or needed no more.
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
            try await connection.finishSending()
        } catch {
            return
        }
        if !hasBegun { feed.begin() }
        do {
            try await write(feed)
            limitIdleTime(to: idleTimeout)
            return state.withLock { $0.isSent = true }
        } catch is Stopped {
        } catch {
            let isStopped = state.withLock { state in
                if !state.isStopped { state.failure = BodyFeed.failure(of: error) }
                return state.isStopped
            }
            if !isStopped { connection.close() }
        }
        limitIdleTime(to: idleTimeout)
    }

    private func write(_ feed: BodyFeed) async throws {
        // A slow source does not make the server slow.
        limitIdleTime(to: .infinity)
        try await feed.write { chunk in
            // An empty one would end the body.
            if !isChunked { try await send(chunk) } else if !chunk.isEmpty { try await send(chunk.framed) }
        }
        if isChunked { try await send(Data().framed) }
    }

    private func send(_ bytes: Data) async throws {
        guard !isStopped else { throw Stopped() }
        limitIdleTime(to: idleTimeout)
        do {
            try await connection.write(bytes)
        } catch {
            throw Stopped()
        }
        limitIdleTime(to: .infinity)
    }

    /// Does nothing once stopped. The connection has no next exchange before the body is sent, after which nothing
    /// calls this.
    private func limitIdleTime(to timeout: TimeInterval) {
        guard !isStopped else { return }
        connection.limitIdleTime(to: timeout)
        // A stop that came meanwhile has set the limit before this.
        if timeout != idleTimeout, isStopped { connection.limitIdleTime(to: idleTimeout) }
    }
}

extension Data {
    /// The bytes as a chunk; without any, the end of the chunks (RFC 9112, section 7.1).
    fileprivate var framed: Data {
        var framed = Data("\(String(count, radix: 16))\r\n".utf8)
        framed.append(self)
        framed.append(contentsOf: "\r\n".utf8)
        return framed
    }
}
