// SPDX-License-Identifier: MIT

import PulseTesting
import Testing

@testable import PulseCore

@Suite(.timeLimit(.minutes(5)))
struct CallGroupTests {
    private let clock = TestClock()
    private let waiting = CallGroup()

    private func call(deadline: TimeInterval?) -> Call {
        PluginContext.mock(deadline: deadline, clock: clock).call
    }

    /// Work that they share.
    private var work: Call { call(deadline: 1).detached(for: waiting) }

    @Test func theWorkHasTheLatestDeadlineOfThoseWhoWait() {
        let places = [5.0, 9, 7].map { waiting.join(call(deadline: $0)) }
        let work = work
        #expect(work.deadline == 9)
        waiting.leave(places[1])
        #expect(work.deadline == 7)
        let patient = waiting.join(call(deadline: nil))
        #expect(work.deadline == nil)
        waiting.leave(patient)
        waiting.leave(places[2])
        #expect(work.deadline == 5)
        waiting.leave(places[0])
        #expect(work.deadline == 5)
    }

    @Test func workThatIsSharedByWorkThatIsSharedHasTheDeadlineOfWhoWaitsForThat() {
        _ = waiting.join(call(deadline: 5))
        let inner = CallGroup()
        _ = inner.join(work)
        let innermost = call(deadline: 1).detached(for: inner)
        #expect(innermost.deadline == 5)
        _ = waiting.join(call(deadline: 8))
        #expect(innermost.deadline == 8)
    }

    @Test func aCallMayWaitTwiceAndLeavesEachPlaceOnce() {
        let twice = call(deadline: 5)
        let (first, second) = (waiting.join(twice), waiting.join(twice))
        let work = work
        twice.expireDeadline()
        waiting.leave(first)
        waiting.leave(first)
        #expect(!work.isExpired)
        waiting.leave(second)
        #expect(work.isExpired)
    }

    @Test func theWorkIsStruckOnlyIfTheLastDeadlineIsWhatEndedTheWait() {
        let (struck, cancelled) = (call(deadline: 5), call(deadline: 9))
        let places = [struck, cancelled].map { waiting.join($0) }
        let work = work
        struck.expireDeadline()
        waiting.leave(places[0])
        #expect(!work.isExpired)
        waiting.leave(places[1])
        #expect(!work.isExpired)
    }

    @Test func whoIsStruckLearnsWhatTheWorkHasFailedWithAndWhoIsCancelledDoesNot() {
        let (struck, cancelled) = (call(deadline: 5), call(deadline: 9))
        let places = [struck, cancelled].map { waiting.join($0) }
        let work = work
        work.lastFailure = .noConnection
        struck.expireDeadline()
        places.forEach { waiting.leave($0) }
        #expect(struck.lastFailure?.kind == .noConnection)
        #expect(cancelled.lastFailure == nil)
    }

    @Test func whatTheWorkHasOvercomeIsNobodysFailure() {
        let struck = call(deadline: 5)
        let place = waiting.join(struck)
        let work = work
        work.lastFailure = .noConnection
        work.lastFailure = nil
        struck.expireDeadline()
        waiting.leave(place)
        #expect(struck.lastFailure == nil)
    }

    @Test func whoWaitsLearnsThatTheWorkFailsWithOtherWorkAndWhenItGoesOn() {
        let (early, late) = (call(deadline: nil), call(deadline: nil))
        _ = waiting.join(early)
        let work = work
        work.isFailureOfOtherWork = true
        _ = waiting.join(late)
        #expect(early.isFailureOfOtherWork && late.isFailureOfOtherWork)
        _ = work.nextWireAttempt()
        #expect(!early.isFailureOfOtherWork && !late.isFailureOfOtherWork)
    }

    @Test func whatAnotherRequestFailsWithIsNoneOfTheCallThatMakesIt() throws {
        let call = call(deadline: nil)
        let login = try #require(URL(string: "https://login.example.com/"))
        call.auxiliaryRequest(URLRequest(url: login), to: login, limit: 1).isFailureOfOtherWork = true
        #expect(!call.isFailureOfOtherWork)
        call.detached().isFailureOfOtherWork = true
        #expect(call.isFailureOfOtherWork)
    }

    @Test func eachRunOfAChainThatIsDetachedForThemHasTheirDeadline() async throws {
        let seen = Locked<[TimeInterval?]>([])
        let plugin = DeadlineProbe(seen: seen)
        let chain = PluginChain.mock([plugin], context: .mock(deadline: 1, clock: clock)) {
            PulseResponse(statusCode: 200, request: $0)
        }
        _ = waiting.join(call(deadline: 5))
        let detached = chain.detached(for: waiting)
        _ = try await detached(.mock())
        _ = waiting.join(call(deadline: 8))
        _ = try await detached(.mock())
        // What is detached within is nobody's.
        #expect(seen.withLock { $0 } == [5, nil, 8, nil])
    }

    private struct DeadlineProbe: PulsePlugin {
        let identifier = "test.deadline-probe"
        let seen: Locked<[TimeInterval?]>

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            seen.withLock { $0 += [context.deadline, context.detached().deadline] }
            return try await next(request)
        }
    }
}
