// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct TestClockTests {
    @Test func standsStillUntilItIsAdvanced() async {
        let clock = TestClock(now: Date(timeIntervalSince1970: 1000), uptime: 50)
        #expect(clock.now == Date(timeIntervalSince1970: 1000))
        #expect(clock.uptime == 50)
        await clock.advance(by: 2.5)
        #expect(clock.now == Date(timeIntervalSince1970: 1002.5))
        #expect(clock.uptime == 52.5)
    }

    @Test func isVirtualUnlikeTheSystemsClock() {
        #expect(TestClock().isVirtual)
        #expect(!SystemClock().isVirtual)
    }

    @Test func wakesSleepersInOrderEachAtItsExactTime() async throws {
        let clock = TestClock()
        let log = Locked<[String]>([])
        let tasks = [3.0, 1.0, 2.0].map { seconds in
            Task {
                try await clock.sleep(seconds)
                log.withLock { $0.append("\(seconds) at \(clock.uptime)") }
            }
        }
        await clock.sleepers(atLeast: 3)
        await clock.advance(by: 10)
        #expect(clock.uptime == 10)
        for task in tasks { try await task.value }
        #expect(log.withLock { $0 } == ["1.0 at 1.0", "2.0 at 2.0", "3.0 at 3.0"])
    }

    @Test func wakesEqualSleepersInTheirOrderOfRegistration() async throws {
        let clock = TestClock()
        let log = Locked<[Int]>([])
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<5 {
            tasks.append(
                Task {
                    try await clock.sleep(1)
                    log.withLock { $0.append(number) }
                })
            await clock.sleepers(atLeast: number + 1)
        }
        await clock.advance(by: 1)
        for task in tasks { try await task.value }
        #expect(log.withLock { $0 } == [0, 1, 2, 3, 4])
    }

    @Test func letsAWokenTaskSleepAgainBeforeTimeAdvances() async throws {
        let clock = TestClock()
        let log = Locked<[TimeInterval]>([])
        let task = Task {
            for seconds in [0.25, 0.5, 1, 2] {
                try await clock.sleep(seconds)
                log.withLock { $0.append(clock.uptime) }
            }
        }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 1)
        #expect(log.withLock { $0 } == [0.25, 0.75])
        await clock.advance(by: 0.75)
        #expect(log.withLock { $0 } == [0.25, 0.75, 1.75])
        await clock.advance(by: 100)
        #expect(log.withLock { $0 } == [0.25, 0.75, 1.75, 3.75])
        #expect(clock.sleeps == [0.25, 0.5, 1, 2])
        try await task.value
    }

    @Test func wakesManyRepeatedSleepersAtTheirExactTimes() async throws {
        let clock = TestClock()
        let randomness = SeededRandomness(seed: 1)
        let wakings = Locked<[TimeInterval]>([])
        let plans = (0..<20).map { _ in (0..<4).map { _ in Double(1 + randomness.next() % 16) / 4 } }
        let tasks = plans.map { plan in
            Task {
                var due: TimeInterval = 0
                for seconds in plan {
                    due += seconds
                    try await clock.sleep(seconds)
                    #expect(clock.uptime == due)
                    wakings.withLock { $0.append(clock.uptime) }
                }
            }
        }
        await clock.sleepers(atLeast: plans.count)
        await clock.advance(by: 100)
        for task in tasks { try await task.value }
        let times = wakings.withLock { $0 }
        #expect(times.count == 80)
        #expect(times == times.sorted())
    }

    /// Like a thread that the system preempts for another process.
    @Test func waitsForATaskThatBlocksItsThreadBeforeItSleepsAgain() async throws {
        let clock = TestClock()
        let task = Task {
            for due in 1...20 {
                try await clock.sleep(1)
                #expect(clock.uptime == TimeInterval(due))
                let randomness = SeededRandomness(seed: 1)
                for _ in 0..<2_000 { _ = randomness.next() }
            }
        }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 20)
        #expect(clock.sleeps.count == 20)
        task.cancel()
        _ = await task.result
    }

    @Test func doesNotWakeASleeperThatIsNotDue() async {
        let clock = TestClock()
        let task = Task { try await clock.sleep(10) }
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: 9.999)
        #expect(clock.sleeperCount == 1)
        await clock.advance(by: 0.001)
        #expect(clock.sleeperCount == 0)
        await #expect(throws: Never.self) { try await task.value }
    }

    @Test(arguments: [(10, 0.1), (30, 0.1), (100, 0.01), (3, 1.0 / 3)])
    func wakesASleeperAfterStepsThatSumUpToItsTime(count: Int, step: TimeInterval) async {
        let clock = TestClock()
        let task = Task { try await clock.sleep((Double(count) * step).rounded()) }
        await clock.sleepers(atLeast: 1)
        for _ in 0..<count { await clock.advance(by: step) }
        #expect(clock.sleeperCount == 0)
        task.cancel()
        _ = await task.result
    }

    @Test func endsASleepAtOnceWhenItsTaskIsCancelled() async {
        let clock = TestClock()
        let task = Task { try await clock.sleep(.infinity) }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeperCount == 0)
        #expect(clock.uptime == 0)
    }

    @Test func doesNotSleepInATaskThatIsCancelled() async {
        let clock = TestClock(autoAdvances: true)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleeps.isEmpty)
    }

    @Test(arguments: [0, -1, .nan, -TimeInterval.infinity])
    func returnsAtOnceFromASleepOfNoLength(_ seconds: TimeInterval) async throws {
        let clock = TestClock()
        try await clock.sleep(seconds)
        #expect(clock.sleeps.count == 1)
        await clock.advance(by: seconds)
        #expect(clock.uptime == 0)
    }

    @Test func setsTheWallClockWithoutTouchingUptimeOrSleepers() async throws {
        let clock = TestClock(uptime: 7)
        let task = Task { try await clock.sleep(5) }
        await clock.sleepers(atLeast: 1)
        clock.setWallClock(to: Date(timeIntervalSince1970: 0))
        #expect(clock.now == Date(timeIntervalSince1970: 0))
        clock.shiftWallClock(by: -3600)
        #expect(clock.now == Date(timeIntervalSince1970: -3600))
        #expect(clock.uptime == 7)
        #expect(clock.sleeperCount == 1)
        await clock.advance(by: 5)
        #expect(clock.now == Date(timeIntervalSince1970: -3595))
        try await task.value
    }

    @Test func advancesByItselfIfConfigured() async throws {
        let clock = TestClock(autoAdvances: true)
        try await clock.sleep(30)
        try await clock.sleep(0.5)
        #expect(clock.uptime == 30.5)
        #expect(clock.sleeps == [30, 0.5])
    }

    @Test func anAutoAdvancingClockWakesTheSleepersThatItPasses() async throws {
        let clock = TestClock()
        let task = Task { try await clock.sleep(5) }
        let late = Task { try await clock.sleep(20) }
        await clock.sleepers(atLeast: 2)
        clock.autoAdvances = true
        try await clock.sleep(10)
        try await task.value
        #expect(clock.uptime == 10)
        #expect(clock.sleeperCount == 1)
        late.cancel()
        _ = await late.result
    }

    @Test func stopsWaitingForSleepersWhenItsTaskIsCancelled() async {
        let clock = TestClock()
        let task = Task { await clock.sleepers(atLeast: 1) }
        task.cancel()
        await task.value
    }

    // MARK: Purposes

    @Test func deadlinesAndTimeoutsAreOmittedByDefault() async throws {
        let clock = TestClock()
        let limits = [SleepPurpose.deadline, .timeout].map { purpose in
            Task { try await clock.sleep(30, for: purpose) }
        }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.sleepers(atLeast: 1, for: .timeout)
        #expect(clock.sleeperCount == 0)
        #expect(clock.sleeps.isEmpty)
        let waits = [SleepPurpose.backoff, .other].map { purpose in
            Task { try await clock.sleep(5, for: purpose) }
        }
        await clock.sleepers(atLeast: 2)
        #expect(clock.sleeperCount == 2)
        #expect(clock.sleeperCount(for: .backoff) == 1)
        #expect(clock.sleeps == [5, 5])
        #expect(clock.sleeps(for: .deadline) == [30])
        #expect(
            Set(clock.allSleeps.map(\.purpose)) == [.deadline, .timeout, .backoff, .other])
        await clock.advance(by: 30)
        for task in limits + waits { try await task.value }
    }

    @Test func aWaitForSleepersIgnoresDeadlines() async throws {
        let clock = TestClock()
        let isAwake = Locked(false)
        let watcher = Task {
            await clock.sleepers(atLeast: 1)
            isAwake.withLock { $0 = true }
        }
        let deadline = Task { try? await clock.sleep(30, for: .deadline) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1)
        #expect(!isAwake.withLock { $0 })
        let wait = Task { try await clock.sleep(1, for: .backoff) }
        await watcher.value
        await clock.advance(by: 1)
        try await wait.value
        deadline.cancel()
        await deadline.value
    }

    @Test func aDeadlineDoesNotAdvanceAnAutoAdvancingClock() async throws {
        let clock = TestClock(autoAdvances: true)
        let deadline = Task { try await clock.sleep(10, for: .deadline) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        #expect(clock.uptime == 0)
        try await clock.sleep(4, for: .backoff)
        #expect(clock.sleeperCount(for: .deadline) == 1)
        try await clock.sleep(6, for: .backoff)
        try await deadline.value
        #expect(clock.uptime == 10)
    }

    @Test func aClockWithOneMethodSeesEachWait() async throws {
        struct Plain: PulseClock {
            let waits = Locked<[TimeInterval]>([])
            var now: Date { Date(timeIntervalSince1970: 0) }
            var uptime: TimeInterval { 0 }
            func sleep(_ seconds: TimeInterval) async throws { waits.withLock { $0.append(seconds) } }
        }
        let clock = Plain()
        try await clock.sleep(3, for: .deadline)
        #expect(clock.waits.withLock { $0 } == [3])
    }
}
