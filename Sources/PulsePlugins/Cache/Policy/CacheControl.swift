// SPDX-License-Identifier: MIT

import PulseCore

/// The `Cache-Control` directives that a private cache obeys (RFC 9111, section 5.2). Others are ignored, including
/// `s-maxage` and `proxy-revalidate`, which are for shared caches.
struct CacheControl: Sendable, Equatable {
    /// The argument of a directive that takes seconds.
    enum Seconds: Sendable, Equatable {
        case value(Int)
        /// No argument. Only `max-stale` allows this.
        case missing
        /// Not a number of seconds, or two different numbers.
        case invalid
    }

    var noStore = false
    var noCache = false
    var mustRevalidate = false
    var mustUnderstand = false
    var isPublic = false
    var immutable = false
    var onlyIfCached = false
    var maxAge: Seconds?
    var minFresh: Seconds?
    var maxStale: Seconds?
    var staleWhileRevalidate: Seconds?
    var staleIfError: Seconds?

    init() {}

    /// The directives of all field lines together.
    init(_ lines: some Sequence<String>) {
        for var line in lines {
            line.withUTF8 { bytes in
                for range in Self.members(bytes) { read(bytes, range) }
            }
        }
    }

    init(of headers: HTTPHeaders) {
        self.init()
        for field in headers where field.name.equalsIgnoringASCIICase("Cache-Control") {
            var line = field.value
            line.withUTF8 { bytes in
                for range in Self.members(bytes) { read(bytes, range) }
            }
        }
    }

    /// The parts between commas outside quotes (RFC 9110, sections 5.6.1 and 5.6.4). An unterminated quote is an
    /// ordinary character, so that it cannot hide a `no-store`.
    static func members(_ bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var members: [Range<Int>] = []
        var start = 0
        var index = 0
        // After an unterminated quote, every later quote was escaped.
        var hasOpenQuote = false
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: ",") {
                members.append(start..<index)
                start = index + 1
            } else if bytes[index] == UInt8(ascii: "\""), !hasOpenQuote {
                if let end = endOfQuote(bytes, from: index) { index = end } else { hasOpenQuote = true }
            }
            index += 1
        }
        members.append(start..<bytes.count)
        return members
    }

    private static func endOfQuote(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\"") { return index }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    /// Reads one directive. An argument that the directive does not allow is ignored: `no-cache="Set-Cookie"` applies
    /// to the whole response, which is stricter (RFC 9111, section 5.2.2.4).
    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, _ member: Range<Int>) {
        let member = Self.trimmed(bytes, member)
        let equals = member.first { bytes[$0] == UInt8(ascii: "=") }
        // White space before the equals sign is invalid, but the directive is clear.
        let name = Self.trimmed(bytes, member.lowerBound..<(equals ?? member.upperBound))
        func isNamed(_ text: StaticString) -> Bool { Self.matches(bytes, name, text) }
        func add(_ seconds: inout Seconds?) {
            let next = equals.map { Self.seconds(bytes, ($0 + 1)..<member.upperBound) } ?? .missing
            // Two different values make the directive invalid (RFC 9111, section 4.2.1).
            seconds = seconds == nil || seconds == next ? next : .invalid
        }
        switch name.count {
        case 6 where isNamed("public"): isPublic = true
        case 7 where isNamed("max-age"): add(&maxAge)
        case 8 where isNamed("no-store"): noStore = true
        case 8 where isNamed("no-cache"): noCache = true
        case 9 where isNamed("immutable"): immutable = true
        case 9 where isNamed("min-fresh"): add(&minFresh)
        case 9 where isNamed("max-stale"): add(&maxStale)
        case 14 where isNamed("only-if-cached"): onlyIfCached = true
        case 14 where isNamed("stale-if-error"): add(&staleIfError)
        case 15 where isNamed("must-revalidate"): mustRevalidate = true
        case 15 where isNamed("must-understand"): mustUnderstand = true
        case 22 where isNamed("stale-while-revalidate"): add(&staleWhileRevalidate)
        default: break
        }
    }

    /// Parses `delta-seconds` (RFC 9111, section 1.2.2), as a token or a quoted string. Too large a number is clamped.
    private static func seconds(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Seconds {
        var range = range
        if range.count >= 2, bytes[range.lowerBound] == UInt8(ascii: "\""),
            bytes[range.upperBound - 1] == UInt8(ascii: "\"")
        {
            range = (range.lowerBound + 1)..<(range.upperBound - 1)
        }
        guard let value = DeltaSeconds.parse(UnsafeBufferPointer(rebasing: bytes[range])) else { return .invalid }
        return .value(value)
    }

    static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, bytes[start].isOptionalWhiteSpace { start += 1 }
        while start < end, bytes[end - 1].isOptionalWhiteSpace { end -= 1 }
        return start..<end
    }

    private static func matches(
        _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ text: StaticString
    ) -> Bool {
        text.withUTF8Buffer { text in
            zip(range, text).allSatisfy { bytes[$0].asciiLowercased == $1 }
        }
    }
}

extension CacheControl.Seconds? {
    /// The argument in seconds. An invalid argument counts as a missing one.
    func seconds(absent: TimeInterval = 0, missing: TimeInterval = 0) -> TimeInterval {
        switch self {
        case nil: absent
        case .value(let value): TimeInterval(value)
        case .missing, .invalid: missing
        }
    }
}

extension UInt8 {
    /// `OWS` (RFC 9110, section 5.6.3).
    var isOptionalWhiteSpace: Bool { self == 0x20 || self == 0x09 }
}

/// A number of seconds in a header field: digits only (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// The largest value, 68 years. Larger numbers are clamped.
    static let most = Int(Int32.max)

    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !bytes.isEmpty else { return nil }
        // A 32-bit `Int` could overflow before the value is clamped.
        var value: Int64 = 0
        for byte in bytes {
            guard byte.isASCIIDigit else { return nil }
            value = min(Int64(most), value * 10 + Int64(byte - UInt8(ascii: "0")))
        }
        return Int(value)
    }

    static func parse(_ text: some StringProtocol) -> Int? {
        var text = String(text)
        return text.withUTF8 { parse($0) }
    }
}
