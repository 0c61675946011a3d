// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseUI

@Suite(.throttled)
struct UpdatePaceTests {
    @Test func updatesAreAQuarterOfASecondApart() {
        var pace = UpdatePace()
        #expect(pace.delay(at: 10) == 0)
        #expect(pace.delay(at: 10) == 0.25)
        #expect(pace.delay(at: 10.125) == 0.375)
        #expect(pace.delay(at: 10.75) == 0)
        #expect(pace.delay(at: 20) == 0)
        #expect(pace.delay(at: 20.25) == 0)
    }
}
