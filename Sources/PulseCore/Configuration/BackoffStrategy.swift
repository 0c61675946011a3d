// SPDX-License-Identifier: MIT

/// How long to wait before a retry, in seconds. A delay is never longer than `maxDelay`.
public enum BackoffStrategy: Sendable {
    /// No wait.
    case immediate
    /// The same wait before every retry.
    case constant(TimeInterval)
    /// Waits that grow by `base` each time: `base`, 2·`base`, 3·`base`, …
    case linear(base: TimeInterval, maxDelay: TimeInterval)
    /// Waits that double each time: `base`, 2·`base`, 4·`base`, …
    case exponential(base: TimeInterval, maxDelay: TimeInterval)
    /// A uniformly random delay between zero and the exponential delay ("full jitter"), so that clients that failed
    /// together do not retry together.
    case exponentialWithJitter(base: TimeInterval, maxDelay: TimeInterval)
    /// Delays of another strategy, each reduced by a random share of up to `ratio`: 0 changes nothing, 0.3 leaves 70 to
    /// 100 %, 1 is full jitter. A ratio below 0 counts as 0, a ratio above 1 as 1.
    indirect case jittered(BackoffStrategy, ratio: Double)
    /// Waits that follow the Fibonacci numbers: `base`, `base`, 2·`base`, 3·`base`, 5·`base`, …
    case fibonacci(base: TimeInterval, maxDelay: TimeInterval)
    /// The wait that a closure returns for the number of the retry, counted from 1. Called concurrently; a negative
    /// number or NaN means no wait.
    case custom(@Sendable (Int) -> TimeInterval)

    /// The wait in seconds before a retry, counted from 1. Never negative, never NaN.
    package func delay(beforeRetry retry: Int, randomness: any Randomness) -> TimeInterval {
        let step = max(1, retry)
        let delay: TimeInterval =
            switch self {
            case .immediate: 0
            case .constant(let seconds): seconds
            case .linear(let base, let cap): min(cap, base * Double(step))
            case .exponential(let base, let cap): min(cap, base * Self.powerOfTwo(step - 1))
            case .exponentialWithJitter(let base, let cap):
                min(cap, base * Self.powerOfTwo(step - 1)) * randomness.unit()
            case .jittered(let strategy, let ratio):
                strategy.delay(beforeRetry: retry, randomness: randomness)
                    * (1 - (ratio > 0 ? min(1, ratio) : 0) * randomness.unit())
            case .fibonacci(let base, let cap): min(cap, base * Self.fibonacci(step))
            case .custom(let delay): delay(step)
            }
        return delay > 0 ? delay : 0
    }

    private static func powerOfTwo(_ exponent: Int) -> Double {
        // Every cap is reached before this exponent, and infinity times a base of zero would be NaN.
        Double(sign: .plus, exponent: min(exponent, 1000), significand: 1)
    }

    private static func fibonacci(_ index: Int) -> Double {
        var (previous, current) = (0.0, 1.0)
        for _ in 1..<max(2, min(index, 1000) + 1) where index > 1 {
            (previous, current) = (current, previous + current)
        }
        return index > 1 ? previous : current
    }
}
