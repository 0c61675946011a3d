// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Reads an answer of HTTP/1.1 or 1.0 as its bytes come (RFC 9112), whichever way they are split: a pure value.
///
/// It is as strict as framing needs: what leaves open where an answer ends is no answer, since the rest of it could be
/// taken for the next one.
struct HTTP1ResponseParser {
    /// The answer cannot be read.
    struct Malformed: Error {}

    private enum Place {
        case head
        /// In a body that is known to go on for so many bytes.
        case bytes(Int64)
        /// In a body that goes on until the connection ends.
        case rest
        case chunkSize
        /// In a chunk that goes on for so many bytes.
        case chunk(Int64)
        case chunkEnd
        case trailers
        case end
    }

    /// The most bytes of all heads and trailers of an answer, interim ones included.
    static let headLimit = 300 << 10
    /// The most bytes of the line with a chunk's size, most of which nobody understands.
    private static let chunkLineLimit = 16 << 10

    private let isHead: Bool
    private var place = Place.head
    /// The latest head, as far as it has come.
    private(set) var head: ResponseHead?
    /// What has come of a line of the head that was cut.
    private var cutLine: [UInt8] = []
    private var headByteCount = 0
    private var framing = ResponseFraming()
    private(set) var body: BufferedBody
    private(set) var hasBegun = false
    /// Whether the body comes without the content codings that the head tells of.
    private(set) var isDecoded = false
    private var isConnectionOver = false
    /// Whether bytes came after the end, which belong to no answer.
    private(set) var hasSurplus = false
    private var chunk = ChunkLine()

    /// - Parameter isHead: whether HEAD was asked for, whose answer has no body.
    init(isHead: Bool, limit: Int) {
        self.isHead = isHead
        body = BufferedBody(limit: limit)
    }

    var isComplete: Bool {
        if case .end = place { true } else { false }
    }

    /// Whether the connection can carry another request after this answer.
    var keepsConnection: Bool { isComplete && !hasSurplus && !isConnectionOver && framing.keepsConnection }

    var isVersion10: Bool { framing.isVersion10 }

    /// For how many seconds the server keeps the connection while it is idle; nil if it does not say.
    var idleLimit: TimeInterval? { framing.idleLimit }

    /// Takes what has come. Throws ``Malformed``, or what ``BufferedBody`` throws.
    mutating func read(_ bytes: UnsafeRawBufferPointer) throws {
        if !bytes.isEmpty { hasBegun = true }
        var index = 0
        while index < bytes.count {
            switch place {
            case .head:
                index = try readHead(bytes, from: index)
            case .bytes(let left):
                let count = try takeBody(bytes, from: index, upTo: left)
                index += count
                try advance(after: Int64(count), of: left)
            case .rest:
                index += try takeBody(bytes, from: index, upTo: .max)
            case .chunk(let left):
                let count = try takeBody(bytes, from: index, upTo: left)
                index += count
                place = Int64(count) == left ? .chunkEnd : .chunk(left - Int64(count))
            case .chunkSize, .chunkEnd, .trailers:
                try readFraming(bytes[index])
                index += 1
            case .end:
                hasSurplus = true
                return
            }
        }
    }

    /// Takes the end of the connection; false if it cuts the answer.
    mutating func readEnd() throws -> Bool {
        isConnectionOver = true
        if case .rest = place { try finish() }
        return isComplete
    }

    // MARK: The head

    /// Takes one line, or what there is of it, and gives where the next one begins.
    private mutating func readHead(_ bytes: UnsafeRawBufferPointer, from index: Int) throws -> Int {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
        let end = rest.place(of: UInt8(ascii: "\n"))
        let count = end.map { $0 + 1 } ?? rest.count
        headByteCount += count
        guard headByteCount <= Self.headLimit else { throw Malformed() }
        if let end, cutLine.isEmpty {
            try readLine(rest.line(endingAt: end))
            return index + count
        }
        cutLine.append(contentsOf: rest.prefix(count))
        // What is no HTTP may never end its line.
        if head == nil, !cutLine.prefix(7).elementsEqual("HTTP/1.".utf8.prefix(cutLine.count)) { throw Malformed() }
        if end != nil {
            let line = cutLine
            cutLine = []
            try line.withUnsafeBytes { try readLine($0.line(endingAt: $0.count - 1)) }
        }
        return index + count
    }

