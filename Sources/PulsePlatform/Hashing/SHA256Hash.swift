// SPDX-License-Identifier: MIT

import PulseCore

/// The 32 bytes of a SHA-256 or an HMAC-SHA256.
///
/// `==` may stop at the first difference: for a received code, use ``HMACKey/isValid(_:for:)``.
package struct SHA256Hash: Hashable, Sendable {
    package static var byteCount: Int { 32 }

    private let bytes: SIMD32<UInt8>

    /// - Parameter body: writes all 32 bytes. The hash is nil if it returns false.
    package init?(writing body: (UnsafeMutablePointer<UInt8>) -> Bool) {
        var bytes = SIMD32<UInt8>()
        let isWritten = withUnsafeMutableBytes(of: &bytes) { buffer in
            buffer.baseAddress.map { body($0.assumingMemoryBound(to: UInt8.self)) } ?? false
        }
        guard isWritten else { return nil }
        self.bytes = bytes
    }

    /// Reads exactly 64 hexadecimal digits in either case; nil for any other text.
    package init?(hex: String) {
        guard hex.utf8.count == 2 * Self.byteCount else { return nil }
        var bytes = SIMD32<UInt8>()
        var digits = hex.utf8.makeIterator()
        for index in 0..<Self.byteCount {
            guard let high = digits.next()?.hexDigitValue, let low = digits.next()?.hexDigitValue else { return nil }
            bytes[index] = high << 4 | low
        }
        self.bytes = bytes
    }

    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Swift.withUnsafeBytes(of: bytes, body)
    }

    /// The hash in 64 lower-case hexadecimal digits.
    package var hex: String { withUnsafeBytes { $0.hexDigits } }
}

extension Collection<UInt8> {
    /// Two lower-case digits for each byte.
    package var hexDigits: String {
        String(unsafeUninitializedCapacity: 2 * count) { text in
            var position = 0
            for byte in self {
                text[position] = Self.digit(byte >> 4)
                text[position + 1] = Self.digit(byte & 0x0F)
                position += 2
            }
            return position
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        // Without a branch, which no CPU could predict.
        value &+ UInt8(ascii: "0") &+ (value > 9 ? UInt8(ascii: "a") - UInt8(ascii: "0") - 10 : 0)
    }
}

extension SHA256Hash: CustomStringConvertible {
    package var description: String { hex }
}
