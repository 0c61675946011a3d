// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct SystemClockTests {
    private let clock = SystemClock()

    @Test(arguments: [0, -0.0, -1, -.infinity, .nan, -1e300] as [TimeInterval])
    func aSleepOfNoTimeReturnsAtOnce(seconds: TimeInterval) async throws {
        try await clock.sleep(seconds)
    }

    @Test
    func aShortSleepReturns() async throws {
        let before = clock.uptime
        try await clock.sleep(0.001)
        #expect(clock.uptime >= before + 0.001)
    }

    @Test(arguments: [.infinity, 1e300, 3e9, 1e19] as [TimeInterval])
    func anEndlessSleepEndsOnCancellation(seconds: TimeInterval) async {
        let task = Task { try await clock.sleep(seconds) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test(arguments: [0, -1, .nan, 0.001] as [TimeInterval])
    func aCancelledTaskDoesNotSleep(seconds: TimeInterval) async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(seconds)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test
    func uptimeNeverRunsBackwards() {
        var last = clock.uptime
        for _ in 0..<1000 {
            let next = clock.uptime
            #expect(next >= last)
            last = next
        }
        #expect(clock.now.timeIntervalSince1970 > 1_700_000_000)
    }
}
