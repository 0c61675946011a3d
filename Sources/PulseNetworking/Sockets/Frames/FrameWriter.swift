// SPDX-License-Identifier: MIT

import PulseCore

/// Writes frames of a WebSocket (RFC 6455, section 5.2).
package enum FrameWriter {
    /// Appends a frame.
    ///
    /// - Parameter isFinal: whether it is the last frame of its message.
    /// - Parameter isCompressed: whether the message is compressed; only for its first frame.
    /// - Parameter mask: four random bytes, new for each frame of a client, so that a page cannot control the bytes on
    ///   the wire (section 10.3); nil for a frame of a server.
    package static func append(
        _ opcode: SocketOpcode, _ payload: Data, isFinal: Bool = true, isCompressed: Bool = false,
        mask: (UInt8, UInt8, UInt8, UInt8)?, to bytes: inout Data
    ) {
        bytes.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case ...125:
            bytes.append(maskBit | UInt8(payload.count))
        case ...0xFFFF:
            bytes.append(maskBit | 126)
            bytes.append(contentsOf: [UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)])
        default:
            bytes.append(maskBit | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: UInt64(payload.count) >> UInt64(shift)))
            }
        }
        if let mask { bytes.append(contentsOf: [mask.0, mask.1, mask.2, mask.3]) }
        let start = bytes.count
        bytes.append(payload)
        if let mask {
            var socketMask = SocketMask(key: mask)
            socketMask.apply(to: &bytes, from: start)
        }
    }

    /// Returns a single frame.
    package static func frame(
        _ opcode: SocketOpcode, _ payload: Data, isFinal: Bool = true, isCompressed: Bool = false,
        mask: (UInt8, UInt8, UInt8, UInt8)?
    ) -> Data {
        var frame = Data(capacity: payload.count + 14)
        append(opcode, payload, isFinal: isFinal, isCompressed: isCompressed, mask: mask, to: &frame)
        return frame
    }
}
