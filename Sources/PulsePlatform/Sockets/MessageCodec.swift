// SPDX-License-Identifier: MIT

import PulseCore

/// Compresses or decompresses raw DEFLATE data (RFC 1951) in one direction of a WebSocket, on Linux with the system's
/// `libz.so.1`. For one task at a time.
protocol MessageCodec: AnyObject {
    /// Consumes bytes from the front of the input; nil if they are invalid.
    ///
    /// - Parameter room: the maximum number of bytes of output, at least one.
    /// - Parameter isLast: whether a compressor flushes, so that the output decompresses to all of the input.
    func run(_ input: Data, room: Int, isLast: Bool) -> MessageCodecStep?
}

struct MessageCodecStep {
    enum End {
        /// All input is consumed.
        case hungry
        /// There is more output than the room held, or more input.
        case full
        /// The consumed input ends with a block, on a byte boundary; more input may follow. Decompression only.
        case block
    }

    let output: Data
    let consumed: Int
    let end: End
}

/// The codecs of the system.
///
/// Each platform has ``isAvailable``, and codecs for windows of 8 to 15 bits, which are nil if memory is short.
enum SystemMessageCodec {}
