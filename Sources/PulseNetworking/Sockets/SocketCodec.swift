// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform

/// Turns the messages of one connection into frames.
struct SocketEncoder: Sendable {
    /// The message being sent.
    private struct Message: Sendable {
        let opcode: SocketOpcode
        let bytes: Data
        var isCompressed: Bool
        var sentCount = 0
        var hasFrame = false
    }

    /// Maximum size of a fragment in bytes, before compression. It bounds the wait of a control frame.
    static let fragmentSize = 64 << 10
    /// Minimum size of a message to compress, in bytes: smaller ones would gain little.
    private static let compressionThreshold = 1 << 10

    private let deflater: MessageDeflater?
    /// The message whose next fragment follows.
    private var message: Message?

    /// - Parameter parameters: of the compression; nil for none.
    init(_ parameters: DeflateParameters? = nil) {
        deflater = parameters.map { MessageDeflater($0, of: .client) }
    }

    /// Appends the next fragment of a message; finish a message before the next one begins. Throws code 1011 if
    /// compression fails after the first fragment.
    mutating func addFragment(of whole: SocketMessage, to bytes: inout Data) throws(SocketFault) {
        var current =
            message
            ?? Message(
                opcode: whole.opcode, bytes: whole.bytes,
                isCompressed: deflater != nil && whole.size >= Self.compressionThreshold)
        message = nil
        if try !add(&current, to: &bytes) { message = current }
    }

    /// Returns whether the fragment was the last.
    private func add(_ message: inout Message, to bytes: inout Data) throws(SocketFault) -> Bool {
        let piece = message.bytes.dropFirst(message.sentCount).prefix(Self.fragmentSize)
        let isLast = message.sentCount + piece.count == message.bytes.count
        var payload = piece
        if message.isCompressed, let deflater {
            do throws(SocketFault) {
                payload = try deflater.compress(piece, isLast: isLast)
            } catch {
                // Nothing of it is sent yet: send it uncompressed.
                guard message.sentCount == 0 else { throw error }
                message.isCompressed = false
            }
        }
        message.sentCount += piece.count
        // The compressor may buffer the whole piece.
        guard isLast || !payload.isEmpty else { return false }
        add(
            message.hasFrame ? .continuation : message.opcode, payload, isFinal: isLast,
            isCompressed: message.isCompressed && !message.hasFrame, to: &bytes)
        message.hasFrame = true
        return isLast
    }

    /// Appends a frame with a fresh masking key (RFC 6455, section 5.3): bytes on the wire must not be predictable.
    func add(
        _ opcode: SocketOpcode, _ payload: Data, isFinal: Bool = true, isCompressed: Bool = false, to bytes: inout Data
    ) {
        var generator = SystemRandomNumberGenerator()
        let key = UInt32(truncatingIfNeeded: generator.next())
        FrameWriter.append(
            opcode, payload, isFinal: isFinal, isCompressed: isCompressed,
            mask: (UInt8(key >> 24), UInt8(key >> 16 & 0xFF), UInt8(key >> 8 & 0xFF), UInt8(key & 0xFF)), to: &bytes)
    }
}

/// Turns the bytes of one connection into messages and control frames.
struct SocketDecoder: Sendable {
    enum Element: Sendable {
        case message(SocketMessage)
        case ping(Data)
        case pong(Data)
        /// The last element.
        case close(SocketClose)
    }

    /// Maximum number of bytes to reserve for an announced size.
    private static let largestReserve = 1 << 20

    private var reader: FrameReader
    private let inflater: MessageInflater?
    private let maxMessageSize: Int
    private var fault: SocketFault?
    private var message = Data()
    private var isText = false
    private var isCompressed = false
    /// Validates decompressed text; the reader validates uncompressed text.
    private var validator = UTF8Validator()

    /// - Parameter parameters: of the compression; nil for none.
    init(_ parameters: DeflateParameters? = nil, maxMessageSize: Int) {
        self.maxMessageSize = maxMessageSize
        // The limit applies after decompression: small blocks and flushes can make a compressed message arbitrarily
        // long.
        let limit = parameters == nil ? maxMessageSize : .max
        reader = FrameReader(of: .server, mayBeCompressed: parameters != nil, maxMessageSize: limit)
        inflater = parameters.map { MessageInflater($0, of: .server, maxMessageSize: maxMessageSize) }
    }

    /// Takes the next bytes from the wire.
    mutating func take(_ bytes: Data) {
        reader.take(bytes)
    }

    /// Returns the next element; nil until more bytes arrive. After a fault, each call throws it again.
    mutating func next() throws(SocketFault) -> Element? {
        if let fault { throw fault }
        do throws(SocketFault) {
            return try nextElement()
        } catch {
            (fault, message) = (error, Data())
            throw error
        }
    }

    private mutating func nextElement() throws(SocketFault) -> Element? {
        while let part = try reader.next() {
            switch part {
            case .begin(let isText, let isCompressed):
                (self.isText, self.isCompressed, validator) = (isText, isCompressed, UTF8Validator())
            case .bytes(let bytes):
                if isCompressed { try decompress(bytes) } else { try add(bytes) }
            case .end:
                if isCompressed { try decompress(nil) }
                let whole = message
                message = Data()
                return .message(isText ? .text(String(decoding: whole, as: UTF8.self)) : .binary(whole))
            case .ping(let payload): return .ping(payload)
            case .pong(let payload): return .pong(payload)
            case .close(let close): return .close(close)
            }
        }
        return nil
    }

    private mutating func add(_ bytes: Data) throws(SocketFault) {
        guard bytes.count <= maxMessageSize - message.count else { throw .tooLarge(maxMessageSize) }
        // A slice would retain its whole chunk, and hand the application a `Data` whose indices do not start at 0.
        guard bytes.count < reader.announcedSize || !message.isEmpty else {
            message = isText ? bytes : Data(bytes)
            return
        }
        // Growing in steps copies a message several times. A larger announced size is not trusted.
        if message.isEmpty { message.reserveCapacity(min(reader.announcedSize, Self.largestReserve)) }
        message.append(bytes)
    }

    /// - Parameter bytes: nil at the end of the message.
    private mutating func decompress(_ bytes: Data?) throws(SocketFault) {
        guard let inflater else { return }
        if let bytes { inflater.take(bytes) } else { inflater.end() }
        while let piece = try inflater.next() {
            if isText, !validator.accepts(piece) { throw .invalidData("a text that is no UTF-8") }
            try add(piece)
        }
        if bytes == nil, isText, !validator.isComplete { throw .invalidData("a text that ends within a character") }
    }
}
