// SPDX-License-Identifier: MIT

import PulseCore

/// The status line and the fields of an answer, as they came over the wire (RFC 9112, sections 4 and 5).
struct ResponseHead: Sendable {
    let statusCode: Int
    let headers: HTTPHeaders

    /// Nil if the first line is not a status line. Lines end with LF, before which a CR may stand.
    init?(_ bytes: [UInt8]) {
        var fields: [HTTPHeaders.Field] = []
        fields.reserveCapacity(16)
        var statusCode: Int?
        var isValid = true
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
                defer { start = end + 1 }
                let hasReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
                let line = UnsafeRawBufferPointer(rebasing: bytes[start..<(hasReturn ? end - 1 : end)])
                guard statusCode != nil else {
                    statusCode = Self.statusCode(line)
                    if statusCode == nil { isValid = false }
                    continue
                }
                Self.add(line, to: &fields)
            }
        }
        guard isValid, let statusCode else { return nil }
        self.statusCode = statusCode
        headers = HTTPHeaders(fields)
    }

    /// `HTTP/1.1 200 OK`; the reason and the space before it may be missing.
    static func statusCode(_ line: UnsafeRawBufferPointer) -> Int? {
        guard line.starts(with: "HTTP/".utf8),
            let space = line.firstIndex(where: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
        else { return nil }
        let digits = line[(space + 1)...].prefix { $0.isASCIIDigit }
        guard digits.count == 3 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func add(_ line: UnsafeRawBufferPointer, to fields: inout [HTTPHeaders.Field]) {
        guard let first = line.first else { return }
        if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
            // A folded line continues the value before it, as if after a space (RFC 9112, section 5.2).
            guard let last = fields.indices.last else { return }
            fields[last].value += " " + text(trimmed(line[...]))
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            fields.append(
                HTTPHeaders.Field(name: text(trimmed(line[..<colon])), value: text(trimmed(line[(colon + 1)...]))))
        }
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer {
        var bytes = bytes
        while let first = bytes.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { bytes.removeFirst() }
        while let last = bytes.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { bytes.removeLast() }
        return UnsafeRawBufferPointer(rebasing: bytes)
    }

    /// The text in UTF-8, or else in Latin-1, in which every byte is a character, so that no value is lost.
    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.contains(where: { $0 >= 0x80 }) else { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(bytes: bytes, encoding: .utf8) { return text }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
}
