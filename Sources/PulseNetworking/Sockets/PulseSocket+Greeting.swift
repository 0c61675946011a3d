// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseSocket {
    /// A connection of a socket before any other message: to log in, or to subscribe again.
    ///
    /// It belongs to the closure that gets it, and ends with it. Safe to use from any thread.
    public struct Greeting: Sendable {
        let core: SocketCore
        let number: Int
        /// Whether the socket was open before.
        public let isReconnect: Bool
        /// The 101 of the handshake, without its connection.
        public let response: PulseResponse

        init(core: SocketCore, number: Int, isReconnect: Bool, response: PulseResponse) {
            self.core = core
            self.number = number
            self.isReconnect = isReconnect
            var head = response
            head.data = Data()
            self.response = head
        }

        /// Sends a message before those of the socket, as ``PulseSocket/send(_:)`` does.
        public func send(_ message: SocketMessage) async throws {
            try await core.send(message, greeting: number)
        }

        /// Sends a value, as ``TypedSocket/send(_:)`` does.
        public func send(_ value: some Encodable & Sendable) async throws {
            try await core.send(core.message(of: value), greeting: number)
        }

        /// Returns the next message of this connection. What is not received here is left to the socket.
        ///
        /// Throws ``PulseError/transport(_:underlying:)`` with `.networkConnectionLost` if the connection ends, and
        /// ``PulseError/invalidRequest(reason:)`` if another task receives or the greeting is over.
        public func receive() async throws -> SocketMessage {
            try await core.receive(greeting: number)
        }
    }
}
