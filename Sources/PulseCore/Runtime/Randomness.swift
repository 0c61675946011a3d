// SPDX-License-Identifier: MIT

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The only source of randomness: jitter, identifiers and boundaries use it, so that a test can seed them. Used from
/// any thread.
public protocol Randomness: Sendable {
    /// Returns 64 uniform bits.
    func next() -> UInt64
}

extension Randomness {
    /// Returns a uniform number in 0..<1.
    package func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Returns three words, as three calls of ``next()`` would.
    package func nextThree() -> (UInt64, UInt64, UInt64) {
        if self is SystemRandomness, let bits = SystemRandomness.filled((0, 0, 0) as (UInt64, UInt64, UInt64)) {
            return bits
        }
        return (next(), next(), next())
    }

    /// Returns a version 4 UUID (RFC 9562, section 5.4).
    package func uuid() -> UUID {
        if self is SystemRandomness, let bits = SystemRandomness.filled((0, 0) as (UInt64, UInt64)) {
            return UUID(bits: bits.0, bits.1)
        }
        return UUID(bits: next(), next())
    }
}

extension UUID {
    package init(bits high: UInt64, _ low: UInt64) {
        func byte(_ index: UInt64) -> UInt8 {
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> (56 - 8 * (index % 8)))
        }
        self.init(
            uuid: (
                byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6) & 0x0F | 0x40, byte(7),
                byte(8) & 0x3F | 0x80, byte(9), byte(10), byte(11), byte(12), byte(13), byte(14), byte(15)
            ))
    }
}

/// The system's cryptographic random generator.
public struct SystemRandomness: Randomness {
    /// Creates the system's generator.
    public init() {}

    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// Several words from one system call, which is the dominant cost. Nil if it fails, and on systems whose library
    /// already batches the calls.
    fileprivate static func filled<Words: BitwiseCopyable>(_ words: Words) -> Words? {
        #if canImport(Glibc) || canImport(Musl)
        var bits = words
        let isFilled = withUnsafeMutableBytes(of: &bits) { bytes in
            bytes.baseAddress.map { getentropy($0, bytes.count) == 0 } ?? false
        }
        return isFilled ? bits : nil
        #else
        return nil
        #endif
    }
}

extension Randomness where Self == SystemRandomness {
    /// The system's random generator.
    public static var system: SystemRandomness { SystemRandomness() }
}

/// Identifiers for calls: unique and cheap, not secret. Seeded once from a ``Randomness``, since a system call per
/// identifier would cost more than the rest of the call's setup.
package struct IdentifierSource: Sendable {
    private let state: Locked<UInt64>
    private let prefix: UInt64

    package init(_ randomness: any Randomness) {
        prefix = randomness.next()
        state = Locked(randomness.next())
    }

    package func next() -> UUID {
        // SplitMix64: a full period of 2^64 for each prefix.
        var mixed = state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        // The UUID's variant overwrites the top two bits, so the prefix takes them: otherwise identifiers would
        // collide after 2^31.
        return UUID(bits: prefix ^ (mixed >> 62), mixed)
    }
}
