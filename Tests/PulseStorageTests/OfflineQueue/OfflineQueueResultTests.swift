// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

/// The results that waiters for an entry get.
@Suite(.throttled)
struct OfflineQueueResultTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func queue(
        policy: OfflineQueuePolicy = OfflineQueuePolicy(), clock: TestClock = TestClock(), starts: Bool = true,
        respond: @escaping QueueUnderTest.Responder = { _ in .status(200) }
    ) -> QueueUnderTest {
        QueueUnderTest(directory.url, policy: policy, clock: clock, starts: starts, respond: respond)
    }

    @Test func returnsTheResponseToAnEntryAfterARelaunch() async throws {
        let first = queue(respond: { _ in .failure(.noConnection) })
        let id = try await first.enqueue("/1")
        await first.queue.close()
        let second = queue(respond: { _ in .status(201, data: Data("made".utf8)) })
        let response = try await second.queue.result(of: id)
        #expect(response.statusCode == 201)
        #expect(response.data == Data("made".utf8))
        #expect(try await second.queue.result(of: id).statusCode == 201)
        await second.queue.close()
    }

    @Test func throwsTheErrorOfAnEntry() async throws {
        let queue = queue(respond: { _ in .status(410) })
        let id = try await queue.enqueue("/1", isOffline: false)
        let error = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        #expect(error?.statusCode == 410)
        let unknown = await #expect(throws: PulseError.self) { try await queue.queue.result(of: UUID()) }
        #expect(unknown?.kind == .invalidRequest)
        await queue.queue.close()
        let later = self.queue(starts: false)
        let stored = await #expect(throws: PulseError.self) { try await later.queue.result(of: id) }
        guard case .custom(let reason as PulseError.Summary) = stored else {
            Issue.record("\(String(describing: stored))")
            return
        }
        #expect(reason.statusCode == 410)
        await later.queue.close()
    }

    @Test func aWaiterEndsWhenItIsCancelledOrTheQueueCloses() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let id = try await queue.enqueue("/1")
        let waiter = Task { try await queue.queue.result(of: id) }
        waiter.cancel()
        let left = await #expect(throws: PulseError.self) { try await waiter.value }
        #expect(left?.kind == .cancelled)
        let other = Task { try await queue.queue.result(of: id) }
        await queue.queue.close()
        let ended = await #expect(throws: PulseError.self) { try await other.value }
        #expect(ended?.kind == .cancelled)
    }

    // MARK: After an earlier failure

    /// An entry whose first replay got a 503.
    private func queuedAndRefusedOnce(
        policy: OfflineQueuePolicy = OfflineQueuePolicy(), clock: TestClock = TestClock()
    ) async throws -> (QueueUnderTest, UUID) {
        let queue = queue(policy: policy, clock: clock, respond: { _ in .status(503) })
        let id = try await queue.enqueue("/1", isOffline: false)
        try await queue.queue.drain()
        let attempts = try await queue.queue.pending().map(\.attempts)
        #expect(attempts.first.map { $0 >= 1 } == true)
        return (queue, id)
    }

    @Test func anEntryRemovedAfterAFailureIsCancelled() async throws {
        let (queue, id) = try await queuedAndRefusedOnce()
        let waiter = Task { try await queue.queue.result(of: id) }
        try await queue.queue.remove(id: id)
        let error = await #expect(throws: PulseError.self) { try await waiter.value }
        #expect(error?.kind == .cancelled)
        let later = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        #expect(later?.kind == .cancelled)
        await queue.queue.close()
    }

    /// The response to the older revision is not the entry's.
    @Test func anEntryEditedDuringItsReplayAndThenRemovedIsCancelled() async throws {
        let queue = queue(respond: { _ in .failure(.noConnection) })
        let other = self.queue(starts: false)
        let id = try await queue.enqueue("/old")
        queue.respond { replay in
            guard replay.request.url?.path == "/old" else { return .failure(.noConnection) }
            try? await other.queue.update(id: id) { $0.url = URL(string: "https://api.example.com/new") ?? $0.url }
            return .status(200)
        }
        #expect(try await queue.queue.drain() == 1)
        #expect(queue.sent.suffix(2) == ["/old", "/new"])
        try await queue.queue.remove(id: id)
        let error = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        #expect(error?.kind == .cancelled)
        await other.queue.close()
        await queue.queue.close()
    }

    @Test func anEntryThatExpiresAfterAFailureExceedsItsDeadline() async throws {
        let (queue, id) = try await queuedAndRefusedOnce(policy: OfflineQueuePolicy(requestExpiry: 60))
        await queue.event(movingBy: 31) { if case .offlineQueueExpired(id) = $0 { true } else { false } }
        let error = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        #expect(error?.kind == .deadlineExceeded)
        await queue.queue.close()
    }

    @Test func anEntryDeliveredByAnotherProcessAfterAFailureSucceeds() async throws {
        let (queue, id) = try await queuedAndRefusedOnce()
        // The record that the other process writes.
        let other = FileJournal.open(directory.file("journal"), JournalMirror())
        try await other.append([QueueStore.StateMachine.removal(id, .done(status: 201))])
        #expect(try await queue.queue.result(of: id).statusCode == 201)
        await other.close()
        await queue.queue.close()
    }

    @Test func anEntryGivenUpTwiceReportsTheLastReason() async throws {
        let queue = queue(respond: { _ in .status(410) })
        let id = try await queue.enqueue("/1", isOffline: false)
        let first = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        #expect(first?.statusCode == 410)
        let other = FileJournal.open(directory.file("journal"), JournalMirror())
        let reason = StoredReason(.rateLimited(retryAfter: nil), now: Date(timeIntervalSince1970: 0))
        try await other.append([
            JournalRecord(QueueOperation.revived.rawValue, id),
            JournalRecord(QueueOperation.deadLettered.rawValue, id, payload: reason.encoded),
        ])
        let last = await #expect(throws: PulseError.self) { try await queue.queue.result(of: id) }
        guard case .custom(let actual as PulseError.Summary) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(actual.kind == .rateLimited)
        await other.close()
        await queue.queue.close()
    }

    @Test func aSurplusDeadLetterIsRemovedWithoutAnEventAndKeepsItsResult() async throws {
        let queue = queue(policy: OfflineQueuePolicy(maxQueueSize: 1), respond: { _ in .status(410) })
        let oldest = try await queue.enqueue("/1", isOffline: false)
        try await queue.queue.drain()
        let newest = try await queue.enqueue("/2", isOffline: false)
        try await queue.queue.drain()
        while try await queue.queue.deadLetters().map(\.id) != [newest] { await Task.yield() }
        #expect(queue.events.events.count { $0.isCompletion(of: oldest) } == 1)
        let error = await #expect(throws: PulseError.self) { try await queue.queue.result(of: oldest) }
        #expect(error?.statusCode == 410)
        await queue.queue.close()
    }

    @Test(arguments: [200, 410])
    func aLargeResponseBodyIsDropped(status: Int) async throws {
        let queue = queue(respond: { _ in .status(status, data: Data(count: BodyFiles.limit + 1)) })
        let id = try await queue.enqueue("/1", isOffline: false)
        try await queue.queue.drain()
        let response: PulseResponse
        do {
            response = try await queue.queue.result(of: id)
        } catch PulseError.http(let refused) {
            response = refused
        }
        #expect(response.statusCode == status)
        #expect(response.data.isEmpty)
        #expect(response.isTruncated)
        await queue.queue.close()
    }
}
