// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionSlotsTests {
    private static func url() throws -> URL { try #require(URL(string: "http://api.test/")) }

    private static func origin() throws -> Origin { try #require(Origin(try url())) }

    /// A request that would not wait for long in vain.
    private static func request(
        _ delivery: TransportRequest.Delivery = .buffered(limit: 1)
    ) throws -> TransportRequest {
        var request = TransportRequest(urlRequest: URLRequest(url: try url()), delivery: delivery)
        request.poolTimeout = 0.01
        return request
    }

    @Test func aWaitEndsAtItsLimitWithAnErrorThatNamesLimitAndHost() async throws {
        let clock = TestClock()
        let slots = ConnectionSlots(limit: 2, clock: clock)
        let origin = try Self.origin()
        for _ in 0..<2 { try await slots.acquire(origin) }
        let waiting = Task.startingNow { try await slots.acquire(origin, timeout: 60) }
        #expect(slots.waiterCount(origin) == 1)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 59)
        #expect(slots.waiterCount(origin) == 1)
        await clock.advance(by: 1)
        let failure = await #expect(throws: TransportFailure.self) { try await waiting.value }
        #expect(failure?.code == .timedOut)
        #expect(failure?.phase == .beforeSend)
        let cause = failure?.underlying as? PulseError.PoolTimeout
        #expect(cause == PulseError.PoolTimeout(host: "api.test", limit: 60, connections: 2))
        #expect(slots.waiterCount(origin) == 0)
        // The waiter has taken no slot with it.
        slots.release(origin)
        try await slots.acquire(origin, timeout: 60)
    }

    @Test func eachWaitHasItsOwnLimit() async throws {
        let clock = TestClock()
        let slots = ConnectionSlots(limit: 1, clock: clock)
        let origin = try Self.origin()
        try await slots.acquire(origin)
        let waiting = [TimeInterval.infinity, 60, 120].map { timeout in
            Task.startingNow { try await slots.acquire(origin, timeout: timeout) }
        }
        #expect(slots.waiterCount(origin) == 3)
        await clock.sleepers(atLeast: 1, for: .timeout)
        await clock.advance(by: 60)
        await #expect(throws: TransportFailure.self) { try await waiting[1].value }
        #expect(slots.waiterCount(origin) == 2)
        slots.release(origin)
        try await waiting[0].value
        slots.release(origin)
        try await waiting[2].value
        // A limit that passes later does not free the slot.
        await clock.advance(by: 60)
        let next = Task.startingNow { try await slots.acquire(origin) }
        #expect(slots.waiterCount(origin) == 1)
        slots.release(origin)
        try await next.value
    }

    @Test func aShutdownEndsAWaitBeforeItsLimit() async throws {
        let clock = TestClock()
        let slots = ConnectionSlots(limit: 1, clock: clock)
        let origin = try Self.origin()
        try await slots.acquire(origin)
        let waiting = Task.startingNow { try await slots.acquire(origin, timeout: 60) }
        await clock.sleepers(atLeast: 1, for: .timeout)
        slots.shutdown()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(clock.sleeperCount(for: .timeout) == 0)
    }

    @Test func streamsTakeNoSlots() async throws {
        let slots = ConnectionSlots(limit: 1)
        let origin = try Self.origin()
        var streams: [ConnectionSlots.Slot] = []
        for _ in 0..<3 { streams.append(try await slots.slot(origin, for: Self.request(.streamed))) }
        var taken: ConnectionSlots.Slot? = try await slots.slot(origin, for: Self.request())
        // Nor do they free any.
        streams = []
        let next = Task.startingNow { try await slots.acquire(origin) }
        #expect(slots.waiterCount(origin) == 1)
        withExtendedLifetime((streams, taken)) {}
        taken = nil
        try await next.value
    }
}
