// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads, .addresses), .throttled)
struct ConnectionSlotsStressTests {
    private static func origin(_ host: String) throws -> Origin {
        try #require(URL(string: "http://\(host)").flatMap(Origin.init))
    }

    @Test func slotsNeverExceedTheirLimitAndReachEveryWaiter() async throws {
        let slots = ConnectionSlots(limit: 3)
        let origin = try Self.origin("a")
        let inside = Locked((now: 0, most: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<300 {
                group.addTask {
                    do { try await slots.acquire(origin) } catch { return }
                    inside.withLock { inside in
                        inside.now += 1
                        inside.most = max(inside.most, inside.now)
                    }
                    // The first holders stay until the limit is reached.
                    repeat { await Task.yield() } while inside.withLock { $0.most } < 3 && !Task.isCancelled
                    inside.withLock { $0.now -= 1 }
                    slots.release(origin)
                }
            }
        }
        #expect(inside.withLock { $0.most } == 3)
        #expect(inside.withLock { $0.now } == 0)
    }

    @Test func urgentRequestsGetSlotsBeforeOthers() async throws {
        let slots = ConnectionSlots(limit: 1)
        let url = try #require(URL(string: "http://a"))
        let origin = try Self.origin("a")
        try await slots.acquire(origin)
        let order = Locked<[RequestOptions.Priority]>([])
        let tasks = [RequestOptions.Priority.low, .normal, .high].map { priority in
            Task.startingNow {
                let request = TransportRequest(urlRequest: URLRequest(url: url), priority: priority)
                let slot = try await slots.slot(origin, for: request)
                order.withLock { $0.append(priority) }
                withExtendedLifetime(slot) {}
            }
        }
        #expect(slots.waiterCount(origin) == 3)
        slots.release(origin)
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == [.high, .normal, .low])
    }

    @Test func theQueueOfABusyHostStaysShort() async throws {
        let slots = ConnectionSlots(limit: 1)
        let origin = try Self.origin("a")
        try await slots.acquire(origin)
        var most = 0
        var tasks: [Task<Void, any Error>] = []
        func join() {
            tasks.append(Task.startingNow { try await slots.acquire(origin) })
            most = max(most, slots.queueSlotCount(origin))
        }
        join()
        for _ in 0..<3000 {
            join()
            slots.release(origin)
        }
        slots.release(origin)
        for task in tasks { try await task.value }
        #expect(most <= 1025)
        slots.release(origin)
    }

    @Test func aCancelledWaiterFreesItsQueuePositionAtOnce() async throws {
        let slots = ConnectionSlots(limit: 1)
        let origin = try Self.origin("a")
        try await slots.acquire(origin)
        for _ in 0..<3000 {
            let task = Task.startingNow { try await slots.acquire(origin) }
            #expect(slots.waiterCount(origin) == 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(slots.queueSlotCount(origin) <= 1024)
        slots.release(origin)
    }

    @Test func anotherHostHasItsOwnSlots() async throws {
        let slots = ConnectionSlots(limit: 1)
        try await slots.acquire(Self.origin("a"))
        try await slots.acquire(Self.origin("b"))
        slots.release(try Self.origin("a"))
        slots.release(try Self.origin("b"))
    }

    @Test func cancelledWaitersLeakNoSlots() async throws {
        let random = SeededRandomness(seed: 7)
        let slots = ConnectionSlots(limit: 2)
        let origin = try Self.origin("a")
        try await slots.acquire(origin)
        try await slots.acquire(origin)
        let through = Locked(0)
        let tasks = (0..<400).map { _ in
            Task.startingNow {
                try await slots.acquire(origin)
                through.withLock { $0 += 1 }
                await Task.yield()
                slots.release(origin)
            }
        }
        #expect(slots.waiterCount(origin) == 400)
        var cancelled = 0
        for task in tasks where random.next() % 2 == 0 {
            task.cancel()
            cancelled += 1
        }
        #expect(slots.waiterCount(origin) == 400 - cancelled)
        slots.release(origin)
        slots.release(origin)
        for task in tasks { _ = await task.result }
        #expect(through.withLock { $0 } == 400 - cancelled)
        // Both slots are free again.
        try await slots.acquire(origin)
        try await slots.acquire(origin)
    }
}
