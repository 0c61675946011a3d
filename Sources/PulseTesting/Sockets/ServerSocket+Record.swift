// SPDX-License-Identifier: MIT

extension ServerSocket {
    /// The record of what a client has sent on a socket so far. It stays readable after the socket has ended.
    public struct Record: Sendable, Hashable {
        static let maskLimit = 64

        /// The index in ``MockServer/Activity/connections``; over a ``MockTransport`` the index of the handshake.
        public let connection: Int
        /// The path of the handshake as sent, percent-encoded.
        public let path: String
        /// The negotiated subprotocol; nil for none.
        public let subprotocol: String?
        /// Whether permessage-deflate was negotiated.
        public let mayBeCompressed: Bool
        /// The number of received frames.
        public internal(set) var frameCount = 0
        /// The number of complete messages.
        public internal(set) var messageCount = 0
        /// The number of fragmented messages.
        public internal(set) var fragmentedMessageCount = 0
        /// The number of compressed messages.
        public internal(set) var compressedMessageCount = 0
        /// The number of received pings.
        public internal(set) var pingCount = 0
        /// The number of received pongs.
        public internal(set) var pongCount = 0
        /// The masking keys of the last 64 frames. A client must choose a new one for each frame (RFC 6455, section
        /// 5.3).
        public internal(set) var masks: [UInt32] = []
        /// The client's close frame; nil until it arrives.
        public internal(set) var closeReceived: Close?
        /// The first protocol violation, with the code that closes the socket. Nothing is read after it.
        public internal(set) var violation: Close?
        /// Whether the socket is open: false once its closure has returned and the connection has ended or is ending.
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