    private mutating func readLine(_ line: UnsafeRawBufferPointer) throws {
        guard line.place(of: 0) == nil else { throw Malformed() }
        if head == nil {
            head = try framing.readStatus(line)
            // Nobody has asked for another protocol.
            if framing.status == 101 { throw Malformed() }
        } else if line.isEmpty {
            try beginBody()
        } else {
            try framing.readField(line)
            head?.add(line)
        }
    }

    private mutating func beginBody() throws {
        if framing.isInterim {
            head = nil
            return
        }
        let codings = framing.contentCodings(isHead: isHead)
        isDecoded = !codings.isEmpty
        switch try framing.bodyLength(isHead: isHead) {
        case .none:
            try finish()
        case .bytes(let length):
            try body.begin(codings: codings, length: length)
            place = .bytes(length)
            if length == 0 { try finish() }
        case .chunks:
            try body.begin(codings: codings, length: nil)
            place = .chunkSize
        case .rest:
            try body.begin(codings: codings, length: nil)
            place = .rest
        }
    }

    // MARK: The body

    private mutating func takeBody(_ bytes: UnsafeRawBufferPointer, from index: Int, upTo left: Int64) throws -> Int {
        let count = Int(min(Int64(bytes.count - index), left))
        try body.take(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
        return count
    }

    private mutating func advance(after count: Int64, of left: Int64) throws {
        place = .bytes(left - count)
        if count == left { try finish() }
    }

    private mutating func finish() throws {
        try body.finish()
        place = .end
    }

    /// Takes a byte of what stands around chunks (RFC 9112, section 7.1).
    private mutating func readFraming(_ byte: UInt8) throws {
        switch place {
        case .chunkSize:
            guard let size = try chunk.read(byte, limit: Self.chunkLineLimit) else { return }
            chunk = ChunkLine()
            place = size == 0 ? .trailers : .chunk(size)
        case .chunkEnd:
            if byte == UInt8(ascii: "\n") {
                chunk = ChunkLine()
                place = .chunkSize
            } else {
                guard byte == UInt8(ascii: "\r"), chunk.length == 0 else { throw Malformed() }
                chunk.length = 1
            }
        default:
            // Trailers, which nobody has asked for.
            headByteCount += 1
            guard headByteCount <= Self.headLimit, byte != 0 else { throw Malformed() }
            if byte == UInt8(ascii: "\n") {
                if chunk.length == 0 { try finish() }
                chunk.length = 0
            } else if byte != UInt8(ascii: "\r") {
                chunk.length += 1
            }
        }
    }

    /// The line before a chunk: its size in hexadecimal digits, and extensions that are passed over.
    private struct ChunkLine {
        private var size: Int64 = 0
        private var hasDigits = false
        private var isPastDigits = false
        private var isPastReturn = false
        var length = 0

        /// Gives the size at the line's end.
        mutating func read(_ byte: UInt8, limit: Int) throws -> Int64? {
            length += 1
            guard length <= limit else { throw Malformed() }
            if byte == UInt8(ascii: "\n") {
                guard hasDigits else { throw Malformed() }
                return size
            }
            guard !isPastReturn else { throw Malformed() }
            if byte == UInt8(ascii: "\r") { isPastReturn = true }
            if isPastDigits { return nil }
            if let digit = byte.hexDigitValue {
                guard size <= Int64.max >> 4 else { throw Malformed() }
                size = size << 4 | Int64(digit)
                hasDigits = true
            } else {
                guard hasDigits, byte == UInt8(ascii: ";") || byte == UInt8(ascii: "\r") || byte.isBlank else {
                    throw Malformed()
                }
                isPastDigits = true
            }
            return nil
        }
    }
}
#endif
