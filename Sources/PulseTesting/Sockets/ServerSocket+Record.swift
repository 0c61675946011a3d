// SPDX-License-Identifier: MIT

extension ServerSocket {
    /// What a client has done on a socket so far: it stays readable after the socket has ended.
    public struct Record: Sendable, Hashable {
        static let maskLimit = 64

        /// The index in ``MockServer/Activity/connections``; over a ``MockTransport`` that of the handshake.
        public let connection: Int
        /// The path of the handshake as sent, percent-encoded.
        public let path: String
        /// The subprotocol that was agreed on; nil for none.
        public let subprotocol: String?
        /// Whether permessage-deflate was agreed on.
        public let mayBeCompressed: Bool
        /// The frames that have arrived.
        public internal(set) var frameCount = 0
        /// The messages of these frames.
        public internal(set) var messageCount = 0
        /// The messages that came in several frames.
        public internal(set) var fragmentedMessageCount = 0
        /// The messages that came compressed.
        public internal(set) var compressedMessageCount = 0
        /// The pings that have arrived.
        public internal(set) var pingCount = 0
        /// The pongs that have arrived.
        public internal(set) var pongCount = 0
        /// The masks of the last 64 frames. A client has to take a new one for each (RFC 6455, section 5.3).
        public internal(set) var masks: [UInt32] = []
        /// The client's close frame; nil until it has come.
        public internal(set) var closeReceived: Close?
        /// The first violation of the protocol, with the code that it closes the socket with. Nothing after it is read.
        public internal(set) var violation: Close?
        /// Whether the socket is open: false once its closure has returned, and the connection has ended or ends.
        public internal(set) var isOpen = true

        init(_ request: RecordedRequest, _ acceptance: SocketAcceptance) {
            connection = request.connection
            path = request.path
            subprotocol = acceptance.subprotocol
            mayBeCompressed = acceptance.deflate != nil
        }

        mutating func count(_ frame: Frame) {
            frameCount += 1
            if masks.count == Self.maskLimit { masks.removeFirst() }
            if let mask = frame.mask { masks.append(mask) }
            switch frame.opcode {
            case .ping: pingCount += 1
            case .pong: pongCount += 1
            default: break
            }
        }
    }
}
