// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseSocket {
    /// What has passed through a socket since it was created.
    public struct Statistics: Sendable, Hashable {
        /// How often the socket was opened; each time but the first is a reconnect.
        public package(set) var connections = 0
        /// The messages that the system has taken all bytes of.
        public package(set) var messagesSent = 0
        /// The messages that have arrived whole, with those that no reader has taken yet.
        public package(set) var messagesReceived = 0
        /// The bytes that were sent after the handshakes, with those of frames and pings.
        public package(set) var bytesSent: Int64 = 0
        /// The bytes that were received after the handshakes, with those of frames and pongs.
        public package(set) var bytesReceived: Int64 = 0
        /// The messages that were sent, or may have been sent, over the present or else the latest connection since its
        /// latest confirmed ping: what may be lost with it.
        public package(set) var unconfirmed = 0
        /// The seconds from the latest confirmed ping to its pong; nil before the first.
        public package(set) var roundTrip: TimeInterval?

        package init() {}
    }
}
