// SPDX-License-Identifier: MIT

import PulseCore

extension MockServer {
    /// One action of a server on a connection: raw scripts consist of steps, and a fault in a response is one.
    public struct Step: Sendable {
        package enum Action: Sendable {
            case bytes(Data)
            case repeating(Data, times: Int?)
            case stream(AsyncStream<Data>, isChunked: Bool)
            case delay(TimeInterval)
            case stall
            case halfClose
            case close
            case truncate
            case reset
            case unencrypted(Data)
            case converse(@Sendable (Conversation) async throws -> Void)
        }

        package let action: Action

        init(_ action: Action) {
            self.action = action
        }

        /// Sends these bytes unchanged: garbage, header fields without their end, anything.
        public static func bytes(_ bytes: Data) -> Step { Step(.bytes(bytes)) }

        /// Sends this text in UTF-8, with no line breaks added.
        public static func text(_ text: String) -> Step { Step(.bytes(Data(text.utf8))) }

        /// Sends the bytes repeatedly, without holding them all in memory; with nil until the client disconnects.
        public static func repeating(_ bytes: Data, times: Int? = nil) -> Step {
            Step(.repeating(bytes, times: times))
        }

        /// Waits on the server's clock, then continues. If the client disconnects meanwhile, the script ends.
        public static func delay(_ seconds: TimeInterval) -> Step { Step(.delay(seconds)) }

        /// Sends nothing more and keeps the connection open, discarding input, until the client disconnects or the
        /// server is shut down.
        public static var stall: Step { Step(.stall) }

        /// Ends the sending side with FIN and discards input until the client disconnects.
        public static var halfClose: Step { Step(.halfClose) }

        /// Closes the connection with FIN, over TLS after a closure alert; a client that still sends gets a reset.
        /// Before the handshake of TLS there is no alert.
        public static var close: Step { Step(.close) }

        /// Closes the connection with FIN and without TLS's closure alert, so that the client cannot tell whether the
        /// server closed it (RFC 8446, section 6.1); without TLS it is the same as ``close``.
        public static var truncate: Step { Step(.truncate) }

        /// Sends these bytes beneath TLS: garbage between its records, or bytes before its handshake that are not TLS.
        /// Without TLS it is the same as ``bytes(_:)``.
        public static func unencrypted(_ bytes: Data) -> Step { Step(.unencrypted(bytes)) }

        /// Aborts the connection with RST. On Linux the client can still read the bytes sent before, as far as it has
        /// accepted them; elsewhere they may be lost.
        public static var reset: Step { Step(.reset) }
    }

    /// A connection after a protocol switch by ``Response/upgrade(status:headers:_:)``: bytes in both directions.
    public struct Conversation: Sendable {
        let loop: ConnectionLoop
        /// The bytes that the client sent after its request.
        let leftover: Locked<Data>

        /// The next bytes from the client; nil once it has ended its side. Throws ``PulseError`` if the connection
        /// broke, the server shuts down, or the task is cancelled. For one task at a time.
        public func receive() async throws -> Data? {
            let early = leftover.withLock { leftover in
                defer { leftover = Data() }
                return leftover
            }
            guard early.isEmpty else { return early }
            return try await typed { try await socket.receive() }
        }

        /// Sends bytes; returns when the system has accepted them all. Throws ``PulseError`` if the client has
        /// disconnected or the server shuts down. For one task at a time.
        public func send(_ bytes: Data) async throws {
            try await typed { try await loop.send(bytes) }
        }

        /// Performs a step. After one that ends the connection, nothing can be sent or received. Throws ``PulseError``
        /// if the client has disconnected or the server shuts down.
        public func run(_ step: Step) async throws {
            try await typed { try await loop.runToEnd(step) }
        }

        var socket: SocketStream { loop.socket }

        private func typed<Value>(_ body: () async throws -> Value) async throws -> Value {
            do {
                return try await body()
            } catch is CancellationError {
                throw PulseError.cancelled
            } catch {
                throw PulseError.transport(.networkConnectionLost, underlying: error)
            }
        }
    }
}
