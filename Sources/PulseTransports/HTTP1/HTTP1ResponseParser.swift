// SPDX-License-Identifier: MIT

import PulseCore

/// An incremental parser for a response of HTTP/1.1 or 1.0 (RFC 9112), independent of how the bytes are split: a pure
/// value.
///
/// It is strict about framing. It rejects a response with an ambiguous end, because the remaining bytes could pass for
/// the next response.
struct HTTP1ResponseParser {
    /// The response is malformed.
    struct Malformed: Error {}

    private enum Position {
        case head
        /// In a body with this many bytes left.
        case bytes(Int64)
        /// In a body that ends with the connection.
        case rest
        case chunkSize
        /// In a chunk with this many bytes left.
        case chunk(Int64)
        case chunkEnd
        case trailers
        case end
    }

    /// The maximum size of all heads and trailers of a response, in bytes, including interim heads.
    static let headLimit = 300 << 10
    /// The maximum size of a chunk-size line in bytes. Most of a long line is unknown extensions.
    private static let chunkLineLimit = 16 << 10

    /// How the request affects the parsing of its response.
    struct RequestTraits {
        /// Whether the method is HEAD, whose response has no body.
        var isHead = false
        /// Whether the request offers another protocol, so that 101 may be its response.
        var offersUpgrade = false
    }

    private let traits: RequestTraits
    private var position = Position.head
    /// The latest head, possibly incomplete.
    private(set) var head: ResponseHead?
    /// The received part of an incomplete header line.
    private var partialLine: [UInt8] = []
    private var headByteCount = 0
    private var framing = ResponseFraming()
    private(set) var body: BufferedBody
    private(set) var hasBegun = false
    /// The content codings removed from the body, or left for its reader to remove; the last applied first.
    private(set) var codings: [ContentCoding] = []
    private let isStreamed: Bool
    /// The status; nil until the head is complete.
    private(set) var status: Int?
    /// Whether ``takeBody()`` returns the body piece by piece: the head is complete.
    private(set) var isStreaming = false
    private var isConnectionOver = false
    /// The bytes received after the end, which belong to no response. After a 101 they belong to the other protocol.
    private(set) var surplus = Data()
    private var chunk = ChunkLine()
    /// The trailer fields and the checks of their lines, apart from the head, whose framing they must not change.
    private var trailer: (head: ResponseHead, framing: ResponseFraming)?

    /// - Parameters:
    ///   - cuts: whether a body beyond the limit is truncated there and counts as a success.
    ///   - isStreamed: whether the body of a 2xx response is taken piece by piece, without a limit, with its codings.
    init(_ traits: RequestTraits = RequestTraits(), limit: Int, cuts: Bool = false, isStreamed: Bool = false) {
        self.traits = traits
        self.isStreamed = isStreamed
        body = BufferedBody(limit: limit, cuts: cuts)
    }

    var isComplete: Bool {
        if case .end = position { true } else { false }
    }

    /// The length of a body whose large missing part only has to be copied; nil otherwise.
    var lengthToCopy: Int? {
        guard case .bytes(let left) = position, codings.isEmpty, !isStreaming else { return nil }
        return body.length(with: left)
    }

    /// Whether the connection carries another protocol after this response.
    var isUpgrade: Bool { isComplete && framing.status == 101 }

    /// Whether the connection can carry another request after this response.
    var keepsConnection: Bool { isComplete && surplus.isEmpty && !isConnectionOver && framing.keepsConnection }

    var isVersion10: Bool { framing.isVersion10 }

    /// How long the server keeps an idle connection, in seconds; nil if unspecified.
    var idleLimit: TimeInterval? { framing.idleLimit }

    /// The trailer fields after the chunks (RFC 9112, section 7.1.2). Complete once the response is.
    var trailers: HTTPHeaders { trailer?.head.headers ?? HTTPHeaders() }

