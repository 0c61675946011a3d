// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// Numbers of some distributions, the same for the same seed.
final class SplitMix: Sendable {
    private let bits: SeededRandomness

    init(seed: UInt64 = 42) {
        bits = SeededRandomness(seed: seed)
    }

    func below(_ bound: Int) -> Int { Int(bits.next() % UInt64(max(1, bound))) }

    /// From 0 up to, but not including, 1.
    func unit() -> Double { Double(bits.next() >> 11) / Double(1 << 53) }

    func exponential(_ mean: Double) -> Double { -mean * log(1 - unit()) }

    func normal() -> Double { sqrt(-2 * log(1 - unit())) * cos(2 * .pi * unit()) }
}
