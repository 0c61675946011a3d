// SPDX-License-Identifier: MIT

import PulseCore

/// One range of a `Range` field (RFC 9110, section 14.1.2). Numbers beyond an `Int` count as the largest one.
enum ByteRange: Sendable, Equatable {
    /// From the first byte to the last, which is included.
    case closed(first: Int, last: Int)
    /// From that byte to the end.
    case from(Int)
    /// That many bytes at the end.
    case suffix(Int)

    /// Nil for anything but a range of bytes.
    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let (first, last) = (ByteNumber.clamped(parts[0]), ByteNumber.clamped(parts[1]))
        switch (first, last) {
        case (let first?, let last?):
            guard first <= last else { return nil }
            self = .closed(first: first, last: last)
        case (let first?, nil):
            guard parts[1].isEmpty else { return nil }
            self = .from(first)
        case (nil, let length?):
            guard parts[0].isEmpty else { return nil }
            self = .suffix(length)
        case (nil, nil): return nil
        }
    }

    /// The bytes of a representation of that length; nil if it has none of them (RFC 9110, section 14.1.2).
    func resolved(in length: Int) -> Range<Int>? {
        switch self {
        case .closed(let first, let last): first < length ? first..<min(last + 1, length) : nil
        case .from(let first): first < length ? first..<length : nil
        case .suffix(let count): count > 0 && length > 0 ? max(0, length - count)..<length : nil
        }
    }

    /// The bytes of a representation whose length is not known; nil if they depend on it.
    var resolvedWithoutLength: Range<Int>? {
        if case .closed(let first, let last) = self { first..<(last + 1) } else { nil }
    }
}

/// The `Range` field of a request.
enum RangeField: Sendable, Equatable {
    /// Everything: there is no field, or one that is invalid and counts for nothing (RFC 9110, section 14.2).
    case whole
    case one(ByteRange)
    /// Several ranges, or another unit than bytes: the server alone can answer.
    case foreign

    init(_ value: String) {
        let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, case let unit = String(parts[0]), unit.isHTTPToken else {
            self = .whole
            return
        }
        guard unit.equalsIgnoringASCIICase("bytes") else {
            self = .foreign
            return
        }
        let members = parts[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
        let ranges = members.compactMap { ByteRange($0) }
        // One that is invalid makes the whole field so.
        switch ranges.count == members.count ? ranges.count : 0 {
        case 0: self = .whole
        case 1: self = .one(ranges[0])
        default: self = .foreign
        }
    }
}

/// The `Content-Range` field of a 206 (RFC 9110, section 14.4).
struct ContentRange: Sendable, Equatable {
    let range: Range<Int>
    /// The length of the whole representation; nil if the server does not tell.
    let length: Int?

    init(range: Range<Int>, length: Int?) {
        (self.range, self.length) = (range, length)
    }

    /// Nil for anything but one range of bytes that lies within the length.
    init?(_ value: String) {
        let words = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, String(words[0]).equalsIgnoringASCIICase("bytes") else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, case let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false),
            bounds.count == 2, let first = ByteNumber.exact(bounds[0]), let last = ByteNumber.exact(bounds[1]),
            first <= last
        else { return nil }
        range = first..<(last + 1)
        if parts[1] == "*" {
            length = nil
        } else {
            guard let length = ByteNumber.exact(parts[1]), last < length else { return nil }
            self.length = length
        }
    }

    var text: String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.map { String($0) } ?? "*")"
    }
}

/// Digits and nothing else.
private enum ByteNumber {
    /// The byte behind it has a number as well.
    private static let most = Int.max - 1

    static func exact(_ text: some StringProtocol) -> Int? {
        guard isNumber(text), let number = Int(text), number <= most else { return nil }
        return number
    }

    static func clamped(_ text: some StringProtocol) -> Int? {
        isNumber(text) ? exact(text) ?? most : nil
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isASCIIDigit)
    }
}