    /// Consumes received bytes. Throws ``Malformed``, or the errors of ``BufferedBody``.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws {
        if !bytes.isEmpty { hasBegun = true }
        var index = 0
        while index < bytes.count {
            switch position {
            case .head, .trailers:
                index = try readFieldLine(bytes, from: index)
            case .bytes(let left):
                let count = try takeBody(bytes, from: index, upTo: left)
                index += count
                try advance(after: Int64(count), of: left)
            case .rest:
                index += try takeBody(bytes, from: index, upTo: .max)
            case .chunk(let left):
                let count = try takeBody(bytes, from: index, upTo: left)
                index += count
                position = Int64(count) == left ? .chunkEnd : .chunk(left - Int64(count))
            case .chunkSize, .chunkEnd:
                try readFraming(bytes[index])
                index += 1
            case .end:
                surplus.append(contentsOf: bytes[index...])
                return
            }
        }
    }

    /// Handles the end of the connection. Returns false if it truncates the response.
    mutating func readEnd() throws -> Bool {
        isConnectionOver = true
        if case .rest = position { try finish() }
        return isComplete
    }

    // MARK: Head

    /// Consumes one complete or partial line of the head or the trailers, and returns the index of the next one.
    private mutating func readFieldLine(_ bytes: UnsafeRawBufferPointer, from index: Int) throws -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
        let end = rest.offset(of: UInt8(ascii: "\n"))
        let count = end.map { $0 + 1 } ?? rest.count
        headByteCount += count
        guard headByteCount <= Self.headLimit else { throw Malformed() }
        if let end, partialLine.isEmpty {
            try readLine(rest.line(endingAt: end))
            return index + count
        }
        partialLine.append(contentsOf: rest.prefix(count))
        // A peer that does not speak HTTP may never end its line.
        if head == nil, !partialLine.prefix(7).elementsEqual("HTTP/1.".utf8.prefix(partialLine.count)) {
            throw Malformed()
        }
        if end != nil {
            let line = partialLine
            partialLine = []
            try line.withUnsafeBytes { try readLine($0.line(endingAt: $0.count - 1)) }
        }
        return index + count
    }

    private mutating func readLine(_ line: UnsafeRawBufferPointer) throws {
        guard line.offset(of: 0) == nil else { throw Malformed() }
        if case .trailers = position {
            try readTrailer(line)
        } else if head == nil {
            head = try framing.readStatus(line)
            // HTTP/1.0 has no interim responses and no upgrades.
            guard framing.status != 101 || traits.offersUpgrade && !isVersion10 else { throw Malformed() }
        } else if line.isEmpty {
            try beginBody()
        } else {
            try framing.readField(line)
            head?.add(line)
        }
    }

    private mutating func readTrailer(_ line: UnsafeRawBufferPointer) throws {
        guard !line.isEmpty else { return try finish() }
        if trailer == nil, let head { trailer = (head: head.withoutFields, framing: ResponseFraming()) }
        try trailer?.framing.readField(line)
        trailer?.head.add(line)
    }

    private mutating func beginBody() throws {
        if framing.isInterim {
            head = nil
            return
        }
        // First: a response with an ambiguous end is discarded, its status too (RFC 9112, section 6.3).
        let length = try framing.bodyLength(isHead: traits.isHead)
        status = framing.status
        codings = framing.contentCodings(isHead: traits.isHead)
        isStreaming = isStreamed && (200..<300).contains(framing.status)
        if isStreaming { body = BufferedBody(limit: .max) }
        let decoded = isStreaming ? [] : codings
        switch length {
        case .none:
            try finish()
        case .bytes(let length):
            // A streamed body needs no memory for the whole.
            try body.begin(codings: decoded, length: isStreaming ? nil : length, isCompletedInPlace: true)
            position = .bytes(length)
            if length == 0 { try finish() }
        case .chunks:
            try body.begin(codings: decoded, length: nil)
            position = .chunkSize
        case .rest:
            try body.begin(codings: decoded, length: nil)
            position = .rest
        }
    }

    // MARK: Body

    /// Whether the next `count` bytes all belong to a streamed body unchanged. If so, they count as read, without a
    /// copy.
    mutating func passes(_ count: Int) throws -> Bool {
        guard isStreaming, body.data.isEmpty else { return false }
        switch position {
        case .bytes(let left) where left >= count:
            body.note(passed: count)
            try advance(after: Int64(count), of: left)
            return true
        case .rest:
            body.note(passed: count)
            return true
        default:
            return false
        }
    }

    /// Takes a whole body with a ``lengthToCopy``, including the bytes already read, and any bytes after it.
    mutating func take(whole bytes: Data) throws {
        guard case .bytes(let left) = position, let length = lengthToCopy, length <= bytes.count else {
            throw Malformed()
        }
        body.take(whole: bytes.prefix(length))
        try advance(after: left, of: left)
        surplus.append(contentsOf: bytes.dropFirst(length))
    }

    /// Takes the bytes received so far of a streamed body.
    mutating func takeBody() -> Data { body.takeData() }

    private mutating func takeBody(_ bytes: UnsafeRawBufferPointer, from index: Int, upTo left: Int64) throws -> Int {
        let count = Int(min(Int64(bytes.count - index), left))
        try body.take(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
        return count
    }

    private mutating func advance(after count: Int64, of left: Int64) throws {
        position = .bytes(left - count)
        if count == left { try finish() }
    }

    private mutating func finish() throws {
        try body.finish()
        position = .end
    }

    /// Consumes a framing byte around chunks (RFC 9112, section 7.1).
    private mutating func readFraming(_ byte: UInt8) throws {
        switch position {
        case .chunkSize:
            guard let size = try chunk.read(byte, limit: Self.chunkLineLimit) else { return }
            chunk = ChunkLine()
            position = size == 0 ? .trailers : .chunk(size)
        case .chunkEnd:
            if byte == UInt8(ascii: "\n") {
                chunk = ChunkLine()
                position = .chunkSize
            } else {
                guard byte == UInt8(ascii: "\r"), chunk.length == 0 else { throw Malformed() }
                chunk.length = 1
            }
        default:
            break
        }
    }

    /// The line before a chunk: its size in hexadecimal digits, and extensions after a semicolon, which are ignored
    /// (RFC 9112, section 7.1.1).
    private struct ChunkLine {
        private var size: Int64 = 0
        private var hasDigits = false
        private var isPastDigits = false
        private var isPastSemicolon = false
        private var isPastReturn = false
        var length = 0

        /// Returns the size at the end of the line.
        mutating func read(_ byte: UInt8, limit: Int) throws -> Int64? {
            length += 1
            guard length <= limit else { throw Malformed() }
            if byte == UInt8(ascii: "\n") {
                guard hasDigits else { throw Malformed() }
                return size
            }
            guard !isPastReturn else { throw Malformed() }
            if isPastSemicolon {
                isPastReturn = byte == UInt8(ascii: "\r")
            } else if !isPastDigits, let digit = byte.hexDigitValue {
                guard size <= Int64.max >> 4 else { throw Malformed() }
                size = size << 4 | Int64(digit)
                hasDigits = true
            } else {
                isPastSemicolon = byte == UInt8(ascii: ";")
                isPastReturn = byte == UInt8(ascii: "\r")
                guard hasDigits, isPastSemicolon || isPastReturn || byte.isBlank else { throw Malformed() }
                isPastDigits = true
            }
            return nil
        }
    }
}
