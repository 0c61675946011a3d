// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct QueueStateMachineTests {
    private func ids(_ numbers: Int...) -> [UUID] { numbers.map { UUID(number: $0) } }

    // MARK: Order

    @Test func anEntryRemovedBeforeItsReplayFreesItsTag() {
        var queue = MachineUnderTest()
        let first = queue.enqueue(1, tag: "a")
        let second = queue.enqueue(2, tag: "a")
        guard case .send(first, let tag)? = queue.next().first else {
            Issue.record("the first is not sent")
            return
        }
        queue.write(QueueStore.StateMachine.removal(first, .removed))
        queue.machine.settle(first, tag: tag, uptime: 0)
        #expect(queue.sent() == [second])
    }

    @Test func sendsInOrderWithinATagAndTagsInParallel() {
        var queue = MachineUnderTest()
        for (number, tag) in [(1, "a"), (2, "a"), (3, "b"), (4, nil), (5, nil)] as [(Int, String?)] {
            queue.enqueue(number, tag: tag)
        }
        #expect(queue.sent() == ids(1, 3, 4))
        queue.finish(UUID(number: 1), .done(status: 200))
        #expect(queue.sent() == ids(2))
        queue.finish(UUID(number: 4), .done(status: 201))
        #expect(queue.sent() == ids(5))
    }

    @Test func theNextEntryOfATagWaitsForTheRecordedOutcome() {
        var queue = MachineUnderTest()
        let first = queue.enqueue(1)
        queue.enqueue(2)
        #expect(queue.sent() == [first])
        let record = queue.machine.finish(
            first, tag: nil, .done(status: 200), reason: Data(), uptime: 0, randomness: queue.random)
        #expect(queue.sent() == [])
        if let record { queue.write(record) }
        queue.machine.settle(first, tag: nil, uptime: 0)
        #expect(queue.sent() == ids(2))
    }

    @Test func anUnwrittenOutcomeIsRetriedAndNoEntryOvertakes() {
        var queue = MachineUnderTest()
        let first = queue.enqueue(1)
        queue.enqueue(2)
        _ = queue.sent()
        let record = queue.machine.finish(
            first, tag: nil, .done(status: 200), reason: Data(), uptime: 0, randomness: queue.random)
        guard let record else {
            Issue.record("no record")
            return
        }
        queue.machine.postpone(first, tag: nil, record, uptime: 0, randomness: queue.random)
        #expect(queue.next() == [])
        queue.uptime = 400
        #expect(queue.next() == [.record(first, record, tag: nil)])
        #expect(queue.next() == [])
        queue.write(record)
        queue.machine.settle(first, tag: nil, uptime: 400)
        #expect(queue.sent() == ids(2))
    }

    @Test func anEntryQueuedDuringADrainIsSent() {
        var queue = MachineUnderTest()
        let first = queue.enqueue(1)
        #expect(queue.sent() == [first])
        queue.enqueue(2)
        queue.finish(first, .done(status: 200))
        #expect(queue.sent() == ids(2))
        #expect(!queue.machine.isIdle)
    }

    // MARK: Verdicts

    @Test func anAcceptedEntryIsRemoved() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        _ = queue.sent()
        #expect(queue.finish(id, .done(status: 204)) == .removed(id, .done(status: 204), wasUpdated: false))
        #expect(queue.machine.isIdle)
        queue.relaunch()
        #expect(queue.machine.entries.isEmpty)
    }

    @Test func aRejectedEntryBecomesADeadLetterAndUnblocksItsTag() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.enqueue(2)
        _ = queue.sent()
        #expect(queue.finish(id, .rejected) == .deadLettered(id))
        #expect(queue.sent() == ids(2))
        queue.relaunch()
        #expect(queue.machine.deadCount == 1)
        #expect(queue.sent() == ids(2))
    }

    @Test func aServerErrorBacksOffAndKeepsTheEntry() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, tag: "a")
        queue.enqueue(2, tag: "a")
        queue.enqueue(3, tag: "b")
        _ = queue.sent()
        queue.finish(id, .unavailable(isVerdict: true, retryAfter: 0))
        #expect(queue.sent() == [])
        let wait = queue.machine.wait(uptime: queue.uptime, now: queue.now)
        queue.uptime += (wait ?? .infinity) + 0.001
        #expect(queue.sent() == [id])
        queue.relaunch()
        #expect(queue.machine.entries[id]?.attempts == 1)
    }

    @Test func waitsAsLongAsTheServerAsks() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        _ = queue.sent()
        queue.finish(id, .unavailable(isVerdict: true, retryAfter: 120))
        queue.machine.resume()
        queue.uptime = 119
        #expect(queue.sent() == [])
        queue.uptime = 120
        #expect(queue.sent() == [id])
    }

    @Test func anIsolatedCircuitIsRetriedAfterTheLongestBackoff() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        _ = queue.sent()
        let now = Date(timeIntervalSince1970: 0)
        queue.finish(id, ReplayVerdict(.failure(.circuitOpen(name: "a", retryAfter: .infinity)), now: now))
        queue.uptime = 299
        #expect(queue.sent() == [])
        queue.uptime = 300
        #expect(queue.sent() == [id])
    }

    @Test func aClientSideWaitEndsOnResume() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        for seconds in [120, TimeInterval.infinity] {
            #expect(queue.sent() == [id])
            queue.finish(id, .unavailable(isVerdict: false, retryAfter: seconds))
            queue.uptime += 119
            #expect(queue.sent() == [])
            queue.machine.resume()
        }
        #expect(queue.sent() == [id])
        #expect(queue.machine.entries[id]?.attempts == 0)
    }

    @Test func anEntryBecomesADeadLetterAfterItsLastAttempt() {
        var queue = MachineUnderTest(maxAttempts: 3)
        let id = queue.enqueue(1)
        for attempt in 1...3 {
            #expect(queue.sent() == [id])
            let effect = queue.finish(id, .unavailable(isVerdict: true, retryAfter: 0))
            #expect(effect == (attempt == 3 ? .deadLettered(id) : nil))
            queue.uptime += 1000
            if attempt == 2 { queue.relaunch() }
        }
        #expect(queue.machine.deadCount == 1)
    }

    @Test(arguments: [false, true])
    func aWaitRequestedByTheServerOutlivesItsEntry(isReloaded: Bool) {
        var queue = MachineUnderTest(maxAttempts: 1)
        let id = queue.enqueue(1)
        queue.enqueue(2)
        _ = queue.sent()
        #expect(queue.finish(id, .unavailable(isVerdict: true, retryAfter: 120)) == .deadLettered(id))
        if isReloaded {
            _ = queue.machine.reset(queue.records.enumerated().map { MachineUnderTest.item($0.element, $0.offset) })
        }
        queue.machine.resume()
        queue.uptime = 119
        #expect(queue.machine.hasServerBackoff(queue.uptime))
        #expect(queue.sent() == [])
        queue.uptime = 120
        #expect(queue.sent() == ids(2))
    }

    @Test func theNextEntryIsSentAtOnceAfterADeadLetterWithoutAServerWait() {
        var queue = MachineUnderTest(maxAttempts: 1)
        let id = queue.enqueue(1)
        queue.enqueue(2)
        _ = queue.sent()
        queue.finish(id, .unavailable(isVerdict: true, retryAfter: 0))
        #expect(queue.sent() == ids(2))
    }

    /// The client is at fault. Another process or version may not have the fault.
    @Test func anUnsendableEntryHasNoServerWaitAndBecomesADeadLetter() {
        var queue = MachineUnderTest(maxAttempts: 3)
        let id = queue.enqueue(1)
        queue.enqueue(2)
        for attempt in 1...3 {
            #expect(queue.sent() == [id])
            let effect = queue.finish(id, .unsendable)
            #expect(effect == (attempt == 3 ? .deadLettered(id) : nil))
            #expect(queue.machine.entries[id]?.attempts == min(attempt, 2))
            #expect(!queue.machine.hasServerBackoff(queue.uptime))
            if attempt < 3 { #expect(queue.sent() == []) }
            queue.machine.resume()
        }
        #expect(queue.sent() == ids(2))
    }

    @Test func onlyServerVerdictsCountAsAttempts() {
        var queue = MachineUnderTest(maxAttempts: 2)
        let id = queue.enqueue(1)
        let verdicts: [ReplayVerdict] = [
            .offline, .unavailable(isVerdict: false, retryAfter: 0), .otherAccount, .stopped,
        ]
        for round in 0..<40 {
            #expect(queue.sent() == [id])
            queue.finish(id, verdicts[round % verdicts.count])
            queue.uptime += 1000
        }
        #expect(queue.machine.entries[id]?.attempts == 0)
    }

    @Test func nothingIsSentWithoutAConnection() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, tag: "a")
        for number in 2..<30 { queue.enqueue(number, tag: "t\(number)") }
        #expect(queue.sent().count == QueueStore.StateMachine.parallelism)
        queue.finish(id, .offline)
        #expect(queue.sent() == [])
        queue.machine.resume()
        #expect(queue.sent().count == 1)
    }

    @Test func aReturningConnectionEndsAllWaitsExceptServerWaits() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, tag: "a")
        _ = queue.sent()
        queue.finish(id, .unavailable(isVerdict: false, retryAfter: 0))
        #expect(queue.sent() == [])
        queue.machine.resume()
        #expect(queue.sent() == [id])
    }

    @Test func anEntryOfAnotherAccountBlocksOnlyItsTag() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, tag: "a")
        queue.enqueue(2, tag: "b")
        _ = queue.sent()
        queue.finish(id, .otherAccount)
        queue.finish(UUID(number: 2), .done(status: 200))
        queue.enqueue(3, tag: "b")
        #expect(queue.sent() == ids(3))
        #expect(queue.machine.entries[id]?.attempts == 0)
    }

    // MARK: Expiry and room

    @Test func anExpiredEntryIsRemovedUnsent() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, expiry: 1_500_000)
        queue.enqueue(2)
        queue.machine.pause(0, queue.random)
        queue.now = 1_500_000
        #expect(queue.next() == [.end(id, .expired)])
        #expect(queue.next() == [])
        queue.write(QueueStore.StateMachine.removal(id, .expired))
        queue.machine.resume()
        #expect(queue.sent() == ids(2))
    }

    @Test func anEntryInFlightDoesNotExpire() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, expiry: 1_500_000)
        #expect(queue.sent() == [id])
        queue.now = 2_000_000
        #expect(queue.next() == [])
        queue.finish(id, .done(status: 200))
        #expect(queue.machine.isIdle)
    }

    @Test func anEntryThatExpiredInFlightIsNotResent() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, expiry: 1_500_000)
        #expect(queue.sent() == [id])
        queue.now = 1_500_000
        #expect(queue.next() == [])
        queue.finish(id, .offline)
        queue.machine.resume()
        #expect(queue.next() == [.end(id, .expired)])
    }

    /// Simulates a full disk, on which the removal cannot be written.
    @Test func anExpiredEntryWhoseRemovalCannotBeWrittenIsNotSent() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, expiry: 1_500_000)
        queue.now = 1_500_000
        #expect(queue.next() == [.end(id, .expired)])
        queue.machine.postponeEnd(id, uptime: queue.uptime, now: queue.now)
        #expect(queue.next() == [])
        queue.now += 30_000
        #expect(queue.next() == [.end(id, .expired)])
        queue.write(QueueStore.StateMachine.removal(id, .expired))
        #expect(queue.machine.isIdle)
    }

    @Test func aClockSetBackExpiresNothing() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, expiry: 1_500_000)
        queue.now = 0
        #expect(queue.sent() == [id])
    }

    @Test func aFullQueueRefusesEntries() throws {
        var queue = MachineUnderTest(capacity: 2)
        queue.enqueue(1)
        #expect(try queue.machine.admit(UUID(number: 2)) == nil)
        #expect(throws: PulseError.self) { try queue.machine.admit(UUID(number: 3)) }
        queue.machine.release(UUID(number: 2))
        #expect(try queue.machine.admit(UUID(number: 3)) == nil)
    }

    @Test func aFullQueueDropsTheOldestEntryNotInFlight() throws {
        var queue = MachineUnderTest(capacity: 2, dropsOldest: true)
        queue.enqueue(1, tag: "a")
        queue.enqueue(2, tag: "a")
        #expect(queue.sent() == ids(1))
        let record = try #require(try queue.machine.admit(UUID(number: 3)))
        #expect(record == QueueStore.StateMachine.removal(UUID(number: 2), .dropped))
        #expect(queue.write(record) == .removed(UUID(number: 2), .dropped, wasUpdated: false))
        queue.enqueue(3, tag: "a")
        #expect(queue.machine.pendingCount == 2)
    }

    // MARK: Editing

    @Test func aRevivedLetterIsLastOfItsTagWithNoAttemptsCounted() {
        var queue = MachineUnderTest(maxAttempts: 1)
        let id = queue.enqueue(1)
        _ = queue.sent()
        queue.finish(id, .unavailable(isVerdict: true, retryAfter: 0))
        queue.enqueue(2)
        queue.write(JournalRecord("q", id, expiry: 0))
        #expect(queue.machine.entries[id]?.attempts == 0)
        queue.relaunch()
        #expect(queue.sent() == ids(2))
        queue.finish(UUID(number: 2), .done(status: 200))
        #expect(queue.sent() == [id])
    }

    @Test func anUpdatedEntryKeepsItsPosition() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.enqueue(2)
        queue.write(JournalRecord("U", id, payload: Data("new".utf8)))
        #expect(queue.machine.entries[id]?.location.offset == 2)
        #expect(queue.sent() == [id])
    }

    @Test func aRecordOfARemovedEntryDoesNotRestoreIt() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.write(QueueStore.StateMachine.removal(id, .removed))
        for operation: Character in ["U", "a", "D", "q", "r"] {
            queue.write(JournalRecord(operation, id))
        }
        #expect(queue.machine.entries.isEmpty && queue.machine.isIdle)
    }

    /// Another process does not see that the entry is in flight.
    @Test(arguments: [ReplayVerdict.done(status: 200), .rejected], [false, true])
    func aVerdictOnAnOlderRevisionDoesNotEndTheEntry(verdict: ReplayVerdict, isCompacted: Bool) {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.enqueue(2)
        #expect(queue.sent() == [id])
        queue.write(JournalRecord("U", id, payload: Data("new".utf8)))
        if isCompacted {
            // Compacted by an earlier version, without the number of revisions.
            _ = queue.machine.reset([
                MachineUnderTest.item(JournalRecord("E", id), 0),
                MachineUnderTest.item(JournalRecord("E", UUID(number: 2)), 1),
            ])
        }
        #expect(queue.finish(id, verdict) == nil)
        #expect(queue.sent() == [id])
        #expect(queue.finish(id, .done(status: 200)) == .removed(id, .done(status: 200), wasUpdated: true))
        #expect(queue.sent() == ids(2))
    }

    /// The record of the new revision was being written when the send action was returned.
    @Test func aVerdictAppliesToTheRevisionThatWasRead() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        #expect(queue.sent() == [id])
        queue.write(JournalRecord("U", id, payload: Data("new".utf8)))
        #expect(queue.machine.takeRevisionToSend(of: id)?.offset == 1)
        #expect(queue.finish(id, .done(status: 200)) == .removed(id, .done(status: 200), wasUpdated: true))
    }

    /// Another process compacts before this one has seen the new revision.
    @Test func aVerdictOnARevisionRemovedByACompactionDoesNotEndTheEntry() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        var other = queue
        #expect(queue.sent() == [id])
        other.write(JournalRecord("U", id, payload: Data("new".utf8)))
        queue.records = other.compacted()
        _ = queue.machine.reset(queue.records.enumerated().map { MachineUnderTest.item($0.element, $0.offset) })
        #expect(queue.finish(id, .done(status: 200)) == nil)
        #expect(queue.sent() == [id])
        #expect(queue.finish(id, .done(status: 200)) == .removed(id, .done(status: 200), wasUpdated: true))
    }

    @Test func removesAllSurplusDeadLettersInOneDrainPass() {
        var queue = MachineUnderTest(capacity: 2)
        for number in 1...5 {
            let id = queue.enqueue(number)
            queue.write(JournalRecord("D", id))
        }
        let ends = ids(1, 2, 3).map { QueueStore.StateMachine.Action.end($0, .surplus) }
        #expect(queue.next() == ends)
        // Entries that are ending no longer count.
        #expect(queue.next() == [])
        for id in ids(1, 2, 3) { queue.write(QueueStore.StateMachine.removal(id, .surplus)) }
        #expect(queue.machine.deadCount == 2)
        #expect(queue.next() == [])
    }

    @Test func aSurplusDeadLetterIsEitherRemovedOrRevived() {
        var queue = MachineUnderTest(capacity: 1)
        for number in 1...2 {
            let id = queue.enqueue(number)
            queue.write(JournalRecord("D", id))
        }
        let id = UUID(number: 1)
        #expect(queue.machine.mayRevive(id))
        #expect(queue.next() == [.end(id, .surplus)])
        #expect(!queue.machine.mayRevive(id) && queue.machine.mayEnd(id, .surplus))
        // The revival was admitted first, and is written in the same batch.
        queue.machine.entries[id]?.isChanging = true
        #expect(!queue.machine.mayEnd(id, .surplus))
        queue.write(JournalRecord("q", id, expiry: 0))
        #expect(!queue.machine.mayEnd(id, .surplus) && queue.machine.mayEnd(id, .expired))
        queue.machine.postponeEnd(id, uptime: 0, now: 0)
        #expect(queue.sent() == [id])
    }

    @Test func aReplayCancelledForARemovedEntryBlocksNoOther() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        #expect(queue.sent() == [id])
        queue.write(QueueStore.StateMachine.removal(id, .removed))
        queue.finish(id, .stopped)
        queue.enqueue(2)
        #expect(queue.sent() == ids(2))
    }

    @Test func aPauseEndsWithItsDrainerWhichEndsOnlyWhenNothingIsLeft() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1, tag: "a")
        for _ in 1...10 {
            #expect(queue.sent() == [id])
            queue.finish(id, .offline)
            queue.uptime = queue.machine.pausedUntil
        }
        queue.machine.pause(queue.uptime, queue.random)
        let mayGoBefore = queue.machine.endIfIdle()
        #expect(!mayGoBefore)
        #expect(queue.sent() == [])
        queue.write(QueueStore.StateMachine.removal(id, .removed))
        let mayGo = queue.machine.endIfIdle()
        #expect(mayGo)
        #expect(queue.machine.offlineFailures == 0)
        queue.enqueue(2, tag: "b")
        #expect(queue.sent() == ids(2))
    }

    @Test func aFailedRemovalOfASurplusDeadLetterIsRetriedLater() {
        var queue = MachineUnderTest(capacity: 1)
        let oldest = queue.enqueue(1)
        _ = queue.sent()
        queue.finish(oldest, .rejected)
        let other = queue.enqueue(2)
        _ = queue.sent()
        queue.finish(other, .rejected)
        #expect(queue.next() == [.end(oldest, .surplus)])
        queue.machine.postponeEnd(oldest, uptime: queue.uptime, now: queue.now)
        #expect(queue.next() == [])
        queue.enqueue(3)
        #expect(queue.machine.wait(uptime: queue.uptime, now: queue.now) ?? .infinity <= 30)
        _ = queue.sent()
        queue.uptime += 30
        #expect(queue.next() == [.end(oldest, .surplus)])
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "99999999999999999999", "many"])
    func anAttemptCountOutOfRangeDoesNotTrap(count: String) {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.write(JournalRecord("a", id, payload: Data(count.utf8)))
        #expect(queue.sent() == [id])
        queue.finish(id, .unavailable(isVerdict: true, retryAfter: 0))
        #expect(queue.machine.entries[id]?.attempts ?? -1 >= 0)
    }

    @Test func anEntryRemovedInFlightEndsWithoutARecord() {
        var queue = MachineUnderTest()
        let id = queue.enqueue(1)
        queue.enqueue(2)
        _ = queue.sent()
        queue.write(QueueStore.StateMachine.removal(id, .removed))
        #expect(queue.sent() == [])
        #expect(
            queue.machine.finish(id, tag: nil, .done(status: 200), reason: Data(), uptime: 0, randomness: queue.random)
                == nil)
        queue.machine.settle(id, tag: nil, uptime: 0)
        #expect(queue.sent() == ids(2))
    }

    // MARK: Reloading the journal

    @Test func reloadingTheJournalKeepsEntriesInFlightAndWaits() {
        var queue = MachineUnderTest()
        let first = queue.enqueue(1, tag: "a")
        queue.enqueue(2, tag: "a")
        let third = queue.enqueue(3, tag: "b")
        _ = queue.sent()
        queue.finish(third, .unavailable(isVerdict: false, retryAfter: 0))
        let items = queue.records.enumerated().map { MachineUnderTest.item($0.element, $0.offset) }
        _ = queue.machine.reset(items)
        #expect(queue.sent() == [])
        queue.finish(first, .done(status: 200))
        #expect(queue.sent() == ids(2))
    }

    @Test func aCompactedJournalLeadsToTheSameState() {
        var queue = MachineUnderTest(maxAttempts: 2)
        for number in 1...5 { queue.enqueue(number, tag: "t\(number % 2)") }
        _ = queue.sent()
        queue.finish(UUID(number: 1), .unavailable(isVerdict: true, retryAfter: 0))
        queue.finish(UUID(number: 2), .rejected)
        queue.write(QueueStore.StateMachine.removal(UUID(number: 3), .removed))
        queue.write(JournalRecord("U", UUID(number: 4), expiry: 9_000_000))
        var compacted = MachineUnderTest(maxAttempts: 2)
        queue.compacted().forEach { compacted.write($0) }
        #expect(compacted.machine.entries.mapValues(\.revision) == queue.machine.entries.mapValues(\.revision))
        #expect(compacted.machine.entries[UUID(number: 4)]?.revision == 1)
        #expect(compacted.machine.entries.mapValues(\.attempts) == queue.machine.entries.mapValues(\.attempts))
        #expect(compacted.machine.entries.mapValues(\.expiry) == queue.machine.entries.mapValues(\.expiry))
        #expect(compacted.machine.deadCount == 1)
        #expect(compacted.machine.pendingCount == 3)
        queue.relaunch()
        #expect(compacted.sent() == queue.sent())
    }
}

