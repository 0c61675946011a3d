// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulsePlugins

/// By one thread: nothing for a sanitizer, which runs all of a file whose name says so.
@Suite(.timeLimit(.minutes(5)))
struct CoalescingKeysTests {
    @Test @HeavyWork func aMillionDistinctKeysLeaveNothing() {
        var machine = SharedCalls.StateMachine<Int, Void>()
        var tickets: [(Int, SharedCalls.Ticket)] = []
        for key in 0..<1_000_000 {
            tickets.append((key, machine.join(key) {}.0))
            guard tickets.count == 1_000 else { continue }
            for (key, ticket) in tickets {
                if key % 2 == 0 { _ = machine.leave(ticket, key) } else { _ = machine.finish(ticket.run, key) }
            }
            tickets = []
            #expect(machine.runCount == 0)
            #expect(machine.reservedPlaces <= 64)
        }
    }
}
