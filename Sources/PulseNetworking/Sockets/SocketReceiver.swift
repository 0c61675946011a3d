// SPDX-License-Identifier: MIT

import PulseCore

/// The owner of a socket that gets its messages in the place of an inbox, in order, in the tasks of the socket.
///
/// Once a handshake has succeeded, such a socket keeps trying to get through the greeting.
protocol SocketReceiver: Sendable {
    /// A handshake is done. Throws if the connection is of no use.
    func connected(_ socket: SocketCore, with response: PulseResponse) throws

    /// Takes a message of a connection, also before that is open. Returns a closure that waits for room, and then
    /// whether there is some; nil to go on at once.
    func receive(
        _ message: SocketMessage, from socket: SocketCore, connection: Int
    ) -> (@Sendable () async -> Bool)?

    /// The connection is over: nothing waits for room any more.
    func disconnected(_ socket: SocketCore)

    /// A connection or an attempt to connect has ended, and another attempt follows once this returns.
    func interrupted(_ socket: SocketCore, by error: PulseError) async

    /// The socket has ended, or is about to. ``PulseError/cancelled`` if its client ends it.
    func ended(_ socket: SocketCore, by error: PulseError)
}
