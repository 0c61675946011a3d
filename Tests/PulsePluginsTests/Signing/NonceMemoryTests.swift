// SPDX-License-Identifier: MIT

import Testing

@testable import PulsePlugins

@Suite(.timeLimit(.minutes(5)))
struct NonceMemoryTests {
    @Test func knowsANonceOfItsSecondAlone() {
        var memory = NonceMemory(capacity: 10)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .replayed)
        // Another request: the timestamp is signed.
        #expect(memory.admit("a", timestamp: 6, oldest: 0) == .new)
    }

    @Test func forgetsWhatNobodyAcceptsAnyMoreAndNeverTakesItAgain() {
        var memory = NonceMemory(capacity: 10)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("b", timestamp: 20, oldest: 10) == .new)
        #expect(memory.count == 1)
        // The clock was set back.
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .forgotten)
    }

    @Test func aFullMemoryShortensTheWindow() {
        var memory = NonceMemory(capacity: 2)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .new)
        #expect(memory.admit("b", timestamp: 6, oldest: 0) == .new)
        #expect(memory.admit("c", timestamp: 7, oldest: 0) == .new)
        #expect(memory.count == 2)
        #expect(memory.admit("a", timestamp: 5, oldest: 0) == .forgotten)
        #expect(memory.admit("b", timestamp: 6, oldest: 0) == .replayed)
    }
}
