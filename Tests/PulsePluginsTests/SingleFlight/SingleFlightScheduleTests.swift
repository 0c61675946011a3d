// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Seeded random schedules of arrivals, cancellations, closings and late results against a plain model; `PULSE_STEPS`
/// sets their length.
@Suite(.tags(.schedule), .throttled)
struct SingleFlightScheduleTests {
    private typealias Runs = SingleFlight<Int, Never>

    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 4_000

    /// An unfinished run in the model.
    private struct Run {
        let key: Int
        let work: Int
        let isBackground: Bool
        var isOpen = true
        /// By ticket number, the value of each subscriber.
        var subscribers: [Int: Int] = [:]
    }

    private struct Subscriber: Sendable {
        let ticket: Runs.Ticket
        let work: Int
        let brought: Int
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func agreesWithAPlainModelForRandomSubscriptions(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        var machine = Runs.StateMachine<Int, Subscriber>()
        var model: [Int: Run] = [:]
        var tickets: [Runs.Ticket] = []
        var hasBeenClosed = 0
        for step in 0..<Self.steps {
            func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
            let label: Comment = "seed \(seed), step \(step)"
            let key = pick(5)
            let open = model.first { $0.value.key == key && $0.value.isOpen }
            switch pick(20) {
            case 0..<8:
                let subscriber = machine.join(key) {
                    step
                } subscriber: {
                    Subscriber(ticket: $0, work: $1, brought: step)
                }
                guard let (ticket, work) = subscriber.map({ ($0.ticket, $0.work) }) else {
                    Issue.record(label)
                    return
                }
                #expect(ticket.isFirst == (open == nil), label)
                #expect(ticket.run == open?.key || ticket.isFirst && model[ticket.run] == nil, label)
                // All subscribers share the first one's work.
                #expect(work == open?.value.work ?? step, label)
                #expect(!tickets.contains { $0.number == ticket.number }, label)
                model[ticket.run, default: Run(key: key, work: step, isBackground: false)].subscribers[ticket.number] =
                    step
                tickets.append(ticket)
            case 8..<10:
                // A run under a lower key makes one under a higher key unnecessary.
                let number = machine.startInBackground(key, step) { $0 + 2 == key }
                let willDo = model.values.contains { $0.isOpen && $0.key + 2 == key }
                #expect((number == nil) == (open != nil || willDo), label)
                if let number {
                    #expect(model[number] == nil, label)
                    model[number] = Run(key: key, work: step, isBackground: true)
                }
            case 10..<16 where !tickets.isEmpty:
                let ticket = tickets.remove(at: pick(tickets.count))
                let run = model[ticket.run]
                let isLast =
                    run?.subscribers.count == 1 && run?.subscribers[ticket.number] != nil && run?.isBackground == false
                // A ticket of an ended run has no effect.
                #expect(machine.leave(ticket) == (isLast ? run?.work : nil), label)
                model[ticket.run]?.subscribers[ticket.number] = nil
                if isLast { model[ticket.run]?.isOpen = false }
                #expect(machine.leave(ticket) == nil, label)
            case 16..<18 where !model.isEmpty:
                let number = model.keys.sorted()[pick(model.count)]
                guard let run = model.removeValue(forKey: number) else { continue }
                var subscribers: [Int] = []
                machine.finish(number).forEach { subscribers.append($0.brought) }
                #expect(subscribers.sorted() == run.subscribers.values.sorted(), label)
                #expect(machine.finish(number).isEmpty, label)
            case 18:
                machine.close { $0 == key }
                if let open { model[open.key]?.isOpen = false }
                hasBeenClosed += open == nil ? 0 : 1
            case 19 where pick(20) == 0:
                let unattended = model.filter(\.value.subscribers.isEmpty)
                #expect(machine.closeUnattended().sorted() == unattended.values.map(\.work).sorted(), label)
                for number in unattended.keys { model[number]?.isOpen = false }
            default: break
            }
            #expect(machine.runCount == model.count, label)
            #expect(machine.subscriberCount == model.values.reduce(0) { $0 + $1.subscribers.count }, label)
            #expect(machine.works.sorted() == model.values.map(\.work).sorted(), label)
        }
        #expect(hasBeenClosed > 0)
    }

    /// Ten for each step: a million in release.
    @Test @HeavyWork func manyDistinctKeysLeaveNothingInMemory() {
        var machine = Runs.StateMachine<Void, Runs.Ticket>()
        var tickets: [(key: Int, ticket: Runs.Ticket)] = []
        for key in 0..<Self.steps * 10 {
            if let ticket = machine.join(key, {}, subscriber: { ticket, _ in ticket }) { tickets.append((key, ticket)) }
            guard tickets.count == 1_000 else { continue }
            for (key, ticket) in tickets {
                if key % 2 == 0 { _ = machine.leave(ticket) }
                _ = machine.finish(ticket.run)
            }
            tickets = []
            #expect(machine.runCount == 0)
            #expect(machine.reservedCapacity <= 128)
        }
    }
}
