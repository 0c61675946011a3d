// SPDX-License-Identifier: MIT

import PulseCore

/// Repeatable randomness: the same seed yields the same numbers in the same order.
///
/// ```swift
/// let configuration = PulseConfiguration(baseURL: server.baseURL)
///     .with(\.randomness, value: SeededRandomness(seed: 1))
/// ```
///
/// SplitMix64, which passes the usual statistical tests and takes any seed. Not for secrets. Copies share their
/// position; safe from any thread.
public struct SeededRandomness: Randomness {
    /// The seed: record it to reproduce a failure.
    public let seed: UInt64
    private let state: Locked<UInt64>

    /// Creates the sequence of a seed, from its beginning.
    public init(seed: UInt64) {
        self.seed = seed
        state = Locked(seed)
    }

    public func next() -> UInt64 {
        var mixed = state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
