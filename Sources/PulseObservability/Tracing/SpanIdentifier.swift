// SPDX-License-Identifier: MIT

import PulseCore

/// Identifiers of W3C Trace Context: lower-case hexadecimal digits, never all zero.
enum SpanIdentifier {
    static func validTrace(_ text: String) -> String? { valid(text, length: 32) }

    static func validSpan(_ text: String) -> String? { valid(text, length: 16) }

    private static func valid(_ text: String, length: Int) -> String? {
        let digits = text.utf8
        guard digits.count == length, digits.contains(where: { $0 != UInt8(ascii: "0") }),
            digits.allSatisfy({ $0.hexDigitValue != nil && $0.asciiLowercased == $0 })
        else { return nil }
        return text
    }

    /// A trace id for a call without one from a tracing plugin, derived from the call's id.
    static func trace(of id: UUID) -> String {
        let (high, low) = words(of: id)
        return hex(mixed(high)) + hex(mixed(low ^ high))
    }

    /// - Parameter number: 0 for the call, from 1 on for its attempts.
    static func span(of id: UUID, _ number: Int) -> String {
        let (high, low) = words(of: id)
        return hex(mixed(mixed(high) ^ low &+ UInt64(truncatingIfNeeded: number)))
    }

    private static func words(of id: UUID) -> (high: UInt64, low: UInt64) {
        withUnsafeBytes(of: id.uuid) { bytes in
            (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// SplitMix64's last step: a client's ids differ in a few bits, but their spans must look unrelated.
    private static func mixed(_ bits: UInt64) -> UInt64 {
        var bits = bits &+ 0x9E37_79B9_7F4A_7C15
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return bits == 0 ? 1 : bits
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
