// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import Testing

@testable import PulsePlugins

@Suite(.timeLimit(.minutes(5)))
struct RecoveryStateTests {
    @Test func onlyTheFirstStartsARunAndItsEndWakesAllWhoWait() {
        var ledger = RecoveryState<Int>()
        guard case .start(let run) = ledger.request("login", sentAt: ledger.time) else {
            Issue.record("not started")
            return
        }
        let joined = (1...3).map { ledger.join("login", $0, id: UInt64($0)) }
        #expect(joined == [true, true, true])
        #expect(ledger.request("login", sentAt: ledger.time) == .wait(run: run))
        #expect(ledger.leave("login", id: 2) == 2)
        #expect(ledger.leave("login", id: 2) == nil)
        #expect(ledger.end("login", run: run, isSuccess: true) == [1, 3])
        #expect(ledger.end("login", run: run, isSuccess: true) == [])
        #expect(ledger.runCount == 0)
        #expect(ledger.join("login", 4, id: 4) == false)
    }

    @Test func whoWasSentBeforeTheLastSuccessGoesOnAndWhoWasSentAfterItStartsAnew() {
        var ledger = RecoveryState<Int>()
        let before = ledger.time
        guard case .start(let run) = ledger.request("login", sentAt: before) else {
            Issue.record("not started")
            return
        }
        let meanwhile = ledger.time
        _ = ledger.end("login", run: run, isSuccess: true)
        #expect(ledger.request("login", sentAt: before) == .proceed)
        #expect(ledger.request("login", sentAt: meanwhile) == .proceed)
        #expect(ledger.request("other", sentAt: before) != .proceed)
        guard case .start = ledger.request("login", sentAt: ledger.time) else {
            Issue.record("not started")
            return
        }
    }

    @Test func aFailureLetsTheNextStartAnew() {
        var ledger = RecoveryState<Int>()
        let time = ledger.time
        guard case .start(let run) = ledger.request("login", sentAt: time) else {
            Issue.record("not started")
            return
        }
        _ = ledger.end("login", run: run, isSuccess: false)
        guard case .start(let second) = ledger.request("login", sentAt: time) else {
            Issue.record("not started")
            return
        }
        // A run that was given up and ends after all has no say in the one that followed.
        #expect(ledger.join("login", 1, id: 1) == true)
        #expect(ledger.end("login", run: run, isSuccess: true) == [])
        #expect(ledger.waiterCount("login") == 1)
        #expect(ledger.end("login", run: second, isSuccess: true) == [1])
    }

    @Test func aRunThatWasGivenUpStaysTheOneOfItsNameUntilItEnds() {
        var ledger = RecoveryState<Int>()
        guard case .start(let run) = ledger.request("login", sentAt: ledger.time) else {
            Issue.record("not started")
            return
        }
        _ = ledger.join("login", 1, id: 1)
        #expect(ledger.leaveAll("login", run: run + 1) == [])
        #expect(ledger.leaveAll("login", run: run) == [1])
        #expect(ledger.request("login", sentAt: ledger.time) == .wait(run: run))
        _ = ledger.join("login", 2, id: 2)
        #expect(ledger.end("login", run: run, isSuccess: true) == [2])
    }

    @Test func remembersNoMoreNamesThanItMay() {
        var ledger = RecoveryState<Int>(maximumNames: 2)
        let time = ledger.time
        for name in ["a", "b", "c"] {
            guard case .start(let run) = ledger.request(name, sentAt: time) else { continue }
            _ = ledger.end(name, run: run, isSuccess: true)
        }
        #expect(ledger.request("c", sentAt: time) == .proceed)
        #expect(ledger.request("a", sentAt: time) != .proceed)
    }
}
