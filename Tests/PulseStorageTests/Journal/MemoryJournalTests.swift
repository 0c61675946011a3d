// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct MemoryJournalTests {
    @Test func aRefusedAppendIsAPulseErrorAndWritesNothing() async throws {
        struct Refusal: Error {}
        let log = MemoryJournal { _ in }
        let error = await #expect(throws: PulseError.self) { try await log.append([.sample(1)]) { throw Refusal() } }
        #expect(error?.kind == .custom)
        #expect(await log.count == 0)
    }

    @Test func dropsTheRecordsOfRemovedEntries() async throws {
        let mirror = JournalMirror()
        let log = MemoryJournal { mirror.apply($0) }
        let first = JournalRecord.sample(0)
        try await log.append([first])
        for number in 1...2_000 {
            let id = UUID(number: number)
            try await log.append([JournalRecord.sample(number)])
            try await log.append([JournalRecord("a", id, payload: Data("1".utf8)), JournalRecord("U", id)])
            try await log.append([JournalRecord("r", id, payload: Data("done 200".utf8))])
        }
        #expect(await log.count == 1)
        let location = mirror.location(of: first.id)
        #expect(try await log.read { location } == first)
    }

    @Test func dropsEarlierRevisionsAndTheReasonOfARevivedEntry() async throws {
        let mirror = JournalMirror()
        let log = MemoryJournal { mirror.apply($0) }
        let id = UUID(number: 1)
        try await log.append([JournalRecord.sample(1), JournalRecord.sample(2)])
        for number in 0..<100 { try await log.append([JournalRecord("U", id, payload: Data("\(number)".utf8))]) }
        #expect(await log.count == 2)
        try await log.append([JournalRecord("D", id), JournalRecord("U", id, payload: Data("last".utf8))])
        #expect(await log.count == 3)
        let last = mirror.location(of: id)
        #expect(try await log.read { last }?.payload == Data("last".utf8))
        try await log.append([JournalRecord("q", id)])
        #expect(await log.count == 2)
        try await log.append([JournalRecord("r", id)])
        #expect(await log.count == 1)
    }

    @Test func aCompactedLogHasTheGivenContents() async throws {
        let mirror = JournalMirror()
        let log = MemoryJournal { mirror.apply($0) }
        for number in 0..<4 { try await log.append([JournalRecord.sample(number)]) }
        let items = mirror.now.items
        try await log.compact {
            [.copy(items[2].location), .changed(items[1].location, operation: UInt8(ascii: "E"), expiry: 7)]
        }
        #expect(mirror.ids == [UUID(number: 2), UUID(number: 1)])
        let location = mirror.location(of: UUID(number: 1))
        #expect(try await log.read { location }?.expiry == 7)
        #expect(await log.count == 2)
    }
}
