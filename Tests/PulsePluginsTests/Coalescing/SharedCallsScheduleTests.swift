// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A seeded random schedule of arrivals, cancels and late results against a plain model; `PULSE_STEPS` sets its length.
@Suite(.timeLimit(.minutes(5)))
struct SharedCallsScheduleTests {
    private typealias Machine = SharedCalls.StateMachine<Int, Int>

    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// One that waits, as the model sees it.
    private struct Waiter: Equatable {
        let ticket: SharedCalls.Ticket
        let key: Int
        let run: Int
        let work: Int
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func agreesWithAPlainModelOverARandomSchedule(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        var machine = Machine()
        var waiters: [Waiter] = []
        /// Runs that have not ended on the wire, cancelled ones included.
        var runs: [(number: Int, key: Int)] = []
        for step in 0..<Self.steps {
            func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
            let label = Comment(rawValue: "seed \(seed), step \(step)")
            switch pick(10) {
            case 0...4:
                let key = pick(5)
                let (ticket, work) = machine.join(key) { step }
                let known = waiters.first { $0.key == key }
                #expect(ticket.isFirst == (known == nil), label)
                if let known { #expect(ticket.run == known.run, label) }
                if ticket.isFirst { runs.append((ticket.run, key)) }
                // What the first brought is everybody's.
                #expect(work == known?.work ?? step, label)
                #expect(!waiters.contains { $0.ticket == ticket }, label)
                waiters.append(Waiter(ticket: ticket, key: key, run: ticket.run, work: work))
            case 5...7 where !waiters.isEmpty:
                let waiter = waiters.remove(at: pick(waiters.count))
                let isLast = !waiters.contains { $0.run == waiter.run }
                let hasToBeCancelled = machine.leave(waiter.ticket, waiter.key)
                #expect(hasToBeCancelled == isLast, label)
                let again = machine.leave(waiter.ticket, waiter.key)
                #expect(!again, label)
            case 8 where !runs.isEmpty:
                let run = runs.remove(at: pick(runs.count))
                let expected = Set(waiters.filter { $0.run == run.number }.map(\.ticket))
                var tickets: [SharedCalls.Ticket] = []
                machine.finish(run.number, run.key).forEach { tickets.append($0) }
                #expect(tickets.count == expected.count && Set(tickets) == expected, label)
                waiters.removeAll { $0.run == run.number }
            case 9 where pick(50) == 0:
                let ended = machine.removeAll()
                #expect(Set(ended.map(\.run)) == Set(waiters.map(\.run)), label)
                #expect(Set(ended.map(\.work)) == Set(waiters.map(\.work)), label)
                waiters = []
            default: break
            }
            #expect(machine.runCount == Set(waiters.map(\.run)).count, label)
        }
    }
}
