// SPDX-License-Identifier: MIT

import PulseCore

/// Receives the messages of a socket in place of its inbox: in order, in the tasks of the socket.
///
/// Once a handshake has succeeded, such a socket keeps reconnecting even if its greeting fails.
package protocol SocketReceiver: Sendable {
    /// Called after a handshake. Throws to reject the connection.
    func connected(_ socket: SocketCore, with response: PulseResponse) throws

    /// Waits until there is room or `isOver` returns true; returns whether there is room.
    typealias Wait = @Sendable (_ isOver: @Sendable () -> Bool) async -> Bool

    /// Handles a message of a connection, possibly before the socket has opened on it. Returns nil to continue at once.
    func receive(_ message: SocketMessage, from socket: SocketCore, connection: Int) -> Wait?

    /// Called when the connection is over; a ``Wait`` must end.
    func disconnected(_ socket: SocketCore)

    /// Called when a connection or an attempt has ended. The next attempt follows once this returns.
    func interrupted(_ socket: SocketCore, by error: PulseError) async

    /// Called when the socket has ended or is about to; with ``PulseError/cancelled`` if its client ends it.
    func ended(_ socket: SocketCore, by error: PulseError)
}
