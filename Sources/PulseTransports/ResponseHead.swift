// SPDX-License-Identifier: MIT

import PulseCore

/// The status line and the header fields of a response, as received (RFC 9112, sections 4 and 5).
struct ResponseHead: Sendable {
    let statusCode: Int
    private var fields: [HTTPHeaders.Field] = []

    var headers: HTTPHeaders { HTTPHeaders(fields) }

    /// The same status without fields, for collecting trailer fields.
    var withoutFields: ResponseHead {
        var head = self
        head.fields = []
        return head
    }

    /// The response without its body.
    func response(to request: URLRequest) -> PulseResponse {
        PulseResponse(statusCode: statusCode, headers: headers, request: request)
    }

    /// Parses `HTTP/1.1 200 OK`; the reason phrase and the space before it may be missing.
    init?(statusLine line: UnsafeRawBufferPointer) {
        guard line.hasPrefix("HTTP/"), let space = line.firstIndex(where: \.isBlank) else { return nil }
        let digits = line[(space + 1)...].prefix { $0.isASCIIDigit }
        guard digits.count == 3 else { return nil }
        statusCode = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        fields.reserveCapacity(16)
    }

    /// Adds a line, without its line end. Ignores lines that are not header fields.
    mutating func add(_ line: UnsafeRawBufferPointer) {
        guard let first = line.first else { return }
        if first.isBlank {
            // A folded line continues the previous value, as if after a space (RFC 9112, section 5.2).
            guard let last = fields.indices.last else { return }
            line.trimmed.withoutReturns { fields[last].append(line: $0) }
        } else if let colon = line.offset(of: UInt8(ascii: ":")) {
            let name = UnsafeRawBufferPointer(rebasing: line[..<colon])
            let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])
            value.trimmed.withoutReturns { octets in
                fields.append(HTTPHeaders.Field(name: name.trimmed.text, octets: octets))
            }
        }
    }
}

extension UInt8 {
    /// Whether the byte is a space or a tab (RFC 9110, section 5.6.3).
    var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension UnsafeRawBufferPointer {
    /// The first index of the byte.
    func offset(of byte: UInt8) -> Int? {
        guard let base = baseAddress, let found = memchr(base, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// The line before the LF at this index, without a CR.
    func line(endingAt end: Int) -> UnsafeRawBufferPointer {
        let hasReturn = end > 0 && self[end - 1] == UInt8(ascii: "\r")
        return UnsafeRawBufferPointer(rebasing: self[..<(hasReturn ? end - 1 : end)])
    }

    func hasPrefix(_ text: StaticString) -> Bool {
        count >= text.utf8CodeUnitCount && memcmp(baseAddress!, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// The bytes without surrounding blanks. A CR counts as a blank.
    var trimmed: UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while start < end, self[start].isBlank || self[start] == UInt8(ascii: "\r") { start += 1 }
        while end > start, self[end - 1].isBlank || self[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// Calls `body` with the bytes, with each CR replaced by a space (RFC 9112, section 2.2): other parsers may take a
    /// CR for a line end.
    fileprivate func withoutReturns(_ body: (UnsafeRawBufferPointer) -> Void) {
        guard offset(of: UInt8(ascii: "\r")) != nil else { return body(self) }
        map { $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }.withUnsafeBytes(body)
    }

    /// The text in UTF-8, or else in Latin-1, which maps every byte to a character and loses nothing.
    fileprivate var text: String {
        // Tests all bytes without an early exit, which the compiler vectorizes.
        guard reduce(0, |) >= 0x80 else { return String(decoding: self, as: UTF8.self) }
        if let text = String(bytes: self, encoding: .utf8) { return text }
        return String(String.UnicodeScalarView(map { Unicode.Scalar($0) }))
    }
}
