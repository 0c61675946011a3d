// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import TestSupport
import Testing

/// The thread sanitizer reports the reader's access if the value does not pass a lock, or one with an empty state.
@Suite(.tags(.threads), .throttled)
struct FencedContinuationStressTests {
    private final class Counter: @unchecked Sendable {
        // Unchecked: one thread makes it, one task changes it after that.
        var value: Int

        init(_ value: Int) {
            self.value = value
        }
    }

    /// The other thread resumes shortly before, while or shortly after the task suspends.
    @Test
    func aValueThatAnotherThreadMakesIsSeenWhole() async {
        let queue = DispatchQueue(label: "fenced-continuation")
        var seen = 0
        for round in 0..<10_000 {
            let counter = await withFencedContinuation { resume in
                queue.async { resume(Counter(round)) }
                for _ in 0..<(round % 300) { _ = Counter(0) }
            }
            counter.value += 1
            if counter.value == round + 1 { seen += 1 }
        }
        #expect(seen == 10_000)
    }
}
