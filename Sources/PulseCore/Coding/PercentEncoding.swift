// SPDX-License-Identifier: MIT

/// Percent-encoding of UTF-8 bytes (RFC 3986, section 2.1), one function for each component of a URL or a form.
///
/// Escapes are written in upper case. Text that needs none is returned unchanged, without an allocation.
package enum PercentEncoding {
    /// Percent-encodes path text: everything but valid escapes, `pchar` and `/` (RFC 3986, section 3.3). A `%` that
    /// starts no escape is also encoded, and so are `?` and `#`: remove them first.
    package static func path(_ text: String) -> String {
        encode(text, by: Rule(kept: .path, keepsEscapes: true))
    }

    /// Percent-encodes a raw value as one path segment or a part of one: everything but `unreserved`, so that `/`, `?`,
    /// `#`, `;` and `%` lose their meaning. `.` and `..` are kept: code that builds a path must refuse them.
    package static func segment(_ text: String) -> String {
        encode(text, by: Rule(kept: .unreserved))
    }

    /// Percent-encodes a raw name or value of a query: everything but `unreserved`. A space is `%20` and `+` is `%2B`,
    /// which every server decodes the same way, whether it treats the query as a form or not.
    package static func query(_ text: String) -> String {
        encode(text, by: Rule(kept: .unreserved))
    }

    /// Percent-encodes a whole query: its `&`, `=`, `+` and valid escapes keep their meaning, and only illegal
    /// characters are encoded (RFC 3986, section 3.4). A `#` is also encoded, so remove it first.
    package static func queryText(_ text: String) -> String {
        encode(text, by: Rule(kept: .query, keepsEscapes: true))
    }

    /// Encodes a raw name or value of a form (WHATWG URL, section 5.2, application/x-www-form-urlencoded serializing):
    /// everything but alphanumerics and `*-._`, with a space as `+`.
    package static func form(_ text: String) -> String {
        encode(text, by: Rule(kept: .form, writesSpaceAsPlus: true))
    }

    /// The decoded text, or nil if an escape is malformed or the bytes are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            guard byte == percent else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next()?.hexDigitValue, let low = rest.next()?.hexDigitValue else { return nil }
            bytes.append(high << 4 | low)
        }
        let decoded = String(decoding: bytes, as: UTF8.self)
        // Decoding replaces malformed UTF-8. On iOS 15 only this comparison detects it.
        return decoded.utf8.elementsEqual(bytes) ? decoded : nil
    }

    /// Whether a segment of the path is `.` or `..`, written plainly or as `%2e` (RFC 3986, section 5.2.4; WHATWG URL,
    /// section 4.1). Servers and proxies remove such a segment, and for `..` also the previous one.
    package static func containsDotSegment(_ path: String) -> Bool {
        let bytes = path.utf8
        var start = bytes.startIndex
        while start < bytes.endIndex {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
            if isDotSegment(bytes[start..<end]) { return true }
            start = end < bytes.endIndex ? bytes.index(after: end) : end
        }
        return false
    }

    /// The path without `.` and `..` segments; `..` also removes the previous segment (RFC 3986, section 5.2.4).
    package static func removingDotSegments(_ path: String) -> String {
        guard path.contains("/.") else { return path }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            if segment == "..", kept.count > 1 { kept.removeLast() }
            if segment != ".", segment != ".." {
                kept.append(segment)
            } else if index == segments.count - 1 {
                kept.append("")
            }
        }
        return kept.joined(separator: "/")
    }

    private static func isDotSegment(_ segment: Substring.UTF8View) -> Bool {
        guard let first = segment.first, first == UInt8(ascii: ".") || first == percent, segment.count <= 6 else {
            return false
        }
        switch String(decoding: segment, as: UTF8.self).asciiLowercased {
        case ".", "%2e", "..", ".%2e", "%2e.", "%2e%2e": return true
        default: return false
        }
    }

    private static let percent = UInt8(ascii: "%")

    private struct Rule {
        var kept: ASCIISet
        var keepsEscapes = false
        var writesSpaceAsPlus = false

        func keeps(_ byte: UInt8, at index: Int, of bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            if kept.contains(byte) { return true }
            guard keepsEscapes, byte == percent, bytes.count - index > 2 else { return false }
            return bytes[index + 1].hexDigitValue != nil && bytes[index + 2].hexDigitValue != nil
        }
    }

    private static func encode(_ text: String, by rule: Rule) -> String {
        var text = text
        let encoded: String? = text.withUTF8 { bytes in
            let changed = bytes.indices.reduce(into: 0) { count, index in
                if !rule.keeps(bytes[index], at: index, of: bytes) { count += 1 }
            }
            guard changed > 0 else { return nil }
            return String(unsafeUninitializedCapacity: bytes.count + 2 * changed) { output in
                write(bytes, by: rule, to: output)
            }
        }
        return encoded ?? text
    }

    private static func write(
        _ bytes: UnsafeBufferPointer<UInt8>, by rule: Rule, to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var end = 0
        for (index, byte) in bytes.enumerated() {
            if rule.keeps(byte, at: index, of: bytes) {
                output[end] = byte
                end += 1
            } else if rule.writesSpaceAsPlus, byte == UInt8(ascii: " ") {
                output[end] = UInt8(ascii: "+")
                end += 1
            } else {
                output[end] = percent
                output[end + 1] = hexDigit(byte >> 4)
                output[end + 2] = hexDigit(byte & 0x0F)
                end += 3
            }
        }
        return end
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