@Suite(.throttled)
struct ReplayVerdictTests {
    private static let request = URLRequest(url: URL(fileURLWithPath: "/"))
    private static let now = TestClock().now

    private func verdict(status: Int, headers: HTTPHeaders = [:]) -> ReplayVerdict {
        let response = PulseResponse(statusCode: status, headers: headers, data: Data(), request: Self.request)
        guard let error = PulseError(validating: response, accepted: .successful) else {
            return ReplayVerdict(.success(response), now: Self.now)
        }
        return verdict(error)
    }

    private func verdict(_ error: PulseError) -> ReplayVerdict {
        ReplayVerdict(.failure(error), now: Self.now)
    }

    @Test func statusesMapToVerdicts() {
        for status in [200, 201, 204, 299] { #expect(verdict(status: status) == .done(status: status)) }
        for status in [300, 304, 400, 403, 404, 409, 410, 413, 422, 451] {
            #expect(verdict(status: status) == .rejected, "\(status)")
        }
        for status in [401, 408, 425, 429, 500, 501, 502, 503, 504, 599] {
            #expect(verdict(status: status) == .unavailable(isVerdict: true, retryAfter: 0), "\(status)")
        }
        #expect(verdict(status: 503, headers: ["Retry-After": "7"]) == .unavailable(isVerdict: true, retryAfter: 7))
    }

    /// The client's clock may be far from the system's, as in a test.
    @Test func aRetryAfterDateIsRelativeToTheClientsClock() {
        let headers: HTTPHeaders = ["Retry-After": "Thu, 01 Jan 2026 00:02:00 GMT"]
        #expect(verdict(status: 503, headers: headers) == .unavailable(isVerdict: true, retryAfter: 120))
        for status in [429, 503] {
            let response = PulseResponse(statusCode: status, headers: headers, data: Data(), request: Self.request)
            let verdict = ReplayOutcome(result: .success(response)).verdict(now: Self.now)
            #expect(verdict == .unavailable(isVerdict: true, retryAfter: 120), "\(status)")
        }
    }

    /// An endpoint that accepts every status handles it itself, but the queue must know whether the server accepted the
    /// call.
    @Test func aTemporaryFailureStatusIsNotDoneEvenIfAccepted() {
        for status in [401, 408, 425, 429, 500, 503] {
            let response = PulseResponse(
                statusCode: status, headers: ["Retry-After": "7"], data: Data(), request: Self.request)
            let outcome = ReplayOutcome(result: .success(response))
            #expect(outcome.verdict(now: Self.now).isUnavailable, "\(status)")
            #expect(throws: PulseError.self) { try outcome.result(now: Self.now).get() }
        }
        for status in [200, 302, 404, 409, 422] {
            let response = PulseResponse(statusCode: status, data: Data(), request: Self.request)
            #expect(ReplayOutcome(result: .success(response)).verdict(now: Self.now) == .done(status: status))
        }
    }

    @Test func anUnsentRequestHasNoServerVerdict() {
        let limited = Result<PulseResponse, PulseError>.failure(.rateLimited(retryAfter: 7))
        #expect(ReplayOutcome(result: limited).verdict(now: Self.now) == .unavailable(isVerdict: true, retryAfter: 7))
        let outcome = ReplayOutcome(result: limited, isUnsent: true)
        #expect(outcome.verdict(now: Self.now) == .unavailable(isVerdict: false, retryAfter: 7))
        // A request that cannot be built now may be built later.
        #expect(ReplayOutcome(result: .failure(.invalidURL("a")), isUnsent: true).verdict(now: Self.now) == .unsendable)
        #expect(ReplayOutcome(result: .failure(.invalidURL("a"))).verdict(now: Self.now) == .rejected)
        #expect(ReplayOutcome(result: .failure(.noConnection), isUnsent: true).verdict(now: Self.now) == .offline)
    }

    /// A refresh or a recovery that another server has refused.
    @Test(arguments: [false, true])
    func aFailureOfOtherWorkIsNoServerVerdict(isUnsent: Bool) {
        func verdict(_ error: PulseError) -> ReplayVerdict {
            ReplayOutcome(
                result: .failure(error), isUnsent: isUnsent, isOfOtherWork: true, status: isUnsent ? nil : 200
            )
            .verdict(now: Self.now)
        }
        let errors = [403, 400, 503, 401].map { status -> PulseError in
            let response = PulseResponse(statusCode: status, data: Data(), request: Self.request)
            return PulseError(validating: response, accepted: .successful) ?? .emptyBody
        }
        var lost = TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
        lost.response = PulseResponse(statusCode: 200, request: Self.request)
        let others: [PulseError] = [
            .invalidRequest(reason: "a"), .responseTooLarge(limit: 1), PulseError(wrapping: lost), .custom(Fault()),
        ]
        for error in errors + others {
            #expect(verdict(error) == .unavailable(isVerdict: false, retryAfter: 0), "\(error)")
        }
        #expect(verdict(.rateLimited(retryAfter: 7)) == .unavailable(isVerdict: false, retryAfter: 7))
        #expect(verdict(.noConnection) == .offline)
        #expect(verdict(.cancelled) == .stopped)
    }

    private struct Fault: Error {}

    /// The plugin may be a validator or a decoder. Without a verdict, the entry would block the ones behind it.
    @Test func aPluginsJudgmentOfAResponseIsAVerdict() {
        let errors: [PulseError] = [
            .custom(Fault()), .emptyBody, .graphQL([]), .retryExhausted(last: .custom(Fault()), attempts: 3),
            .deadlineExceeded(last: .custom(Fault())),
        ]
        for error in errors {
            let outcome = ReplayOutcome(result: .failure(error), status: 200)
            #expect(outcome.verdict(now: Self.now) == .unavailable(isVerdict: true, retryAfter: 0), "\(error)")
            let withoutResponse = ReplayOutcome(result: .failure(error))
            #expect(withoutResponse.verdict(now: Self.now) == .unavailable(isVerdict: false, retryAfter: 0), "\(error)")
        }
    }

    /// The bytes of a body are of no interest to the queue. What is no response at all counts, since it may be so for good.
    @Test func aResponseThatCannotBeReadIsAVerdict() {
        func failure(_ status: Int?, _ code: URLError.Code, _ headers: HTTPHeaders = [:]) -> PulseError {
            var failure = TransportFailure(code: code, phase: .responseStarted)
            failure.response = status.map { PulseResponse(statusCode: $0, headers: headers, request: Self.request) }
            return PulseError(wrapping: failure)
        }
        for code in [URLError.Code.cannotDecodeContentData, .networkConnectionLost, .cannotWriteToFile] {
            for status in [200, 201, 299] { #expect(verdict(failure(status, code)) == .done(status: status)) }
            for status in [400, 404, 422] { #expect(verdict(failure(status, code)) == .rejected) }
            for status in [302, 307, 401, 429, 500] {
                #expect(verdict(failure(status, code)) == .unavailable(isVerdict: true, retryAfter: 0))
            }
            let later = verdict(failure(503, code, ["Retry-After": "7"]))
            #expect(later == .unavailable(isVerdict: true, retryAfter: 7))
        }
        for code in [URLError.Code.badServerResponse, .cannotParseResponse, .cannotDecodeContentData] {
            #expect(verdict(failure(nil, code)) == .unavailable(isVerdict: true, retryAfter: 0))
        }
        // The status of a body that is too large is in the call.
        for (status, expected) in [(201, ReplayVerdict.done(status: 201)), (404, .rejected)] {
            let tooLarge = ReplayOutcome(result: .failure(.responseTooLarge(limit: 1)), status: status)
            #expect(tooLarge.verdict(now: Self.now) == expected)
        }
        #expect(verdict(failure(nil, .networkConnectionLost)) == .unavailable(isVerdict: false, retryAfter: 0))
        let unsent = TransportFailure(code: .badServerResponse, phase: .beforeSend)
        #expect(verdict(PulseError(wrapping: unsent)) == .unavailable(isVerdict: false, retryAfter: 0))
    }

    @Test func aLostAttemptAfterAResponseIsNoVerdict() {
        let network = PulseError.transport(.networkConnectionLost, underlying: CancellationError())
        let errors: [PulseError] = [
            network, .timeout(Self.request), .deadlineExceeded(last: nil), .unauthorized(), .sessionExpired,
            .sslPinningFailed(host: "a"), .circuitOpen(name: "a", retryAfter: 0),
        ]
        for error in errors {
            let outcome = ReplayOutcome(result: .failure(error), status: 200)
            #expect(outcome.verdict(now: Self.now) == .unavailable(isVerdict: false, retryAfter: 0), "\(error)")
        }
        #expect(ReplayOutcome(result: .failure(.noConnection), status: 200).verdict(now: Self.now) == .offline)
    }

    @Test func networkFailuresAreNoVerdicts() {
        let network = PulseError.transport(.networkConnectionLost, underlying: CancellationError())
        #expect(verdict(.noConnection) == .offline)
        #expect(verdict(.retryExhausted(last: .noConnection, attempts: 3)) == .offline)
        #expect(verdict(.cancelled) == .stopped)
        let waits: [PulseError] = [
            network, .timeout(Self.request), .deadlineExceeded(last: nil), .unauthorized(), .sessionExpired,
            .sslPinningFailed(host: "a"), .custom(CancellationError()),
        ]
        for error in waits {
            #expect(verdict(error) == .unavailable(isVerdict: false, retryAfter: 0), "\(error)")
        }
        #expect(
            verdict(.circuitOpen(name: "a", retryAfter: 9))
                == .unavailable(isVerdict: false, retryAfter: 9))
        #expect(verdict(.invalidURL("")) == .rejected)
    }
}

extension ReplayVerdict {
    fileprivate var isUnavailable: Bool {
        if case .unavailable(isVerdict: true, _) = self { true } else { false }
    }
}
