// SPDX-License-Identifier: MIT

import PulseCore

/// A connection that carries one exchange after another, until it is upgraded to another protocol.
protocol ReusableConnection: DuplexConnection {
    /// Begins an exchange, for which ``sent`` counts from zero.
    ///
    /// - Parameter idleTimeout: after this many seconds without a byte in either direction, a wait fails with
    ///   `.timedOut`.
    func begin(idleTimeout: TimeInterval)

    /// Limits the time without a byte in either direction from now on, replacing earlier limits.
    func limitIdleTime(to timeout: TimeInterval)

    /// Sends bytes without waiting: what the system does not accept at once is sent when it has room. A read that finds
    /// no bytes throws the failure to send them.
    ///
    /// - Parameters:
    ///   - ifIdle: sends nothing if the connection has ended or has something to read. The next read then throws a
    ///     failure with ``TransportFailure/isStaleConnection``.
    ///   - isBatched: sends on the connection's own thread, together with other connections.
    func send(_ bytes: Data, ifIdle: Bool, isBatched: Bool)

    /// Returns when the system has accepted the bytes of ``send(_:ifIdle:isBatched:)``, so that ``write(_:)`` may
    /// follow. Throws as it does.
    func finishSending() async throws

    /// The number of bytes of the exchange that the system has accepted, and when it accepted the last, in monotonic
    /// seconds.
    var sent: (count: Int, time: TimeInterval) { get }

    /// Whether the peer may have received a byte of the exchange. TLS may have sent a part of what it has not accepted.
    var mayHaveSent: Bool { get }

    /// Reads a whole body into one buffer, which starts with the bytes already read. The result has `count` bytes, or
    /// more if bytes after the body were read too; nil if the connection ends before. Throws as ``read()`` does.
    func read(_ begun: Data, upTo count: Int) async throws -> Data?

    /// Notes that the rest of the exchange is a stream: reads return more bytes at a time, in memory that is reused.
    func beginStreaming()

    /// Notes that no task reads until the next exchange: unread bytes then do not prove that the peer is alive, and the
    /// memory of a stream is freed.
    func endReading()

    /// Notes that the connection is idle. It closes if the peer ends it, or after this time: an application that sends
    /// nothing keeps no dead sockets. A later exchange finds a stale connection.
    func rest(for seconds: TimeInterval)

    /// Ends the exchanges: no wait times out from now on.
    ///
    /// - Parameter unread: the bytes received after the last response, which the next read returns.
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
