// SPDX-License-Identifier: MIT

/// The `Content-Range` of a 206 (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Equatable {
    package let range: Range<Int>
    /// The length of the whole representation; nil if the server does not state it.
    package let length: Int?

    package init(range: Range<Int>, length: Int?) {
        (self.range, self.length) = (range, length)
    }

    /// Nil unless the value is one byte range within the length.
    package init?(_ value: String) {
        guard let (bounds, whole) = Self.parts(value) else { return nil }
        let ends = bounds.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        range = first..<(last + 1)
        if whole == "*" {
            length = nil
        } else {
            guard let length = Self.number(whole), last < length else { return nil }
            self.length = length
        }
    }

    /// The length of the whole representation that a 416 states: `bytes */1234`; nil if it states none.
    package static func length(ofUnsatisfied value: String) -> Int? {
        parts(value).flatMap { $0.bounds == "*" ? number($0.whole) : nil }
    }

    package var text: String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.map { String($0) } ?? "*")"
    }

    private static func parts(_ value: String) -> (bounds: Substring, whole: Substring)? {
        let words = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, String(words[0]).equalsIgnoringASCIICase("bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    /// A number made of digits only, with room for the index after the last byte.
    private static func number(_ text: Substring) -> Int? {
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let number = Int(text), number < Int.max else { return nil }
        return number
    }
}
