// SPDX-License-Identifier: MIT

import PulseCore

/// One range of a `Range` field (RFC 9110, section 14.1.2). Numbers beyond `Int` are clamped.
enum ByteRange: Sendable, Equatable {
    /// From the first byte to the last, inclusive.
    case closed(first: Int, last: Int)
    /// From the given byte to the end.
    case from(Int)
    /// The last bytes, as many as given.
    case suffix(Int)

    /// Nil if the text is not a byte range.
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

    /// The bytes of a representation of the given length; nil if none of them exist (RFC 9110, section 14.1.2).
    func resolved(in length: Int) -> Range<Int>? {
        switch self {
        case .closed(let first, let last): first < length ? first..<min(last + 1, length) : nil
        case .from(let first): first < length ? first..<length : nil
        case .suffix(let count): count > 0 && length > 0 ? max(0, length - count)..<length : nil
        }
    }

    /// The bytes of a representation of unknown length; nil if they depend on the length.
    var resolvedWithoutLength: Range<Int>? {
        if case .closed(let first, let last) = self { first..<(last + 1) } else { nil }
    }
}

/// The `Range` field of a request.
enum RangeField: Sendable, Equatable {
    /// The whole representation: there is no field, or an invalid one, which is ignored (RFC 9110, section 14.2).
    case whole
    case one(ByteRange)
    /// Several ranges, or a unit other than bytes. Only the server can serve these.
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
        // One invalid range invalidates the whole field.
        switch ranges.count == members.count ? ranges.count : 0 {
        case 0: self = .whole
        case 1: self = .one(ranges[0])
        default: self = .foreign
        }
    }
}

/// A number made of digits only.
private enum ByteNumber {
    /// Leaves room for the index after the last byte.
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
