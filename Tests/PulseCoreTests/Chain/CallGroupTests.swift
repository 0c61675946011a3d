// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled)
struct CallGroupTests {
    private let clock = TestClock()
    private let group = CallGroup()

    private func call(deadline: TimeInterval?) -> Call {
        PluginContext.mock(deadline: deadline, clock: clock).call
    }

    /// The shared work.
    private var work: Call { call(deadline: 1).detached(for: group) }

    @Test func sharedWorkHasTheLatestDeadlineOfItsWaiters() {
        let memberships = [5.0, 9, 7].map { group.join(call(deadline: $0)) }
        let work = work
        #expect(work.deadline == 9)
        group.leave(memberships[1])
        #expect(work.deadline == 7)
        let patient = group.join(call(deadline: nil))
        #expect(work.deadline == nil)
        group.leave(patient)
        group.leave(memberships[2])
        #expect(work.deadline == 5)
        group.leave(memberships[0])
        #expect(work.deadline == 5)
    }

    @Test func nestedSharedWorkHasTheDeadlineOfTheOuterWaiters() {
        _ = group.join(call(deadline: 5))
        let inner = CallGroup()
        _ = inner.join(work)
        let innermost = call(deadline: 1).detached(for: inner)
        #expect(innermost.deadline == 5)
        _ = group.join(call(deadline: 8))
        #expect(innermost.deadline == 8)
    }

    @Test func aCallThatJoinedTwiceMustLeaveTwice() {
        let twice = call(deadline: 5)
        let (first, second) = (group.join(twice), group.join(twice))
        let work = work
        twice.expireDeadline()
        group.leave(first)
        group.leave(first)
        #expect(!work.isExpired)
        group.leave(second)
        #expect(work.isExpired)
    }

    @Test func sharedWorkExpiresOnlyIfTheLastWaiterExpired() {
        let (expired, cancelled) = (call(deadline: 5), call(deadline: 9))
        let memberships = [expired, cancelled].map { group.join($0) }
        let work = work
        expired.expireDeadline()
        group.leave(memberships[0])
        #expect(!work.isExpired)
        group.leave(memberships[1])
        #expect(!work.isExpired)
    }

    @Test func anExpiredCallGetsTheLastFailureOfTheWorkAndACancelledCallDoesNot() {
        let (expired, cancelled) = (call(deadline: 5), call(deadline: 9))
        let memberships = [expired, cancelled].map { group.join($0) }
        let work = work
        work.record(.failure(.noConnection))
        expired.expireDeadline()
        memberships.forEach { group.leave($0) }
        #expect(expired.lastFailure?.kind == .noConnection)
        #expect(cancelled.lastFailure == nil)
    }

    @Test func aFailureThatTheWorkRecoveredFromIsNotReported() {
        let expired = call(deadline: 5)
        let membership = group.join(expired)
        let work = work
        work.record(.failure(.noConnection))
        work.record(.failure(nil))
        expired.expireDeadline()
        group.leave(membership)
        #expect(expired.lastFailure == nil)
    }

    @Test func waitersSeeFailuresOfNestedWorkUntilItRecovers() {
        let (early, late) = (call(deadline: nil), call(deadline: nil))
        _ = group.join(early)
        let work = work
        work.record(.failsForOtherWork(true))
        _ = group.join(late)
        #expect(early.failsForOtherWork && late.failsForOtherWork)
        _ = work.nextWireAttempt()
        #expect(!early.failsForOtherWork && !late.failsForOtherWork)
    }

    @Test func aFailureOfAnotherRequestIsNotTheCallsFailure() throws {
        let call = call(deadline: nil)
        let login = try #require(URL(string: "https://login.example.com/"))
        call.auxiliaryRequest(URLRequest(url: login), to: login, limit: 1).record(.failsForOtherWork(true))
        #expect(!call.failsForOtherWork)
        call.detached().record(.failsForOtherWork(true))
        #expect(call.failsForOtherWork)
    }

    @Test func aDetachedChainHasTheDeadlineOfItsWaiters() async throws {
        let seen = Locked<[TimeInterval?]>([])
        let plugin = DeadlineProbe(seen: seen)
        let chain = PluginChain.mock([plugin], context: .mock(deadline: 1, clock: clock)) {
            PulseResponse(statusCode: 200, request: $0)
        }
        _ = group.join(call(deadline: 5))
        let detached = chain.detached(for: group)
        _ = try await detached(.mock())
        _ = group.join(call(deadline: 8))
        _ = try await detached(.mock())
        // A nested detached call has no waiters, and so no deadline.
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
