// SPDX-License-Identifier: MIT

import PulseCore

/// A connection that carries one exchange after another, until it carries another protocol.
protocol ReusableConnection: DuplexConnection {
    /// Begins an exchange, for which ``sent`` counts from zero.
    ///
    /// - Parameter idleTimeout: after this many seconds without a byte in either direction, a wait fails with
    ///   `.timedOut`.
    func begin(idleTimeout: TimeInterval)

    /// Begins to limit the time without a byte in either direction, in place of earlier limits.
    func limitIdleTime(to timeout: TimeInterval)

    /// Sends bytes without waiting: what the system does not take at once is sent when it has room. A read that finds
    /// no bytes throws the failure to send them.
    ///
    /// - Parameters:
    ///   - ifIdle: sends nothing if the connection has ended or has something to read. The next read throws a failure
    ///     with ``TransportFailure/isStaleConnection`` then.
    ///   - isBatched: sends on the connection's own thread, together with other connections.
    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool)

    /// Returns when the system has taken what ``send(_:ifIdle:isBatched:)`` has got, so that ``write(_:)`` may follow.
    /// Throws as that.
    func finishSending() async throws

    /// The bytes of the exchange that the system has taken, and when it took the last of them, in seconds of the
    /// monotonic clock.
    var sent: (count: Int, time: TimeInterval) { get }

    /// Whether the peer may have got a byte of the exchange. TLS may have sent a part of what it has not taken.
    var mayHaveSent: Bool { get }

    /// Reads a whole body into one buffer: the bytes that were read of it, and those that come. The result has as many
    /// bytes as announced, or those behind it too; nil at the end of the connection. Throws as ``read()`` does.
    func read(_ begun: Data, upTo count: Int) async throws -> Data?

    /// Says that the rest of the exchange is a stream: reads return more bytes at a time, in memory that is reused.
    func beginStreaming()

    /// Says that no task reads until the next exchange: bytes that wait to be read are no sign of life then, and the
    /// memory of a stream is freed.
    func endReading()

    /// Says that the connection waits for its next exchange. It closes if the peer ends it, or after so many seconds:
    /// an application that sends nothing keeps no dead sockets. A next exchange that comes too late is one over a stale
    /// connection.
    func rest(for seconds: TimeInterval)

    /// Ends the exchanges: no wait times out from now on.
    ///
    /// - Parameter unread: the bytes that came behind the last response, which the next read returns.
    func upgrade(unread: Data)
}

extension ReusableConnection {
    func rest(for seconds: TimeInterval) {}

    func read(_ begun: Data, upTo count: Int) async throws -> Data? {
        var bytes = begun
        bytes.reserveCapacity(min(count, 1 << 20))
        while bytes.count < count {
            guard let more = try await read() else { return nil }
            bytes.append(more)
            // The cooperative pool has few threads.
            await Task.yield()
        }
        return bytes
    }
}
