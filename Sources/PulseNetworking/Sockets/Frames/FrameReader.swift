// SPDX-License-Identifier: MIT

import PulseCore

/// Parses the frames of one direction of a WebSocket (RFC 6455, section 5), fed in chunks of any size.
///
/// A message is returned in parts, as its bytes arrive. Control frames are returned whole, even between the parts of a
/// message. Parts before a fault are returned before it is thrown.
package struct FrameReader: Sendable {
    /// The side that sends the frames. A client masks its frames, a server never does (section 5.1).
    package enum Sender: Sendable {
        case client
        case server
    }

    package enum Part: Sendable, Equatable {
        /// The start of a message.
        ///
        /// - Parameter isCompressed: whether its bytes are compressed (RFC 7692, section 6).
        case begin(isText: Bool, isCompressed: Bool)
        /// Bytes of the message, at least one.
        case bytes(Data)
        /// The end of the message.
        case end
        case ping(Data)
        case pong(Data)
        /// The last part: later bytes are ignored.
        case close(SocketClose)
    }

    private struct Header {
        let isFinal: Bool
        let isCompressed: Bool
        let opcode: SocketOpcode
        let length: Int
        let mask: SocketMask?
        /// The size of the header in bytes.
        let size: Int
    }

    /// The message being read.
    private struct Message {
        var isChecked: Bool
        var validator = UTF8Validator()
        /// The bytes of its frames, including those that the current frame declares.
        var announced = 0
    }

    /// The data frame whose payload is being read.
    private struct Frame {
        var remaining: Int
        var mask: SocketMask?
        let isFinal: Bool
    }

    private let sender: Sender
    private let mayBeCompressed: Bool
    private let maxMessageSize: Int
    private var input = Data()
    private var message: Message?
    private var frame: Frame?
    private var isClosed = false
    private var fault: SocketFault?

    /// - Parameter mayBeCompressed: whether permessage-deflate was negotiated.
    /// - Parameter maxMessageSize: in bytes on the wire: a decompressor has its own limit.
    package init(of sender: Sender, mayBeCompressed: Bool = false, maxMessageSize: Int = .max) {
        self.sender = sender
        self.mayBeCompressed = mayBeCompressed
        self.maxMessageSize = maxMessageSize
    }

    /// Whether the input may end here without truncating a message or a frame.

    /// The size of the current message on the wire, as far as its frames have declared it. At most the maximum.
    package var announcedSize: Int { message?.announced ?? 0 }

    /// Takes the next bytes from the wire.
    package mutating func take(_ bytes: Data) {
        guard !isClosed, fault == nil else { return }
        if input.isEmpty { input = bytes } else { input.append(bytes) }
    }

    /// Returns the next part; nil if more bytes are needed. After a fault, throws it again.
    package mutating func next() throws(SocketFault) -> Part? {
        if let fault { throw fault }
        do throws(SocketFault) {
            while !isClosed {
                if frame != nil {
                    if let part = try nextOfFrame() { return part }
                    if frame != nil { return nil }
                } else {
                    guard let header = try header() else { return nil }
                    if let part = header.opcode.isControl ? try control(header) : try begin(header) { return part }
                    // The control frame is incomplete.
                    if frame == nil { return nil }
                }
            }
            return nil
        } catch {
            (fault, input) = (error, Data())
            throw error
        }
    }

    // MARK: Data frames

    /// Begins a data frame. Returns the start of a message, nil for a continuation.
    private mutating func begin(_ header: Header) throws(SocketFault) -> Part? {
        var part: Part?
        if header.opcode == .continuation {
            guard message != nil else { throw .protocolError("a continuation without a message") }
        } else {
            guard message == nil else { throw .protocolError("a message within a message") }
            message = Message(isChecked: header.opcode == .text && !header.isCompressed)
            part = .begin(isText: header.opcode == .text, isCompressed: header.isCompressed)
        }
        let announced = (message?.announced ?? 0).addingReportingOverflow(header.length)
        // Checked before the payload arrives.
        guard !announced.overflow, announced.partialValue <= maxMessageSize else {
            throw .tooLarge(maxMessageSize)
        }
        message?.announced = announced.partialValue
        drop(header.size)
        frame = Frame(remaining: header.length, mask: header.mask, isFinal: header.isFinal)
        return part
    }

    /// Returns the next bytes of the frame, or the end of its message; nil if more bytes or another frame is needed.
    private mutating func nextOfFrame() throws(SocketFault) -> Part? {
        guard var frame else { return nil }
        guard frame.remaining == 0 else {
            let count = min(frame.remaining, input.count)
            guard count > 0 else { return nil }
            var bytes = input.prefix(count)
            drop(count)
            frame.mask?.apply(to: &bytes)
            frame.remaining -= count
            self.frame = frame
            if message?.isChecked == true, message?.validator.accepts(bytes) == false {
                throw .invalidData("a text that is no UTF-8")
            }
            return .bytes(bytes)
        }
        self.frame = nil
        guard frame.isFinal else { return nil }
        defer { message = nil }
        if let message, message.isChecked, !message.validator.isComplete {
            throw .invalidData("a text that ends within a character")
        }
        return .end
    }

    // MARK: Control frames

    /// Returns nil until the frame is complete.
    private mutating func control(_ header: Header) throws(SocketFault) -> Part? {
        guard input.count >= header.size + header.length else { return nil }
        drop(header.size)
        var payload = Data(input.prefix(header.length))
        drop(header.length)
        var mask = header.mask
        mask?.apply(to: &payload)
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        default:
            isClosed = true
            input = Data()
            return .close(try SocketClose(payload: payload))
        }
    }

    // MARK: Headers

    /// Parses the next header; nil until it is complete. A fault is thrown as soon as its byte arrives.
    private func header() throws(SocketFault) -> Header? {
        guard let first = byte(0) else { return nil }
        guard let opcode = SocketOpcode(rawValue: first & 0x0F) else {
            throw .protocolError("the reserved opcode \(first & 0x0F)")
        }
        let isFinal = first & 0x80 != 0
        let isCompressed = first & 0x40 != 0
        guard first & 0x30 == 0, !isCompressed || mayBeCompressed && !opcode.isControl && opcode != .continuation else {
            throw .protocolError("a reserved bit")
        }
        if opcode.isControl, !isFinal { throw .protocolError("a control frame in fragments") }
        guard let second = byte(1) else { return nil }
        let isMasked = second & 0x80 != 0
        guard isMasked == (sender == .client) else {
            throw .protocolError(isMasked ? "a masked frame of a server" : "a frame of a client without a mask")
        }
        guard let (length, size) = try length(second & 0x7F, opcode) else { return nil }
        guard isMasked else {
            return Header(
                isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, length: length, mask: nil, size: size)
        }
        guard let last = byte(size + 3), let a = byte(size), let b = byte(size + 1), let c = byte(size + 2) else {
            return nil
        }
        return Header(
            isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, length: length,
            mask: SocketMask(key: (a, b, c, last)), size: size + 4)
    }

    /// The length of the payload, and the size of the header up to there; nil until it is complete.
    private func length(_ short: UInt8, _ opcode: SocketOpcode) throws(SocketFault) -> (length: Int, size: Int)? {
        guard short > 125 else { return (Int(short), 2) }
        guard !opcode.isControl else { throw .protocolError("a control frame of more than 125 bytes") }
        let size = short == 126 ? 2 : 8
        guard byte(1 + size) != nil else { return nil }
        let length = (0..<size).reduce(UInt64(0)) { $0 << 8 | UInt64(byte(2 + $1) ?? 0) }
        guard length > (short == 126 ? 125 : 0xFFFF) else { throw .protocolError("a length in too many bytes") }
        guard length <= UInt64(Int64.max) else { throw .protocolError("a length with its first bit set") }
        return (Int(clamping: length), 2 + size)
    }

    private func byte(_ index: Int) -> UInt8? {
        index < input.count ? input[input.startIndex + index] : nil
    }

    private mutating func drop(_ count: Int) {
        input = count == input.count ? Data() : input[(input.startIndex + count)...]
    }
}

/// The mask of a frame (section 5.3), for a payload that arrives in chunks.
package struct SocketMask: Sendable {
    private let key: (UInt8, UInt8, UInt8, UInt8)
    /// The number of bytes masked so far, modulo the length of the key.
    private var phase = 0

    package init(key: (UInt8, UInt8, UInt8, UInt8)) {
        self.key = key
    }

    /// - Parameter start: the number of leading bytes to leave unchanged.
    package mutating func apply(to bytes: inout Data, from start: Int = 0) {
        // Foundation traps on an empty slice.
        guard bytes.count > start else { return }
        let keys = [key.0, key.1, key.2, key.3]
        let rotated = (0..<8).map { keys[(phase + $0) & 3] }
        let word = rotated.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        bytes.withUnsafeMutableBytes { all in
            let bytes = UnsafeMutableRawBufferPointer(rebasing: all[start...])
            var index = 0
            while bytes.count - index >= 8 {
                let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
                bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < bytes.count {
                bytes[index] ^= rotated[index & 7]
                index += 1
            }
        }
        phase = (phase + bytes.count - start) & 3
    }
}
