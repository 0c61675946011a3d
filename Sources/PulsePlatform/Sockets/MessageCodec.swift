// SPDX-License-Identifier: MIT

import PulseCore

/// One direction of the raw DEFLATE data (RFC 1951) of a WebSocket: the system's `libz.so.1` on Linux. For one task at
/// a time.
protocol MessageCodec: AnyObject {
    /// Consumes bytes from the front of the input; nil if they are invalid.
    ///
    /// - Parameter room: the most bytes of output, at least one.
    /// - Parameter isLast: whether a compressor ends the output so that it decompresses to all of the input.
    func run(_ input: Data, room: Int, isLast: Bool) -> MessageCodecStep?
}

struct MessageCodecStep {
    enum End {
        /// All input is consumed.
        case hungry
        /// There is more output than the room held, or more input.
        case full
        /// Decompressed input ends on a byte boundary with a block; more may be left.
        case block
    }

    let output: Data
    let consumed: Int
    let end: End
}

/// The codecs of the system.
///
/// Each platform has ``isAvailable``, and codecs for windows of 8 to 15 bits, which are nil without memory.
enum SystemMessageCodec {}
