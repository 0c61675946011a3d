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
        /// The size of the body with its framing in bytes; nil until it is known.
        var size: Int64?
        /// Why the body could not be produced.
        var failure: (any Error)?
        var task: Task<Void, Never>?
    }

    private let feed: BodyFeed
    private let connection: any ReusableConnection & EagerConnection
    private let idleTimeout: TimeInterval
    private let state: Locked<State>

    /// Begins to write behind the head, which the connection has got.
    init(
        _ feed: BodyFeed, over connection: any ReusableConnection & EagerConnection, idleTimeout: TimeInterval
    ) {
        (self.feed, self.connection, self.idleTimeout) = (feed, connection, idleTimeout)
        state = Locked(State(size: feed.length))
        // The head of a reused connection that is stale was not sent.
        let hasBegun = connection.sent.count > 0
        if hasBegun { feed.begin() }
        let task = Task { await run(hasBegun: hasBegun) }
        state.withLock { $0.task = task }
    }

    /// Whether the connection has sent all of the body, behind a head of that size.
    func isSent(behind head: Int) -> Bool {
        guard let size = state.withLock({ $0.size }) else { return false }
        return Int64(connection.sent.count - head) == size
    }

    /// Why the body could not be produced. The connection is closed then.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Lets no further chunk follow: the server has refused the body.
    func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            connection.limitIdleTime(to: idleTimeout)
            state.isStopped = true
        }
    }

    /// Waits until the body is written, or the connection has failed. Throws the error of the body's source, and
    /// `CancellationError`.
    func end() async throws {
        let task = state.withLock { $0.task }
        await withTaskCancellationHandler {
            await task?.value
        } onCancel: {
            cancel()
        }
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// Ends the task. Called when the connection is closed, or needed no more.
    func cancel() {
        state.withLock { state in
            state.isStopped = true
            return state.task
        }?.cancel()
    }

    private func run(hasBegun: Bool) async {
        do {
            // Before the body is begun, which may be possible only once: a reused connection may be stale.
            try await connection.finishStarted()
        } catch {
            return
        }
        if !hasBegun { feed.begin() }
        do {
            try await write()
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

    private func write() async throws {
        // A slow source does not make the server slow.
        limitIdleTime(to: .infinity)
        guard feed.length == nil else { return try await feed.write { try await send($0) } }
        var size: Int64 = 0
        try await feed.write { chunk in
            // An empty one would end the body.
            guard !chunk.isEmpty else { return }
            size += Int64(try await send(chunk.framed))
        }
        size += Int64(try await send(Data().framed))
        state.withLock { $0.size = size }
    }

    /// Returns the number of sent bytes.
    @discardableResult
    private func send(_ bytes: Data) async throws -> Int {
        guard !state.withLock({ $0.isStopped }) else { throw Stopped() }
        limitIdleTime(to: idleTimeout)
        do {
            try await connection.write(bytes)
        } catch {
            throw Stopped()
        }
        limitIdleTime(to: .infinity)
        return bytes.count
    }

    /// Does nothing once stopped: the connection may have the next exchange.
    private func limitIdleTime(to timeout: TimeInterval) {
        state.withLock { state in
            if !state.isStopped { connection.limitIdleTime(to: timeout) }
        }
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
