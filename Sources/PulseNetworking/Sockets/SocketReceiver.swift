// SPDX-License-Identifier: MIT

import PulseCore

/// The owner of a socket that gets its messages in the place of an inbox, in order, in the tasks of the socket.
///
/// Once a handshake has succeeded, such a socket keeps trying to get through the greeting.
protocol SocketReceiver: Sendable {
    /// A handshake is done. Throws if the connection is of no use.
    func connected(_ socket: SocketCore, with response: PulseResponse) throws

    /// Waits for room, unless `isOver` says that the connection is over, and returns whether there is some.
    typealias Wait = @Sendable (_ isOver: @Sendable () -> Bool) async -> Bool

    /// Takes a message of a connection, also before that is open. Returns nil to go on at once.
    func receive(_ message: SocketMessage, from socket: SocketCore, connection: Int) -> Wait?

    /// The connection is over: a ``Wait`` ends.
    func disconnected(_ socket: SocketCore)

    /// A connection or an attempt to connect has ended, and another attempt follows once this returns.
    func interrupted(_ socket: SocketCore, by error: PulseError) async

    /// The socket has ended, or is about to. ``PulseError/cancelled`` if its client ends it.
    func ended(_ socket: SocketCore, by error: PulseError)
}
