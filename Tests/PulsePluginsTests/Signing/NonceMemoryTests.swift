// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct NonceMemoryTests {
    @Test @HeavyWork func aNonceIsKnownForItsOwnSecondOnly() {
        var memory = NonceMemory(capacity: 10)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .replayed)
        // Another request: the timestamp is signed.
        #expect(memory.admit("a", timestamp: 6, oldest: 0) == .new)
    }

    @Test @HeavyWork func expiredNoncesAreEvictedAndNeverAcceptedAgain() {
        var memory = NonceMemory(capacity: 10)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("b", timestamp: 20, oldest: 10) == .new)
        #expect(memory.count == 1)
        // The clock was set back.
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .evicted)
    }

    @Test @HeavyWork func aFullMemoryShortensTheWindow() {
        var memory = NonceMemory(capacity: 2)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("b", timestamp: 6, oldest: 0) == .new)
        #expect(memory.admit("c", timestamp: 7, oldest: 0) == .new)
        #expect(memory.count == 2)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .evicted)
        #expect(memory.admit("b", timestamp: 6, oldest: 0) == .replayed)
    }

    /// A scan over all seconds for each request would take minutes.
    @Test @HeavyWork func aWindowOfManySecondsIsNotScannedForEachRequest() {
        var memory = NonceMemory(capacity: 100_000)
        for second in 0..<Int64(200_000) {
            let verdict = memory.admit("a", timestamp: second, oldest: 0)
            if verdict != .new { Issue.record("second \(second) is \(verdict)") }
        }
        #expect(memory.count == 100_000)
        #expect(memory.admit("a", timestamp: 99_999, oldest: 0) == .evicted)
        #expect(memory.admit("a", timestamp: 100_000, oldest: 0) == .replayed)
        #expect(memory.admit("a", timestamp: 200_000, oldest: 200_000) == .new)
        #expect(memory.count == 1)
    }
}
