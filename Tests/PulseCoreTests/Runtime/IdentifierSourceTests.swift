// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct IdentifierSourceTests {
    @Test func threeWordsAtOnceEqualThreeSingleWords() {
        let (once, each) = (SeededRandomness(seed: 7), SeededRandomness(seed: 7))
        #expect(once.nextThree() == (each.next(), each.next(), each.next()))
        #expect(once.uuid() == UUID(bits: each.next(), each.next()))
    }

    @Test func theSystemsRandomWordsDoNotRepeat() {
        let words = (0..<1000).flatMap { _ -> [UInt64] in
            let three = SystemRandomness().nextThree()
            return [three.0, three.1, three.2]
        }
        #expect(Set(words).count == 3000)
        // Each bit is set in about half of the words: 1500, with a standard deviation of 27.
        for bit in 0..<64 { #expect((1200...1800).contains(words.count { $0 >> bit & 1 == 1 })) }
        #expect(Set((0..<1000).map { _ in SystemRandomness().uuid() }).count == 1000)
    }

    @Test
    func identifiersAreUniqueAndOfVersion4() {
        let source = IdentifierSource(SeededRandomness(seed: 1))
        var seen: Set<UUID> = []
        var wrong = 0
        for _ in 0..<100_000 {
            let id = source.next()
            seen.insert(id)
            if id.uuid.6 >> 4 != 4 || id.uuid.8 >> 6 != 2 { wrong += 1 }
        }
        #expect(seen.count == 100_000)
        #expect(wrong == 0)
    }

    @Test
    func identifiersOfManyThreadsAreUnique() async {
        let source = IdentifierSource(SeededRandomness(seed: 2))
        let all = await withTaskGroup(of: [UUID].self) { group in
            for _ in 0..<8 { group.addTask { (0..<5000).map { _ in source.next() } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(all).count == 40_000)
    }

    @Test
    func everyBitOfTheCounterIsUsed() {
        // The two bits that the variant overwrites are kept in the prefix: without them 2^31 identifiers collide.
        let source = IdentifierSource(ConstantRandomness())
        let ids = (0..<64).map { _ in source.next() }
        #expect(Set(ids.map { $0.uuid.7 & 3 }).count == 4)
    }

    @Test
    func theSameSeedGivesTheSameIdentifiers() {
        let (left, right) = (SeededRandomness(seed: 3), SeededRandomness(seed: 3))
        let (first, second) = (IdentifierSource(left), IdentifierSource(right))
        for _ in 0..<10 { #expect(first.next() == second.next()) }
        #expect(left.uuid() == right.uuid())
        #expect(left.uuid().uuid.6 >> 4 == 4)
    }

    @Test
    func aUnitIsAtLeastZeroAndLessThanOne() {
        let randomness = SeededRandomness(seed: 4)
        for _ in 0..<10_000 {
            let unit = randomness.unit()
            #expect(unit >= 0 && unit < 1)
        }
        #expect(ConstantRandomness(value: .max).unit() < 1)
        #expect(ConstantRandomness(value: 0).unit() == 0)
    }

    @Test
    func theSystemsGeneratorDoesNotRepeat() {
        #expect(Set((0..<100).map { _ in SystemRandomness().next() }).count == 100)
    }
}

private struct ConstantRandomness: Randomness {
    var value: UInt64 = 0

    func next() -> UInt64 { value }
}
