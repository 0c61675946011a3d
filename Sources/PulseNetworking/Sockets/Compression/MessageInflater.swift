// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Decompresses the peer's messages on a WebSocket (RFC 7692, section 7.2.2), fed in chunks. For one task at a time.
///
/// It decompresses only as much as its reader requests. Its state of up to 48 KB exists from the first message on, and
/// without context takeover only within a message.
package final class MessageInflater: @unchecked Sendable {
    // Unchecked: only the single reader of a socket uses it.

    private static let pieceSize = 64 << 10
    /// The bytes that the sender removes from the end of each message.
    private static let flushEnd = Data([0x00, 0x00, 0xFF, 0xFF])

    /// The current message.
    private struct Message {
        var size = 0
        /// Whether all bytes have arrived, except those that the sender removed.
        var hasEnded = false
        var hasFlushEnd = false
        /// Whether its bytes so far end with a block, or there are none yet.
        var isAtBlockEnd = true
    }

    private let windowBits: Int
    private let keepsContext: Bool
    private let maxMessageSize: Int
    private var codec: (any DeflateCodec)?
    private var input = Data()
    /// Whether the codec has more output than the last piece held.
    private var isFull = false
    private var message = Message()
    private var fault: SocketFault?

    /// Whether zlib's state is allocated.
    var holdsState: Bool { codec != nil }

    /// - Parameter maxMessageSize: bytes after decompression.
    package init(_ parameters: DeflateParameters, of sender: FrameReader.Sender, maxMessageSize: Int = .max) {
        windowBits = parameters.windowBits(of: sender)
        keepsContext = parameters.keepsContext(of: sender)
        self.maxMessageSize = maxMessageSize
    }

    /// Takes the next bytes of a message.
    package func take(_ bytes: Data) {
        guard fault == nil else { return }
        if input.isEmpty { input = bytes } else { input.append(bytes) }
    }

    /// Ends the message. The next one begins after ``next()`` has returned nil.
    package func end() {
        message.hasEnded = true
    }

    /// Returns the next 1 byte to 64 KiB of the message; nil if more bytes are needed, or after the last piece.
    ///
    /// Throws code 1009 instead of a piece that exceeds the limit, and 1007 for invalid data: IANA's "invalid frame
    /// payload data", which Node's `ws` and Autobahn also send, although Chrome sends 1002. The piece with the fault is
    /// dropped. After a fault, throws it again.
    package func next() throws(SocketFault) -> Data? {
        if let fault { throw fault }
        do throws(SocketFault) {
            while true {
                if !input.isEmpty || isFull {
                    let piece = try decompress()
                    if !piece.isEmpty { return piece }
                } else if !message.hasEnded {
                    return nil
                } else if message.isAtBlockEnd {
                    // Some senders keep the end of the flush, end with a final block, or send nothing for an empty
                    // message: such data is complete as it is. Without its end, a flush stops within a block.
                    message = Message()
                    if !keepsContext { codec = nil }
                    return nil
                } else if message.hasFlushEnd {
                    throw .invalidData("a message that ends within compressed data")
                } else {
                    message.hasFlushEnd = true
                    input = Self.flushEnd
                }
            }
        } catch {
            (fault, codec, input) = (error, nil, Data())
            throw error
        }
    }

    private func decompress() throws(SocketFault) -> Data {
        guard let codec = codec ?? SystemDeflate.inflater(windowBits: windowBits) else {
            throw .internalError("decompression cannot start")
        }
        self.codec = codec
        guard let step = codec.run(input, room: Self.pieceSize, flush: .none) else {
            throw .invalidData("compressed data that is not DEFLATE")
        }
        input = step.consumed == input.count ? Data() : input.dropFirst(step.consumed)
        isFull = step.end == .full
        message.isAtBlockEnd = step.end == .ended
        message.size += step.output.count
        guard message.size <= maxMessageSize else { throw .tooLarge(maxMessageSize) }
        return step.output
    }
}
