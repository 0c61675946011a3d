// SPDX-License-Identifier: MIT

import PulseCore

/// Compresses or decompresses raw DEFLATE data (RFC 1951), on Linux with the system's `libz.so.1`. For one task at a
/// time.
package protocol DeflateCodec: AnyObject {
    /// Consumes bytes from the front of the input; nil if they are invalid.
    ///
    /// - Parameter room: the maximum number of bytes of output, at least one.
    /// - Parameter flush: for a compressor.
    func run(_ input: Data, room: Int, flush: DeflateFlush) -> DeflateStep?
}

package enum DeflateFlush {
    /// More input follows.
    case none
    /// The output so far decompresses to all of the input.
    case sync
    /// The stream ends.
    case finish
}

package struct DeflateStep {
    package enum End {
        /// All input is consumed.
        case hungry
        /// There is more output than the room held, or more input.
        case full
        /// The output of a compressor is complete, or the input of a decompressor ends with a block, on a byte
        /// boundary; more input may follow.
        case ended
    }

    package let output: Data
    package let consumed: Int
    package let end: End
}

extension DeflateCodec {
    /// All output for the input of a compressor; nil after a failure.
    package func compress(_ input: Data, flush: DeflateFlush) -> Data? {
        var (rest, output) = (input, Data())
        while let step = run(rest, room: 64 << 10, flush: flush) {
            output.append(step.output)
            rest = rest.dropFirst(step.consumed)
            if step.end != .full { return (step.end == .ended) == (flush == .finish) ? output : nil }
        }
        return nil
    }
}

/// The codecs of the system.
///
/// Each platform has ``isAvailable``, and codecs for windows of 8 to 15 bits, which are nil if memory is short.
package enum SystemDeflate {}
