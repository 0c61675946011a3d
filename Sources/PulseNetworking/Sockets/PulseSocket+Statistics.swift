// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseSocket {
    /// Traffic counters of a socket since it was created.
    public struct Statistics: Sendable, Hashable {
        /// Number of times the socket has opened; all but the first are reconnects.
        public package(set) var connections = 0
        /// Number of messages whose bytes were all handed to the system.
        public package(set) var messagesSent = 0
        /// Number of messages received in full, including those that the application has not read yet.
        public package(set) var messagesReceived = 0
        /// Bytes sent after the handshakes, including frame headers and pings.
        public package(set) var bytesSent: Int64 = 0
        /// Bytes received after the handshakes, including frame headers and pongs.
        public package(set) var bytesReceived: Int64 = 0
        /// Number of messages sent, or possibly sent, since the last confirmed ping of the current or most recent
        /// connection. They may be lost with that connection.
        public package(set) var unconfirmed = 0
        /// Round-trip time of the last confirmed ping in seconds; nil before the first pong.
        public package(set) var roundTrip: TimeInterval?

        package init() {}
    }
}
