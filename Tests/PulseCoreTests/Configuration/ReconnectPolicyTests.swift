// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct ReconnectPolicyTests {
    private static func waits(_ policy: ReconnectPolicy, unit: Double) -> [TimeInterval] {
        (1...6).map { policy.wait(beforeAttempt: $0, atLeast: nil, unit: unit) }
    }

    @Test func waitsDoubleUpToTheMaximum() {
        #expect(Self.waits(.socket, unit: 0) == [1, 2, 4, 8, 15, 15])
        #expect(Self.waits(.socket, unit: 1) == [2, 4, 8, 16, 30, 30])
        #expect(Self.waits(.eventStream, unit: 0) == [3, 6, 12, 15, 15, 15])
        #expect(ReconnectPolicy.socket.wait(beforeAttempt: .max, atLeast: nil, unit: 1) == 30)
    }

    /// A delay of 0 allows one immediate attempt, and no more.
    @Test func waitsGrowFromADelayOfZero() {
        #expect(Self.waits(ReconnectPolicy(delay: 0), unit: 0) == [0.1, 1, 2, 4, 8, 15])
        let replaced = ReconnectPolicy.eventStream.wait(beforeAttempt: 2, delay: 0, atLeast: nil, unit: 0)
        #expect(replaced == 1)
        #expect(ReconnectPolicy(maxDelay: 0.01).wait(beforeAttempt: 3, atLeast: 0, unit: 1) == 0.1)
    }

    @Test func aServerLengthensAWaitUpToItsLimit() {
        let policy = ReconnectPolicy(maxServerDelay: 60)
        for (asked, expected, refused) in [(30.0, 30.0, nil), (61, 60, 61.0), (.infinity, 2, nil), (0, 2, nil)] {
            #expect(policy.wait(beforeAttempt: 1, atLeast: asked, unit: 1) == expected)
            #expect(policy.refusedWait(asked) == refused)
        }
    }

    @Test func badSettingsAreDescribed() {
        for seconds in [-1, .nan, .infinity] {
            #expect(ReconnectPolicy(delay: seconds).fault?.hasPrefix("the delay is") == true)
        }
        for seconds in [0, -1, .nan] {
            #expect(ReconnectPolicy(maxDelay: seconds).fault?.hasPrefix("the maxDelay is") == true)
        }
        for seconds in [-1, TimeInterval.nan] {
            #expect(ReconnectPolicy(maxServerDelay: seconds).fault?.hasPrefix("the maxServerDelay is") == true)
            #expect(ReconnectPolicy(resetsAfter: seconds).fault?.hasPrefix("the resetsAfter is") == true)
        }
        #expect(ReconnectPolicy(maxAttempts: -1).fault == "the maxAttempts are -1, and no number from 0")
        for policy in [ReconnectPolicy.socket, .eventStream, .never, ReconnectPolicy(delay: 0, maxDelay: .infinity)] {
            #expect(policy.fault == nil)
        }
    }
}
