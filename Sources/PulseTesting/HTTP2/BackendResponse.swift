// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// Parses an HTTP/1.1 response into parts that HTTP/2 also has: a pure value, fed in pieces of any size.
///
/// It passes header fields on unchanged, because the client under test judges them. ``Part/malformed`` is the last
/// part.
struct BackendResponse: Sendable {
    enum Part: Sendable {
        case interim([HTTP2FrontField])
        case head([HTTP2FrontField], hasBody: Bool)
        case body(Data)
        /// The response is complete.
        case end(trailers: [HTTP2FrontField])
        case malformed
    }

    private enum Expectation {
        case head
        case body(rest: Int)
        case chunkSize
        case chunk(rest: Int)
        case chunkEnd
        case trailers
        /// The body ends with the connection.
        case rest
        case nothing
    }

    /// The maximum header size of one response, in bytes.
    private static let headLimit = 1 << 20

    private let isToHEAD: Bool
    private var expectation = Expectation.head
    private var buffer: [UInt8] = []
    private var position = 0
    private var lines: [[UInt8]] = []
    private var headSize = 0
    private var hasEnded = false

    init(toHEAD isToHEAD: Bool) {
        self.isToHEAD = isToHEAD
    }

    mutating func append(_ bytes: Data) {
        buffer.removeSubrange(..<position)
        position = 0
        buffer.append(contentsOf: bytes)
    }

    /// Marks the end of the connection, without a reset.
    mutating func finish() {
        hasEnded = true
    }

    /// The next part; nil if it needs more bytes or the end.
    mutating func next() -> Part? {
        while true {
            switch expectation {
            case .head:
                guard let line = nextLine() else { return lineFailure() }
                guard line.isEmpty else {
                    lines.append(line)
                    continue
                }
                if lines.isEmpty { continue }
                return head()
            case .body(0):
                return end([])
            case .body(let rest):
                guard let bytes = take(atMost: rest) else { return failure(if: hasEnded) }
                expectation = .body(rest: rest - bytes.count)
                return .body(bytes)
            case .chunkSize:
                guard let line = nextLine() else { return lineFailure() }
                guard let size = Self.chunkSize(line) else { return failure(if: true) }
                headSize = 0
                expectation = size == 0 ? .trailers : .chunk(rest: size)
            case .chunk(0):
                expectation = .chunkEnd
            case .chunk(let rest):
                guard let bytes = take(atMost: rest) else { return failure(if: hasEnded) }
                expectation = .chunk(rest: rest - bytes.count)
                return .body(bytes)
            case .chunkEnd:
                guard let line = nextLine() else { return lineFailure() }
                guard line.isEmpty else { return failure(if: true) }
                expectation = .chunkSize
            case .trailers:
                guard let line = nextLine() else { return lineFailure() }
                if line.isEmpty { return end(Self.fields(lines[...])) }
                lines.append(line)
            case .rest:
                if let bytes = take(atMost: .max) { return .body(bytes) }
                return hasEnded ? end([]) : nil
            case .nothing:
                return nil
            }
        }
    }

    private mutating func end(_ trailers: [HTTP2FrontField]) -> Part {
        expectation = .nothing
        return .end(trailers: trailers)
    }

    private mutating func failure(if isFailed: Bool) -> Part? {
        guard isFailed else { return nil }
        expectation = .nothing
        return .malformed
    }

    /// The failure for an incomplete line; nil if more bytes may complete it.
    private mutating func lineFailure() -> Part? {
        failure(if: hasEnded || headSize + buffer.count - position > Self.headLimit)
    }

    // MARK: Header fields

    private mutating func head() -> Part? {
        let line = lines[0]
        var fields = Self.fields(lines.dropFirst())
        lines = []
        headSize = 0
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        guard line.starts(with: "HTTP/1.".utf8), parts.count >= 2, parts[1].count == 3,
            let status = Int(String(decoding: parts[1], as: UTF8.self))
        else { return failure(if: true) }
        let body = framing(of: fields, status)
        fields.removeAll { Self.isOfConnection($0.name) }
        fields.insert(HTTP2FrontField(":status", "\(status)"), at: 0)
        // After a switch of protocols no other response follows.
        if (100..<200).contains(status), status != 101 { return .interim(fields) }
        expectation = body
        if case .body(0) = body { return .head(fields, hasBody: false) }
        return .head(fields, hasBody: true)
    }

    private func framing(of fields: [HTTP2FrontField], _ status: Int) -> Expectation {
        if isToHEAD || status == 204 || status == 304 { return .body(rest: 0) }
        if fields.contains(where: { $0.isNamed("transfer-encoding") && $0.text.lowercased().contains("chunked") }) {
            return .chunkSize
        }
        guard let length = fields.first(where: { $0.isNamed("content-length") }).flatMap({ Int($0.text) }), length >= 0
        else { return .rest }
        return .body(rest: length)
    }

    /// Whether a field is connection-specific (RFC 9113, section 8.2.2).
    private static func isOfConnection(_ name: [UInt8]) -> Bool {
        ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"].contains {
            name.elementsEqual($0.utf8)
        }
    }

    private static func fields(_ lines: ArraySlice<[UInt8]>) -> [HTTP2FrontField] {
        lines.map { line in
            let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            let name = line[..<colon].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            return HTTP2FrontField(name: name, value: Array(line[colon...].dropFirst().trimmingHTTPSpace()))
        }
    }

    private static func chunkSize(_ line: [UInt8]) -> Int? {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }.trimmingHTTPSpace()
        return Int(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { $0 >= 0 ? $0 : nil }
    }

    // MARK: Bytes

    /// The next line without its CRLF; nil if it is incomplete.
    private mutating func nextLine() -> [UInt8]? {
        guard let end = buffer[position...].firstIndex(of: 0x0A) else { return nil }
        let line = buffer[position..<end]
        headSize += line.count
        position = end + 1
        return Array(line.last == 0x0D ? line.dropLast() : line)
    }

    private mutating func take(atMost limit: Int) -> Data? {
        let count = min(limit, buffer.count - position)
        guard count > 0 else { return nil }
        defer { position += count }
        return Data(buffer[position..<(position + count)])
    }
}

extension HTTP2FrontField {
    func isNamed(_ name: String) -> Bool { self.name.elementsEqual(name.utf8) }

    var text: String { String(decoding: value, as: UTF8.self) }
}
#endif
