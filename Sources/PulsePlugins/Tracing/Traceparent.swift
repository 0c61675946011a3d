// SPDX-License-Identifier: MIT

import PulseCore

/// The fields of a `traceparent` (W3C Trace Context, section 3.2).
struct Traceparent {
    let high: UInt64
    let low: UInt64
    let span: UInt64
    let flags: UInt64

    private static let length = 55

    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count >= Self.length, let version = Self.hex(bytes, 0..<2), version != 0xFF,
            // Only a later version may have more fields, which start with a dash.
            bytes.count == Self.length || version > 0 && bytes[Self.length] == UInt8(ascii: "-"),
            [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let high = Self.hex(bytes, 3..<19), let low = Self.hex(bytes, 19..<35),
            let span = Self.hex(bytes, 36..<52), let flags = Self.hex(bytes, 53..<55)
        else { return nil }
        (self.high, self.low, self.span, self.flags) = (high, low, span, flags)
    }

    /// The value of at most sixteen digits; nil unless they are in lower case.
    private static func hex(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> UInt64? {
        var value: UInt64 = 0
        for byte in bytes[range] {
            guard let digit = byte.hexDigitValue, byte.asciiLowercased == byte else { return nil }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}
