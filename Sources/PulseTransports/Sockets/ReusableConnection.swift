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

    /// Says that the rest of the exchange is a stream: reads return more bytes at a time, in memory that is reused.
    func beginStreaming()

    /// Says that no task reads until the next exchange: bytes that wait to be read are no sign of life then, and the
    /// memory of a stream is freed.
    func endReading()

    /// Ends the exchanges: no wait times out from now on.
    ///
    /// - Parameter unread: the bytes that came behind the last response, which the next read returns.
    func upgrade(unread: Data)
}
