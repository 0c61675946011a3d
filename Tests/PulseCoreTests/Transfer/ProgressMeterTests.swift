// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct ProgressMeterTests {
    // The meter never sleeps, so a sleep of a test only advances the time.
    private let clock = TestClock(autoAdvances: true)
    private let reports = Locked<[TransferProgress]>([])

    private func meter() -> ProgressMeter {
        ProgressMeter(clock: clock) { [reports] progress in reports.withLock { $0.append(progress) } }
    }

    private var completed: [Int64] { reports.withLock { $0.map(\.completed) } }

    @Test func theFirstValueIsReportedAtOnceAndTheNextAfterATenthOfASecond() async {
        let meter = meter()
        meter.note(.init(completed: 1, total: 10))
        #expect(completed == [1])
        meter.note(.init(completed: 2, total: 10))
        await clock.advance(by: 0.09)
        meter.note(.init(completed: 3, total: 10))
        #expect(completed == [1])
        await clock.advance(by: 0.01)
        meter.note(.init(completed: 4, total: 10))
        #expect(completed == [1, 4])
    }

    /// Measured over five seconds, so that it follows a change within that time.
    @Test func theRateIsThatOfTheLastSeconds() async throws {
        let meter = ProgressMeter(clock: clock, attempt: 3) { [reports] progress in
            reports.withLock { $0.append(progress) }
        }
        var sent: Int64 = 1_000
        meter.note(.init(completed: sent, total: 100_000))
        for step in 0..<200 {
            try await clock.sleep(0.1)
            // What came before the first value does not count.
            sent += step < 100 ? 100 : 10
            meter.note(.init(completed: sent, total: 100_000))
        }
        let values = reports.withLock { $0 }
        #expect(values.allSatisfy { $0.attempt == 3 })
        let rates = values.map { $0.bytesPerSecond?.rounded() }
        #expect(rates[0] == nil && rates[1] == 1000 && rates[100] == 1000)
        #expect(rates[155] == 100 && rates[125].map { $0 > 100 && $0 < 1000 } == true)
        #expect(values.last?.secondsLeft.map { ($0 * 100).rounded() } == Double(100_000 - sent))
    }

    @Test func thereAreTenReportsASecond() async throws {
        let meter = meter()
        for step in 1...1000 {
            meter.note(.init(completed: Int64(step), total: nil))
            try await clock.sleep(0.01)
        }
        #expect(completed == (0..<100).map { $0 * 10 + 1 })
    }

    @Test(arguments: [5, nil] as [Int64?])
    func theLastValueIsReportedByTheEnd(total: Int64?) async {
        let meter = meter()
        for step in 1...4 { meter.note(.init(completed: Int64(step), total: total)) }
        #expect(completed == [1])
        await meter.end()
        #expect(reports.withLock { $0 } == [.init(completed: 1, total: total), .init(completed: 4, total: total)])
    }

    /// The server may take its time to respond.
    @Test func aCompleteTransferIsReportedAtOnce() async {
        let meter = meter()
        for step in 1...3 { meter.note(.init(completed: Int64(step), total: 3)) }
        #expect(completed == [1, 3])
        await meter.end()
        #expect(completed == [1, 3])
    }

    @Test func nothingIsReportedAfterTheEnd() async {
        let meter = meter()
        meter.note(.init(completed: 1, total: nil))
        meter.endWithoutWaiting()
        await meter.end()
        await clock.advance(by: 1)
        meter.note(.init(completed: 2, total: nil))
        await meter.end()
        #expect(completed == [1])
    }

    @Test func anEndWithoutProgressReportsNothing() async {
        await meter().end()
        #expect(completed.isEmpty)
    }

    @Test func equalValuesAreNotRepeated() async {
        let meter = meter()
        for _ in 0..<3 {
            meter.note(.init(completed: 0, total: 0))
            await clock.advance(by: 1)
        }
        await meter.end()
        #expect(reports.withLock { $0 } == [.init(completed: 0, total: 0)])
    }

    @Test func completedNeverFallsAndNeverExceedsTheTotal() async {
        let meter = meter()
        for completed in [-1, 3, 2, 4, 20, 1] as [Int64] {
            meter.note(.init(completed: completed, total: 10))
            await clock.advance(by: 1)
        }
        #expect(completed == [0, 3, 4, 10])
    }

    @Test func aTotalMayBecomeKnownAndThenStays() async {
        let meter = meter()
        for progress in [(5, nil), (6, 9), (7, nil), (8, 8)] as [(Int64, Int64?)] {
            meter.note(.init(completed: progress.0, total: progress.1))
            await clock.advance(by: 1)
        }
        #expect(reports.withLock { $0.map(\.total) } == [nil, 9, 9, 9])
        #expect(completed == [5, 6, 7, 8])
    }

    @Test func aTotalThatBecomesKnownTooLateIsRaised() async {
        let meter = meter()
        meter.note(.init(completed: 5, total: nil))
        meter.note(.init(completed: 6, total: 4))
        #expect(reports.withLock { $0 } == [.init(completed: 5, total: nil), .init(completed: 5, total: 5)])
    }

    /// The value that the listener itself causes comes after its return.
    @Test func theListenerMayCauseProgress() async {
        let log = Locked<[String]>([])
        let held = Locked<ProgressMeter?>(nil)
        let meter = ProgressMeter(clock: clock) { progress in
            log.withLock { $0.append("enter \(progress.completed)") }
            if progress.completed == 1 { held.withLock { $0 }?.note(.init(completed: 2, total: 2)) }
            log.withLock { $0.append("leave \(progress.completed)") }
        }
        held.withLock { $0 = meter }
        meter.note(.init(completed: 1, total: 2))
        held.withLock { $0 = nil }
        #expect(log.withLock { $0 } == ["enter 1", "leave 1", "enter 2", "leave 2"])
    }

    /// Otherwise the call could return while its listener still runs.
    @Test func theEndWaitsForTheListener() async throws {
        let log = Locked<[String]>([])
        let held = Locked<ProgressMeter?>(nil)
        let ending = Locked<Task<Void, any Error>?>(nil)
        let meter = ProgressMeter(clock: clock) { progress in
            guard progress.completed == 1, let meter = held.withLock({ $0 }) else {
                return log.withLock { $0.append("\(progress.completed)") }
            }
            meter.note(.init(completed: 2, total: nil))
            let task = Task<Void, any Error>.startingNow {
                await meter.end()
                log.withLock { $0.append("end") }
            }
            ending.withLock { $0 = task }
            log.withLock { $0.append("1") }
        }
        held.withLock { $0 = meter }
        meter.note(.init(completed: 1, total: nil))
        held.withLock { $0 = nil }
        try await ending.withLock { $0 }?.value
        #expect(log.withLock { $0 } == ["1", "2", "end"])
    }
}
