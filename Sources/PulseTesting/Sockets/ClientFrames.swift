// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets

/// Parses a client's frames, and validates them with the framework's codec.
///
/// The codec reads messages. It gets the bytes frame by frame, so that it rejects a frame at its first wrong byte.
struct ClientFrames: Sendable {
    /// The largest message in bytes.
    static let maxMessageSize = 64 << 20

    /// The client's close frame, once ``next()`` has returned it.
    private(set) var close: SocketClose?
    private var reader: FrameReader
    private var input = Data()
    /// The number of bytes of ``input`` passed to the codec.
    private var checkedCount = 0

    init(mayBeCompressed: Bool) {
        reader = FrameReader(
            of: .client, mayBeCompressed: mayBeCompressed, maxMessageSize: Self.maxMessageSize)
    }

    /// Takes the next bytes from the wire.
    mutating func take(_ bytes: Data) {
        guard close == nil else { return }
        if input.isEmpty { input = bytes } else { input.append(bytes) }
    }

    /// The next frame; nil until all its bytes have arrived, and after a close frame.
    mutating func next() throws(SocketFault) -> ServerSocket.Frame? {
        guard close == nil else { return nil }
        let headerSize = input.count < 2 ? 2 : Self.headerSize(byte(1))
        try check(upTo: headerSize)
        guard input.count >= headerSize else { return nil }
        // The codec has checked the length against the limit.
        let size = headerSize + length
        try check(upTo: size)
        guard input.count >= size else { return nil }

        let key = (byte(headerSize - 4), byte(headerSize - 3), byte(headerSize - 2), byte(headerSize - 1))
        var payload = Data(input.dropFirst(headerSize).prefix(size - headerSize))
        var mask = SocketMask(key: key)
        mask.apply(to: &payload)
        let frame = ServerSocket.Frame(
            ServerSocket.Frame.Opcode(rawValue: byte(0) & 0xF), payload, isFinal: byte(0) & 0x80 != 0,
            reservedBits: byte(0) >> 4 & 0x7,
            mask: [key.0, key.1, key.2, key.3].reduce(0) { $0 << 8 | UInt32($1) })
        input = size == input.count ? Data() : input[(input.startIndex + size)...]
        checkedCount = 0
        return frame
    }

    /// Passes the bytes up to `count` to the codec, as far as they have arrived. Later calls throw the same fault
    /// again.
    private mutating func check(upTo count: Int) throws(SocketFault) {
        let end = min(count, input.count)
        if end > checkedCount {
            reader.take(Data(input.dropFirst(checkedCount).prefix(end - checkedCount)))
            checkedCount = end
        }
        while let part = try reader.next() {
            if case .close(let close) = part { self.close = close }
        }
    }

    /// The size of a masked frame's header, from its second byte.
    private static func headerSize(_ second: UInt8) -> Int {
        switch second & 0x7F {
        case 126: 8
        case 127: 14
        default: 6
        }
    }

    /// The length of the payload. The header must have arrived.
    private var length: Int {
        let short = byte(1) & 0x7F
        guard short > 125 else { return Int(short) }
        return (2..<(short == 126 ? 4 : 10)).reduce(0) { $0 << 8 | Int(byte($1)) }
    }

    private func byte(_ index: Int) -> UInt8 {
        input[input.startIndex + index]
    }
}
