// SPDX-License-Identifier: MIT

/// The state of a socket, from its first connection to its end.
///
/// A socket reconnects after a lost connection, so its states may go through ``connecting(attempt:)`` and
/// ``reconnecting(after:attempt:delay:unconfirmed:)`` any number of times. ``closed(_:)`` is final. The description is
/// one line without the URL or text from the server.
public enum SocketState: Sendable {
    /// The socket has not been connected yet.
    case idle
    /// The socket is connecting. `attempt` counts from 1, and restarts at 1 once the socket was open for long enough.
    case connecting(attempt: Int)
    /// Messages can be sent and received; `subprotocol` is the server's choice, nil for none.
    case open(subprotocol: String?)
    /// The connection was lost or could not be made; the socket reconnects after a wait.
    ///
    /// - `after`: the reason.
    /// - `attempt`: the number of the attempt that follows the wait, as in ``connecting(attempt:)``.
    /// - `delay`: the wait in seconds.
    /// - `unconfirmed`: the number of messages sent since the last pong. The server may not have received them.
    case reconnecting(after: PulseError, attempt: Int, delay: TimeInterval, unconfirmed: Int)
    /// This side is closing the socket and waits for the server's close frame.
    case closing
    /// The socket has ended: nil if this side closed it, else the reason.
    case closed(PulseError?)
}

extension SocketState: CustomStringConvertible {
    /// The state in one line, without the URL or text from the server.
    public var description: String { text.onOneLine }

    private var text: String {
        switch self {
        case .idle: "idle"
        case .connecting(let attempt): "connecting, attempt \(attempt)"
        case .open(nil): "open"
        case .open(let subprotocol?): "open, subprotocol \(subprotocol)"
        case .reconnecting(let error, let attempt, let delay, let unconfirmed):
            "attempt \(attempt) in \(LogText.milliseconds(delay))"
                + (unconfirmed == 0 ? "" : ", \(LogText.count(unconfirmed, "message")) unconfirmed")
                + ": \(error.summary)"
        case .closing: "closing"
        case .closed(nil): "closed"
        case .closed(let error?): "closed: \(error.summary)"
        }
    }
}
