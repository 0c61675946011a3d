// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct BackoffStrategyTests {
    private let randomness = SeededRandomness(seed: 1)

    private func delays(_ strategy: BackoffStrategy, upTo count: Int = 8) -> [TimeInterval] {
        (1...count).map { strategy.delay(beforeRetry: $0, randomness: randomness) }
    }

    @Test(arguments: [
        (BackoffStrategy.immediate, [0.0, 0, 0, 0, 0, 0, 0, 0]),
        (.constant(1.5), [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]),
        (.linear(base: 0.5, maxDelay: 2), [0.5, 1, 1.5, 2, 2, 2, 2, 2]),
        (.exponential(base: 0.25, maxDelay: 20), [0.25, 0.5, 1, 2, 4, 8, 16, 20]),
        (.fibonacci(base: 1, maxDelay: 15), [1, 1, 2, 3, 5, 8, 13, 15]),
        (.custom { Double($0) * 10 }, [10, 20, 30, 40, 50, 60, 70, 80]),
    ])
    func eachStrategyFollowsItsSequenceUpToItsCap(strategy: BackoffStrategy, expected: [TimeInterval]) {
        #expect(delays(strategy) == expected)
    }

    @Test
    func fullJitterIsSpreadOverTheWholeExponentialDelay() {
        let strategy = BackoffStrategy.exponentialWithJitter(base: 0.25, maxDelay: 20)
        for (retry, cap) in zip(1..., [0.25, 0.5, 1, 2, 4, 8, 16, 20, 20]) {
            let samples = (0..<2000).map { _ in strategy.delay(beforeRetry: retry, randomness: randomness) }
            #expect(samples.allSatisfy { $0 >= 0 && $0 < cap })
            #expect(abs(samples.reduce(0, +) / 2000 - cap / 2) < cap / 20)
            #expect(samples.contains { $0 < cap / 10 })
            #expect(samples.contains { $0 > cap * 0.9 })
        }
    }

    @Test(arguments: [(0.0, 8.0), (0.25, 6.0), (1.0, 0.0), (-1.0, 8.0), (7.0, 0.0), (Double.nan, 8.0)])
    func jitterTakesUpToItsRatioOfADelay(ratio: Double, least: TimeInterval) {
        let strategy = BackoffStrategy.jittered(.exponential(base: 1, maxDelay: 8), ratio: ratio)
        let samples = (0..<2000).map { _ in strategy.delay(beforeRetry: 10, randomness: randomness) }
        #expect(samples.allSatisfy { $0 >= least && $0 <= 8 })
        #expect(abs(samples.reduce(0, +) / 2000 - (least + 8) / 2) < 0.2)
        #expect(strategy.delay(beforeRetry: 1, randomness: randomness) <= 1)
    }

    @Test
    func theSameSeedGivesTheSameDelays() {
        let strategy = BackoffStrategy.exponentialWithJitter(base: 1, maxDelay: 30)
        let (left, right) = (SeededRandomness(seed: 9), SeededRandomness(seed: 9))
        for retry in 1...20 {
            #expect(
                strategy.delay(beforeRetry: retry, randomness: left)
                    == strategy.delay(beforeRetry: retry, randomness: right))
        }
    }

    @Test
    func aDelayIsNeverNegativeOrNaN() {
        let odd: [TimeInterval] = [
            0, -0.0, -1, .nan, .infinity, -.infinity, 1e308, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        ]
        for base in odd {
            for cap in odd {
                let strategies: [BackoffStrategy] = [
                    .constant(base), .linear(base: base, maxDelay: cap), .exponential(base: base, maxDelay: cap),
                    .exponentialWithJitter(base: base, maxDelay: cap), .fibonacci(base: base, maxDelay: cap),
                    .custom { _ in base },
                ]
                for strategy in strategies {
                    for retry in [Int.min, -1, 0, 1, 2, 63, 64, 1024, 5000, Int.max] {
                        let delay = strategy.delay(beforeRetry: retry, randomness: randomness)
                        #expect(delay >= 0, "\(strategy) before \(retry)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        BackoffStrategy.exponential(base: -1, maxDelay: 9), .exponential(base: 1, maxDelay: -9), .constant(-1),
        .exponential(base: 1, maxDelay: .nan), .constant(.nan), .custom { _ in .nan }, .custom { Double(-$0) },
    ])
    func anInvalidDelayIsZero(strategy: BackoffStrategy) {
        #expect(delays(strategy) == [0, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test
    func longSequencesStayAtTheCap() {
        for retry in [100, 1001, 100_000, Int.max] {
            for strategy in [
                BackoffStrategy.linear(base: 1, maxDelay: 30), .exponential(base: 1, maxDelay: 30),
                .fibonacci(base: 1, maxDelay: 30),
            ] {
                #expect(strategy.delay(beforeRetry: retry, randomness: randomness) == 30)
            }
        }
    }

    @Test
    func aCustomStrategyCountsFromOne() {
        let strategy = BackoffStrategy.custom { Double($0) }
        #expect(strategy.delay(beforeRetry: 0, randomness: randomness) == 1)
        #expect(strategy.delay(beforeRetry: -5, randomness: randomness) == 1)
    }
}
