// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct SeededRandomnessTests {
    /// From the reference implementation (Vigna, splitmix64.c) for the seed 1234567.
    @Test func matchesTheNumbersOfSplitMix64() {
        let randomness = SeededRandomness(seed: 1_234_567)
        let numbers = (0..<5).map { _ in randomness.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
        #expect(randomness.seed == 1_234_567)
    }

    @Test func theSameSeedRepeatsTheNumbers() {
        let (one, other) = (SeededRandomness(seed: 7), SeededRandomness(seed: 7))
        #expect((0..<100).allSatisfy { _ in one.next() == other.next() })
    }

    @Test func sharesItsPositionWithItsCopies() {
        let original = SeededRandomness(seed: 7)
        let copy = original
        let reference = SeededRandomness(seed: 7)
        #expect([original.next(), copy.next()] == [reference.next(), reference.next()])
    }
}
