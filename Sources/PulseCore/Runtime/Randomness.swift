// SPDX-License-Identifier: MIT

/// The one source of chance: jitter, identifiers and boundaries come from it, so that a test can seed them.
public protocol Randomness: Sendable {
    /// 64 uniform bits.
    func next() -> UInt64
}

extension Randomness {
    /// A uniform number of at least 0 and less than 1.
    package func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// A version 4 UUID (RFC 9562, section 5.4).
    package func uuid() -> UUID {
        UUID(bits: next(), next())
    }
}

extension UUID {
    package init(bits high: UInt64, _ low: UInt64) {
        let bytes = (0..<16).map { index in
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> (56 - 8 * UInt64(index % 8)))
        }
        self.init(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
                bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }
}

/// The system's generator, fit for secrets.
public struct SystemRandomness: Randomness {
    public init() {}

    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

extension Randomness where Self == SystemRandomness {
    public static var system: SystemRandomness { SystemRandomness() }
}

/// Identifiers for calls: unique and cheap, not secret. Seeded once from a ``Randomness``, since asking the system for
/// every call costs more than the rest of the call's book-keeping.
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
        // The top two bits give way to the UUID's variant: without them identifiers would collide after 2^31.
        return UUID(bits: prefix ^ (mixed >> 62), mixed)
    }
}
