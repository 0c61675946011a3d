// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseSocket {
    /// A new connection of a socket before the socket's own messages are sent on it: to log in, or to subscribe again.
    ///
    /// Valid only until the closure that receives it returns. Safe to use from any thread.
    public struct Greeting: Sendable {
        package let core: SocketCore
        let number: Int
        /// Whether the socket was open before.
        public let isReconnect: Bool
        /// The 101 response to the handshake, without its connection.
        public let response: PulseResponse

        init(core: SocketCore, number: Int, isReconnect: Bool, response: PulseResponse) {
            self.core = core
            self.number = number
            self.isReconnect = isReconnect
            var head = response
            head.data = Data()
            self.response = head
        }

        /// Sends a message ahead of the socket's own messages, as ``PulseSocket/send(_:)`` does.
        public func send(_ message: SocketMessage) async throws {
            try await core.send(message, greeting: number)
        }

        /// Sends a value, as ``TypedSocket/send(_:)`` does.
        public func send(_ value: some Encodable & Sendable) async throws {
            try await core.send(core.message(of: value), greeting: number)
        }

        /// Returns the next message of this connection. Messages not received here remain for the socket.
        ///
        /// Throws ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost` if the connection ends, and
        /// ``PulseError/invalidRequest(reason:)`` if another task receives or the greeting is over.
        public func receive() async throws -> SocketMessage {
            try await core.receive(greeting: number)
        }
    }
}
