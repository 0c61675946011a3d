// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets

extension ServerSocket {
    /// A frame as it is on the wire (RFC 6455, section 5.2).
    public struct Frame: Sendable, Hashable {
        /// The kind of a frame; one of 16, of which the protocol reserves ten.
        public struct Opcode: RawRepresentable, Sendable, Hashable {
            /// Only the lowest four bits are used.
            public let rawValue: UInt8

            /// Creates an opcode from its number.
            public init(rawValue: UInt8) {
                self.rawValue = rawValue
            }

            /// A later frame of a fragmented message.
            public static let continuation = Opcode(rawValue: 0x0)
            /// The first frame of a text.
            public static let text = Opcode(rawValue: 0x1)
            /// The first frame of a binary message.
            public static let binary = Opcode(rawValue: 0x2)
            /// The last frame that a side sends.
            public static let close = Opcode(rawValue: 0x8)
            /// Asks for a pong with the same payload.
            public static let ping = Opcode(rawValue: 0x9)
            /// The reply to a ping.
            public static let pong = Opcode(rawValue: 0xA)
        }

        /// The kind of the frame.
        public var opcode: Opcode
        /// The payload without its mask.
        public var payload: Data
        /// Whether it is the last frame of its message.
        public var isFinal: Bool
        /// The three reserved bits, of which 4 marks a compressed message (RFC 7692, section 6).
        public var reservedBits: UInt8
        /// The masking key, with its first byte in the highest bits; nil for none, as a server must send it.
        public var mask: UInt32?

        /// Creates a frame; by default a complete message as a server must send it.
        public init(
            _ opcode: Opcode, _ payload: Data = Data(), isFinal: Bool = true, reservedBits: UInt8 = 0,
            mask: UInt32? = nil
        ) {
            self.opcode = opcode
            self.payload = payload
            self.isFinal = isFinal
            self.reservedBits = reservedBits
            self.mask = mask
        }

        /// The bytes of the frame, for ``ServerSocket/sendRaw(_:)``.
        public var bytes: Data {
            var bytes = FrameWriter.frame(.binary, payload, mask: mask.map(Self.key))
            bytes[bytes.startIndex] = (isFinal ? 0x80 : 0) | (reservedBits & 0x7) << 4 | opcode.rawValue & 0xF
            return bytes
        }

        static func key(_ mask: UInt32) -> (UInt8, UInt8, UInt8, UInt8) {
            let byte = { (shift: UInt32) in UInt8(truncatingIfNeeded: mask >> shift) }
            return (byte(24), byte(16), byte(8), byte(0))
        }
    }

    /// The code and the reason of a close frame.
    public struct Close: Sendable, Hashable {
        /// The code (RFC 6455, section 7.4); 1005 for a frame without one.
        public let code: Int
        /// The reason; empty for none.
        public let reason: String

        /// Creates a close frame's content.
        public init(code: Int, reason: String = "") {
            self.code = code
            self.reason = reason
        }
    }
}
