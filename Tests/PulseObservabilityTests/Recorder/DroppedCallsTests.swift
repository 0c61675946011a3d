// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct DroppedCallsTests {
    @Test func onlyTheNewestIdsAreRemembered() {
        var dropped = DroppedCalls()
        let ids = (0..<DroppedCalls.maxCount * 2 + 1).map { _ in UUID() }
        for id in ids {
            dropped.insert(id)
            // A second insertion changes nothing.
            dropped.insert(id)
        }
        let known = ids.filter { dropped.contains($0) }
        #expect(known == Array(ids.suffix(DroppedCalls.maxCount)))
    }
}
