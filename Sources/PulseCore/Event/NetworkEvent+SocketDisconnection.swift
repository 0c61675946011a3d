// SPDX-License-Identifier: MIT

extension NetworkEvent {
    /// The end of one connection of a socket: how it ended, and how much it carried.
    ///
    /// It holds no URL and no message. The description is one line without text from the server.
    public struct SocketDisconnection: Sendable, Hashable {
        /// The sides of a connection.
        public enum Side: String, Sendable, Hashable, CaseIterable {
            /// The app's side and the peer.
            case client, server
        }

        /// The code of the server's close frame, 1005 if the frame has none (RFC 6455, section 7.1.5). Without such a
        /// frame, the code that this side closed with, or 1006 for a lost connection.
        public let code: Int
        /// The reason that came with ``code``, often empty. It may be text from the server: on one line, of bounded
        /// length, with secrets masked.
        public let reason: String
        /// The side that closed the connection first; nil for a connection that was lost.
        public let endedBy: Side?
        /// Why the connection was lost, or why this side abandoned it; nil if a side closed it as intended.
        public let error: PulseError.Summary?
        /// The seconds from the end of the handshake to the end of the connection, by the client's clock.
        public let duration: TimeInterval
        /// The messages of this connection whose bytes the system has accepted in full.
        public let messagesSent: Int
        /// The complete messages received on this connection.
        public let messagesReceived: Int
        /// The bytes sent after the handshake, including frame headers and pings.
        public let bytesSent: Int64
        /// The bytes received after the handshake, including frame headers and pongs.
        public let bytesReceived: Int64
        /// The messages that were or may have been sent since the last confirmed ping, and so may be lost.
        public let unconfirmed: Int

        /// Creates a value, for tests and for tools that create events. `duration` is in seconds. Masks the secrets in
        /// `reason`; the error is shown unchanged.
        public init(
            code: Int, reason: String = "", endedBy: Side? = nil, error: PulseError.Summary? = nil,
            duration: TimeInterval = 0, messagesSent: Int = 0, messagesReceived: Int = 0, bytesSent: Int64 = 0,
            bytesReceived: Int64 = 0, unconfirmed: Int = 0
        ) {
            self.init(
                code: code, reason: reason, maskedBy: .standard, endedBy: endedBy, error: error, duration: duration,
                messagesSent: messagesSent, messagesReceived: messagesReceived, bytesSent: bytesSent,
                bytesReceived: bytesReceived, unconfirmed: unconfirmed)
        }

        package init(
            code: Int, reason: String, maskedBy redaction: Redaction, endedBy: Side?, error: PulseError.Summary?,
            duration: TimeInterval, messagesSent: Int, messagesReceived: Int, bytesSent: Int64, bytesReceived: Int64,
            unconfirmed: Int
        ) {
            self.code = code
            self.reason = LogExcerpt(redaction, limit: Self.maxReasonLength).text(reason)
            self.endedBy = endedBy
            self.error = error
            self.duration = duration
            self.messagesSent = messagesSent
            self.messagesReceived = messagesReceived
            self.bytesSent = bytesSent
            self.bytesReceived = bytesReceived
            self.unconfirmed = unconfirmed
        }

        /// More than a close frame holds, since a mask may be longer than its secret.
        private static let maxReasonLength = 256
    }
}

extension NetworkEvent.SocketDisconnection: CustomStringConvertible {
    /// The end in one line, without ``reason``.
    public var description: String {
        let end = endedBy.map { "closed by the \($0.rawValue)" } ?? "lost"
        return "\(end) with \(code) after \(LogText.milliseconds(duration)): sent "
            + "\(LogText.count(messagesSent, "message")) in \(LogText.count(bytesSent, "byte")), received "
            + "\(LogText.count(messagesReceived, "message")) in \(LogText.count(bytesReceived, "byte"))"
            + (unconfirmed == 0 ? "" : ", \(LogText.count(unconfirmed, "message")) unconfirmed")
            + (error.map { ": \($0.message.onOneLine)" } ?? "")
    }
}
