// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct RequestStateMachineScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    @Test func theMachineAgreesWithAPlainModelOverARandomSchedule() {
        var (seed, done) = (UInt64(0), 0)
        while done < Self.steps {
            var schedule = RequestSchedule(seed: seed)
            for step in 0..<min(500, Self.steps - done) {
                let event = schedule.step()
                if let fault = schedule.fault() {
                    Issue.record("seed \(seed), step \(step), \(event): \(fault)")
                    return
                }
            }
            (seed, done) = (seed + 1, done + 500)
        }
    }
}

private struct RequestSchedule {
    private typealias Machine = RequestStateMachine<TestContent>

    private let random: SeededRandomness
    private var machine = Machine()
    private var plain = PlainRequest()
    private var effects = Machine.Effects()
    private var before = PlainRequest.Shown()
    private var now = 0.0
    private var last = 0
    private var oldRuns: [Machine.Run] = []
    private var waiting: [Int] = []
    /// Whether the last event is one in which content may be replaced by equal content.
    private var isReplaced = false

    init(seed: UInt64) { random = SeededRandomness(seed: seed) }

    private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    private func pick(_ numbers: [Double]) -> Double { numbers[below(numbers.count)] }

    private mutating func newNumber() -> Int {
        last += 1
        return last
    }

    /// Performs a random event; returns its name.
    mutating func step() -> String {
        now += pick([0, 0, 0, 0.25, 1, 4])
        (effects, isReplaced) = (Machine.Effects(), false)
        _ = plain.take()
        if machine.isUnused, plain.isGone { (machine, plain, oldRuns) = (Machine(), PlainRequest(), []) }
        before = plain.shown
        let members = plain.models.keys.sorted()
        guard !members.isEmpty, below(12) > 0 else { return addOrPass(members.count) }
        let member = members[below(members.count)]
        switch below(18) {
        case 0: return remove(member)
        case 1...5: return ask(member)
        case 6:
            effects = machine.cancel(member, at: now)
            plain.cancel(member, now)
            return "cancel \(member)"
        case 7: return changeVisibility(of: member)
        case 8: return rare()
        case 9: return wake()
        case 10, 11: return trigger()
        default: return end()
        }
    }

    private mutating func addOrPass(_ count: Int) -> String {
        guard count < 4, plain.models.isEmpty == false || below(2) == 0 else { return below(2) == 0 ? wake() : rare() }
        let policy = RefetchPolicy(
            staleAfter: pick([0, 0, 2, 8, .infinity]), on: RefetchPolicy.Triggers(rawValue: below(8)),
            every: below(2) == 0 ? nil : pick([1, 3, .infinity]), retention: pick([0, 0, 0, 5, .infinity]))
        let member = newNumber()
        machine.add(member, policy, at: now)
        plain.add(member, policy, now)
        // It drops an expired value before there is a member to tell.
        before = plain.shown
        return "add \(member)"
    }

    private mutating func remove(_ member: Int) -> String {
        effects = machine.remove(member, at: now)
        plain.remove(member, now)
        return "remove \(member)"
    }

    private mutating func ask(_ member: Int) -> String {
        let ask = [Machine.Ask.fetch, .fetch, .refresh, .more, .more][below(5)]
        let ticket = newNumber()
        waiting.append(ticket)
        if let run = machine.run { oldRuns.append(run) }
        effects = machine.ask(ask, by: member, ticket: ticket, at: now)
        plain.ask(ask, member, ticket, now)
        return "\(ask) \(member)"
    }

    private mutating func changeVisibility(of member: Int) -> String {
        if below(2) == 0 {
            machine.disappear(member)
            plain.disappear(member)
            return "disappear \(member)"
        }
        effects = machine.appear(member, at: now)
        plain.appear(member, now)
        return "appear \(member)"
    }

    private mutating func rare() -> String {
        if let run = machine.run { oldRuns.append(run) }
        switch below(8) {
        case 0...2:
            return trigger()
        case 3, 4:
            effects = machine.invalidate()
            plain.invalidate()
            return "invalidate"
        case 5:
            effects = machine.reset()
            plain.reset()
            return "reset"
        default:
            guard let ticket = waiting.isEmpty ? nil : waiting[below(waiting.count)] else { return "pass" }
            effects = machine.withdraw(ticket)
            plain.withdraw(ticket)
            return "withdraw"
        }
    }

    private mutating func trigger() -> String {
        let trigger = below(2) == 0 ? RefetchPolicy.Triggers.reconnect : .foreground
        effects = machine.trigger(trigger, at: now)
        plain.trigger(trigger, now)
        return "trigger"
    }

    private mutating func wake() -> String {
        // Also too early, and late.
        if let time = plain.nextTime(), below(3) > 0 { now = max(now, time + pick([-0.5, 0, 0, 1])) }
        effects = machine.wake(at: now)
        plain.wake(now)
        return "wake"
    }

    private mutating func end() -> String {
        let result: Result<TestContent, PulseError> =
            switch below(6) {
            case 0: .failure(.cancelled)
            case 1, 2: .failure([.noConnection, .emptyBody][below(2)])
            default: .success(TestContent(value: newNumber(), hasMore: below(2) == 0))
            }
        if below(4) == 0, let old = oldRuns.last, old != machine.run {
            effects = machine.end(old.number, result, at: now)
            return "end of an old run"
        }
        guard let run = machine.run else { return "pass" }
        oldRuns.append(run)
        effects = machine.end(run.number, result, at: now)
        plain.end(run.load, result, now)
        if case .failure(let error) = result, error.kind != .cancelled { isReplaced = true }
        return "end \(result)"
    }

    /// What the machine and the model do not agree upon.
    mutating func fault() -> String? {
        let outcome = plain.take()
        waiting.removeAll { outcome.settled.contains($0) }
        let shown = PlainRequest.Shown(
            value: machine.state.content, error: machine.state.failure?.kind, loading: machine.state.loading)
        if shown != plain.shown { return "\(shown), not \(plain.shown)" }
        let starts = effects.starts.map { ($0.load, $0.asksServer) }
        let told = PlainRequest.Outcome(cancels: effects.cancels, starts: starts, settled: Set(effects.settles))
        if told != outcome { return "\(told), not \(outcome)" }
        if effects.publishes != (shown != before || isReplaced) { return "publishes \(effects.publishes)" }
        if (machine.run != nil) != plain.isRunning { return "a run \(machine.run != nil)" }
        if let run = effects.starts, run != machine.run { return "another run" }
        if machine.isUnused != plain.isGone { return "unused \(machine.isUnused)" }
        if machine.wakeTime != plain.nextTime() {
            return "wakes at \(String(describing: machine.wakeTime)), not \(String(describing: plain.nextTime()))"
        }
        return nil
    }
}
