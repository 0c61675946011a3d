// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Compresses the messages of one side of a WebSocket (RFC 7692, section 7.2.1). For one task at a time.
///
/// Its state of up to 270 KB exists from the first message on, and without context takeover only within a message.
package final class MessageDeflater: @unchecked Sendable {
    // Unchecked: only the task that owns the batch of a socket uses it, and ownership passes on under a lock.

    /// The end of each flush, which is not sent: the receiver adds it again.
    private static let flushEnd = Data([0x00, 0x00, 0xFF, 0xFF])

    private let windowBits: Int
    private let keepsContext: Bool
    private var codec: (any DeflateCodec)?
    private var hasMessageBegun = false

    /// Whether zlib's state is allocated.
    var holdsState: Bool { codec != nil }

    package init(_ parameters: DeflateParameters, of sender: FrameReader.Sender) {
        windowBits = parameters.windowBits(of: sender)
        keepsContext = parameters.keepsContext(of: sender)
    }

    /// Compresses a message, or its next piece, to the payload of a frame. Only that of the last is never empty.
    ///
    /// Pieces of 64 KiB keep the memory of a large message small. Throws code 1011 if memory is short. If the first
    /// piece has thrown, the message may be sent uncompressed.
    package func compress(_ piece: Data, isLast: Bool = true) throws(SocketFault) -> Data {
        // zlib does not flush again without new input; section 7.2.3.6 defines the block for that.
        if piece.isEmpty, !hasMessageBegun { return isLast ? Data([0x00]) : Data() }
        guard let codec = codec ?? SystemDeflate.deflater(windowBits: windowBits) else {
            throw .internalError("compression cannot start")
        }
        self.codec = codec
        guard var output = codec.compress(piece, flush: isLast ? .sync : .none) else {
            throw .internalError("a failure of zlib")
        }
        hasMessageBegun = !isLast
        guard isLast else { return output }
        if !keepsContext { self.codec = nil }
        guard output.suffix(Self.flushEnd.count) == Self.flushEnd else {
            throw .internalError("a flush without its end")
        }
        output.removeLast(Self.flushEnd.count)
        return output
    }
}
