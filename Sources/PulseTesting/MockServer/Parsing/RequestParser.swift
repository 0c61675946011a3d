// SPDX-License-Identifier: MIT

import PulseCore

/// Turns the bytes of a connection into requests (RFC 9112): a pure value, fed in pieces of any size.
///
/// It is strict, since it judges the client under test: bare LF, folded lines and contradictory lengths are failures.
/// ``Event/failed(_:)`` is the last event.
package struct RequestParser: Sendable {
    package enum Event: Sendable, Equatable {
        case head(RequestHead)
        case body(Data)
        /// The request is complete.
        case end(trailers: HTTPHeaders)
        case failed(ParseFailure)
    }

    private enum Expectation {
        case head
        case body(rest: Int)
        case chunkSize
        case chunk(rest: Int)
        case chunkEnd
        case trailers
        case end(HTTPHeaders)
        case nothing
    }

    /// The maximum size of a body event, in bytes.
    package var maxPieceSize = Int.max

    private let maxHeadSize: Int
    private var expectation = Expectation.head
    /// The lines so far of the current header or trailer section.
    private var lines: [ArraySlice<UInt8>] = []
    private var buffer: [UInt8] = []
    private var position = 0
    /// The position from which the search for the end of the line continues.
    private var searched = 0
    /// Bytes of lines in the current header section, chunk size or trailer section.
    private var lineBytes = 0
    /// Bytes of the current request so far, framing included.
    package private(set) var messageSize = 0

    /// - Parameter maxHeadSize: in bytes, of the request line and all fields, and of the trailers; more is a 431.
    package init(maxHeadSize: Int) {
        self.maxHeadSize = maxHeadSize
    }

    /// Whether no byte of the next request has arrived.
    package var isBetweenRequests: Bool {
        guard case .head = expectation else { return false }
        return lines.isEmpty && position == buffer.count
    }

    /// The bytes that were received and not parsed yet.
    var unread: Data { Data(buffer[position...]) }

    package mutating func append(_ bytes: Data) {
        if position > 0 {
            buffer.removeSubrange(..<position)
            searched -= position
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next event, or nil if it needs more bytes.
    package mutating func next() -> Event? {
        do {
            return try parse()
        } catch {
            expectation = .nothing
            return .failed(error)
        }
    }

    private mutating func parse() throws(ParseFailure) -> Event? {
        while true {
            switch expectation {
            case .head:
                guard let line = try nextLine() else { return nil }
                if let event = try head(line) { return event }
            case .body(0):
                expectation = .end(HTTPHeaders())
            case .body(let rest):
                guard let bytes = take(atMost: rest) else { return nil }
                expectation = .body(rest: rest - bytes.count)
                return .body(bytes)
            case .chunkSize:
                guard let line = try nextLine() else { return nil }
                let size = try Self.chunkSize(line)
                lineBytes = 0
                expectation = size == 0 ? .trailers : .chunk(rest: size)
            case .chunk(0):
                expectation = .chunkEnd
            case .chunk(let rest):
                guard let bytes = take(atMost: rest) else { return nil }
                expectation = .chunk(rest: rest - bytes.count)
                return .body(bytes)
            case .chunkEnd:
                guard let line = try nextLine() else { return nil }
                guard line.isEmpty else { throw .badRequest("a chunk longer than its size") }
                expectation = .chunkSize
            case .trailers:
                guard let line = try nextLine() else { return nil }
                if line.isEmpty { expectation = .end(try HTTPHeaders(lines: takeLines())) } else { lines.append(line) }
            case .end(let trailers):
                expectation = .head
                lineBytes = 0
                return .end(trailers: trailers)
            case .nothing:
                return nil
            }
        }
    }

    private mutating func head(_ line: ArraySlice<UInt8>) throws(ParseFailure) -> Event? {
        guard line.isEmpty else {
            if lines.isEmpty { messageSize = line.count + 2 }
            lines.append(line)
            return nil
        }
        // Blank lines before a request are skipped (RFC 9112, section 2.2).
        guard !lines.isEmpty else { return nil }
        let head = try RequestHead(lines: takeLines())
        lineBytes = 0
        switch head.framing {
        case .none: expectation = .body(rest: 0)
        case .length(let length): expectation = .body(rest: length)
        case .chunked: expectation = .chunkSize
        }
        return .head(head)
    }

    private mutating func takeLines() -> ArraySlice<ArraySlice<UInt8>> {
        defer { lines = [] }
        return lines[...]
    }

    /// The next line without its CRLF, as a copy that later bytes do not move.
    private mutating func nextLine() throws(ParseFailure) -> ArraySlice<UInt8>? {
        guard let end = buffer[max(searched, position)...].firstIndex(of: 0x0A) else {
            searched = buffer.count
            try checkSize(lineBytes + buffer.count - position)
            return nil
        }
        let size = end + 1 - position
        try checkSize(lineBytes + size)
        guard end > position, buffer[end - 1] == 0x0D else { throw .badRequest("a line that does not end in CRLF") }
        let line = Array(buffer[position..<(end - 1)])
        guard !line.contains(where: { $0 == 0x0D || $0 == 0 }) else { throw .badRequest("CR or NUL within a line") }
        position = end + 1
        lineBytes += size
        messageSize += size
        return line[...]
    }

    private func checkSize(_ size: Int) throws(ParseFailure) {
        guard size <= maxHeadSize else {
            throw ParseFailure(status: 431, reason: "a header block of more than \(maxHeadSize) bytes")
        }
    }

    private mutating func take(atMost limit: Int) -> Data? {
        let count = min(limit, maxPieceSize, buffer.count - position)
        guard count > 0 else { return nil }
        defer {
            position += count
            messageSize += count
        }
        return Data(buffer[position..<(position + count)])
    }

    /// Extensions are allowed and ignored (RFC 9112, section 7.1.1).
    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(ParseFailure) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }.trimmingHTTPSpace()
        guard (1...15).contains(digits.count), line.first?.hexDigitValue != nil else {
            throw .badRequest("a chunk size that is not a hexadecimal number")
        }
        // Fifteen digits are 60 bits.
        var size: Int64 = 0
        for digit in digits {
            guard let value = digit.hexDigitValue else {
                throw .badRequest("a chunk size that is not a hexadecimal number")
            }
            size = size << 4 | Int64(value)
        }
        return Int(clamping: size)
    }
}
