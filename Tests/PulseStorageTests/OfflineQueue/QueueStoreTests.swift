// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

/// Reported events, and the changes that wake a drainer which sleeps because there is no connection.
@Suite(.throttled)
struct QueueStoreTests {
    private static func store(events: (any EventSink)? = nil) -> QueueStore {
        QueueStore(
            OfflineQueuePolicy(maxQueueSize: 10), directory: nil, clock: TestClock(),
            randomness: SeededRandomness(seed: 1), waiters: QueueWaiters(), events: events, disk: .system)
    }

    private static func item(_ number: Int, _ operation: QueueOperation = .enqueued, expiry: Int64 = 5_000)
        -> JournalItem
    {
        JournalItem(
            operation: operation.byte, id: UUID(number: number), tag: nil, expiry: expiry,
            location: JournalLocation(offset: number, length: 1), note: Data())
    }

    /// How often `change` wakes a drainer that sleeps from uptime 0 on with one entry.
    private static func wakes(_ change: (QueueStore) -> Void) async -> Int {
        let store = store()
        store.apply(.appended([item(1)]))
        store.decide { $0.pause(0, store.randomness) }
        #expect(store.decide { $0.next(uptime: 0, now: 1_000) } == [])
        #expect(store.decide { $0.sleep(uptime: 0, now: 1_000, atMost: 30) } != nil)
        let ticks = store.ticks()
        change(store)
        store.close()
        var count = 0
        for await _ in ticks { count += 1 }
        return count
    }

    @Test func reportsHowMuchOfTheDamageWasSetAside() {
        let events = RecordingSink()
        let store = Self.store(events: events)
        store.apply(.damaged(bytes: 9, kept: 9))
        store.apply(.damaged(bytes: 9, kept: 2))
        let texts = events.events.map { if case .warning(let text) = $0 { text } else { "" } }
        let prefix = "9 bytes of the offline queue's journal were damaged; "
        #expect(texts == [prefix + "9 were set aside", prefix + "2 were set aside; there was no room for the other 7"])
    }

    @Test func anotherEntryDoesNotWakeAPausedDrainer() async {
        #expect(await Self.wakes { $0.apply(.appended([Self.item(2)])) } == 0)
        #expect(await Self.wakes { $0.delay(nil, after: .noConnection) } == 0)
        #expect(await Self.wakes { $0.delay(nil, after: .cannotConnect) } == 0)
    }

    @Test func everyRelevantChangeWakesAPausedDrainer() async {
        #expect(await Self.wakes { $0.apply(.appended([Self.item(1, .removed)])) } == 1)
        #expect(await Self.wakes { $0.apply(.appended([Self.item(2), Self.item(1, .updated)])) } == 1)
        #expect(await Self.wakes { $0.apply(.reset([Self.item(2)])) } == 1)
        // The entry expires before the sleep is over.
        #expect(await Self.wakes { $0.apply(.appended([Self.item(2, expiry: 1_010)])) } == 1)
        #expect(await Self.wakes { $0.change { $0.resume() } } == 1)
        #expect(
            await Self.wakes { store in
                store.decide { $0.resume() }
                store.apply(.appended([Self.item(2)]))
            } == 1)
        #expect(
            await Self.wakes { store in
                store.decide { $0.sleep = nil }
                store.apply(.appended([Self.item(2)]))
            } == 1)
        #expect(
            await Self.wakes { store in
                _ = store.decide { $0.next(uptime: 0, now: 1_000) }
                store.apply(.appended([Self.item(2)]))
            } == 1)
        // The drainer skipped its pass, and does not sleep again yet.
        #expect(
            await Self.wakes { store in
                guard !store.decide({ $0.hasWork(uptime: 0, now: 1_000) }) else { return }
                store.apply(.appended([Self.item(2)]))
            } == 1)
    }
}
