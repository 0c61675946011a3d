// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RecoveryStateTests {
    @Test func theFirstCallerStartsARunAndItsEndReturnsAllWaiters() {
        var state = RecoveryState<Int>()
        guard case .start(let run) = state.request("login", sentAt: state.time) else {
            Issue.record("not started")
            return
        }
        let joined = (1...3).map { state.join("login", $0, id: UInt64($0)) }
        #expect(joined == [true, true, true])
        #expect(state.request("login", sentAt: state.time) == .wait(run: run))
        #expect(state.leave("login", id: 2) == 2)
        #expect(state.leave("login", id: 2) == nil)
        #expect(state.end("login", run: run, isSuccess: true) == [1, 3])
        #expect(state.end("login", run: run, isSuccess: true) == [])
        #expect(state.runCount == 0)
        #expect(state.join("login", 4, id: 4) == false)
    }

    @Test func aRequestSentBeforeTheLastSuccessProceedsAndALaterOneStartsANewRun() {
        var state = RecoveryState<Int>()
        let before = state.time
        guard case .start(let run) = state.request("login", sentAt: before) else {
            Issue.record("not started")
            return
        }
        let meanwhile = state.time
        _ = state.end("login", run: run, isSuccess: true)
        #expect(state.request("login", sentAt: before) == .proceed)
        #expect(state.request("login", sentAt: meanwhile) == .proceed)
        #expect(state.request("other", sentAt: before) != .proceed)
        guard case .start = state.request("login", sentAt: state.time) else {
            Issue.record("not started")
            return
        }
    }

    @Test func aFailureLetsTheNextCallerStartANewRun() {
        var state = RecoveryState<Int>()
        let time = state.time
        guard case .start(let run) = state.request("login", sentAt: time) else {
            Issue.record("not started")
            return
        }
        _ = state.end("login", run: run, isSuccess: false)
        guard case .start(let second) = state.request("login", sentAt: time) else {
            Issue.record("not started")
            return
        }
        // A timed-out run that ends late does not affect the next run.
        #expect(state.join("login", 1, id: 1) == true)
        #expect(state.end("login", run: run, isSuccess: true) == [])
        #expect(state.waiterCount("login") == 1)
        #expect(state.end("login", run: second, isSuccess: true) == [1])
    }

    @Test func aTimedOutRunKeepsItsNameUntilItEnds() {
        var state = RecoveryState<Int>()
        guard case .start(let run) = state.request("login", sentAt: state.time) else {
            Issue.record("not started")
            return
        }
        _ = state.join("login", 1, id: 1)
        #expect(state.leaveAll("login", run: run + 1) == [])
        #expect(state.leaveAll("login", run: run) == [1])
        #expect(state.request("login", sentAt: state.time) == .wait(run: run))
        _ = state.join("login", 2, id: 2)
        #expect(state.end("login", run: run, isSuccess: true) == [2])
    }

    @Test func theNumberOfRememberedNamesIsBounded() {
        var state = RecoveryState<Int>(maxNames: 2)
        let time = state.time
        for name in ["a", "b", "c"] {
            guard case .start(let run) = state.request(name, sentAt: time) else { continue }
            _ = state.end(name, run: run, isSuccess: true)
        }
        #expect(state.request("c", sentAt: time) == .proceed)
        #expect(state.request("a", sentAt: time) != .proceed)
    }
}
