// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Seeded random schedules of calls, late responses, cancellations, clock jumps and resets against a plain model;
/// `PULSE_STEPS` sets their length.
@Suite(.tags(.schedule), .throttled)
struct CircuitBreakerScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    /// The rules as specified, with lists of the events in each state.
    private final class Model {
        enum State { case closed, open, halfOpen, isolated }

        struct Ticket { let round: Int, number: Int }

        let policy: CircuitBreakerPlugin.Policy
        var state = State.closed
        /// One for each state entered, and for each reset.
        var round = 0
        var openUntil = 0.0
        var openedInARow = 0
        var outcomes: [(time: Double, isGood: Bool, isSlow: Bool)] = []
        var probes: [(number: Int, start: Double, verdict: Bool?)] = []
        var count = 0
        /// The change caused by the last call or result.
        var change: CircuitBreaker.Change?

        init(_ policy: CircuitBreakerPlugin.Policy) {
            self.policy = policy
        }

        var isRate: Bool { if case .rate = policy.trip { true } else { false } }

        func enter(_ state: State) {
            self.state = state
            round += 1
            outcomes = []
            probes = []
        }

        func isolate() {
            change = state == .closed || state == .halfOpen ? .opened : nil
            enter(.isolated)
        }

        func ask(at now: Double) -> Ticket? {
            count += 1
            change = nil
            if state == .open, now >= openUntil {
                enter(.halfOpen)
                change = .halfOpened
            }
            if state == .closed { return Ticket(round: round, number: count) }
            guard state == .halfOpen else { return nil }
            let most = isRate ? 3 : 1
            if probes.count >= most {
                probes.removeAll { $0.verdict == nil && now >= $0.start + policy.cooldownDuration }
            }
            guard probes.count < most else { return nil }
            probes.append((count, now, nil))
            return Ticket(round: round, number: count)
        }

        func tell(_ ticket: Ticket, _ verdict: CircuitBreaker.Verdict, at now: Double) {
            change = nil
            guard ticket.round == round else { return }
            let isGood: Bool
            let isSlow: Bool
            var asked = 0.0
            switch verdict {
            case .ignored:
                probes.removeAll { $0.number == ticket.number }
                return
            case .success(let slow): (isGood, isSlow) = (true, slow)
            case .failure(let retryAfter): (isGood, isSlow, asked) = (false, false, retryAfter ?? 0)
            }
            switch state {
            case .closed:
                // No policy considers more than the latest twenty.
                outcomes = outcomes.suffix(19) + [(now, isGood, isSlow)]
                if isTripped(now) { open(now, asked) }
            case .halfOpen:
                guard let probe = probes.firstIndex(where: { $0.number == ticket.number }) else { return }
                probes[probe].verdict = isGood && !isSlow
                if probes.count(where: { $0.verdict == true }) == (isRate ? 2 : 1) {
                    openedInARow = 0
                    enter(.closed)
                    change = .closed
                } else if probes.count(where: { $0.verdict == false }) == (isRate ? 2 : 1) {
                    open(now, asked)
                }
            case .open, .isolated: break
            }
        }

        private func isTripped(_ now: Double) -> Bool {
            switch policy.trip {
            case .consecutiveFailures(let count):
                return outcomes.count >= count && outcomes.suffix(count).allSatisfy { !$0.isGood }
            case .rate(let window):
                let latest = outcomes.filter { now - $0.time < window.duration }.suffix(window.calls)
                guard latest.count >= window.minimumCalls else { return false }
                let total = Double(latest.count)
                return Double(latest.count { !$0.isGood }) / total >= window.failureRate
                    || window.slowCallDuration != nil
                        && Double(latest.count { $0.isSlow }) / total >= window.slowCallRate
            }
        }

        private func open(_ now: Double, _ asked: Double) {
            openedInARow += 1
            var wait = policy.cooldownDuration
            if policy.backsOff {
                for _ in 1..<max(2, openedInARow) where openedInARow > 1 { wait = min(300, wait * 2) }
            }
            enter(.open)
            change = .opened
            openUntil = now + max(wait, min(asked, 3600))
        }
    }

    private static let policies: [CircuitBreakerPlugin.Policy] = [
        .init(trip: .consecutiveFailures(3), cooldownDuration: 30),
        .init(trip: .consecutiveFailures(2), cooldownDuration: 7, backsOff: true),
        .init(trip: .rate(.init())),
        .init(
            trip: .rate(.init(calls: 8, duration: 5, minimumCalls: 4, slowCallDuration: 1)), cooldownDuration: 9,
            backsOff: true),
    ]

    @Test(arguments: policies.indices, [1, 2] as [UInt64])
    @HeavyWork func agreesWithAPlainModelForRandomSchedules(policy index: Int, seed: UInt64) async {
        let policy = Self.policies[index]
        let random = SeededRandomness(seed: seed)
        func chance(_ outOf: UInt64) -> Bool { random.next() % outOf == 0 }
        var breaker = CircuitBreaker(policy, epoch: 1)
        let model = Model(policy)
        var pending: [(permit: CircuitBreaker.Permit, ticket: Model.Ticket)] = []
        var now = 100.0
        var isIll = false
        var visits: [String: Int] = [:]
        for step in 0..<Self.steps {
            // Other tests share the few threads.
            if step % 100 == 0 { await Task.yield() }
            func place() -> Comment { "policy \(index), seed \(seed), step \(step)" }
            switch random.next() % 20 {
            case 0..<9:
                let (admission, change) = breaker.admit(at: now)
                let ticket = model.ask(at: now)
                #expect(change == model.change, place())
                switch (admission, ticket) {
                case (.admitted(let permit), let ticket?): pending.append((permit, ticket))
                case (.refused(let wait), nil):
                    #expect(wait >= 0, place())
                    if model.state == .open { #expect(abs(wait - (model.openUntil - now)) < 1e-6, place()) }
                default: Issue.record("\(admission), the model \(String(describing: ticket)); \(place())")
                }
            case 9..<17 where !pending.isEmpty:
                // In any order: many responses come late, some in a later state.
                let (permit, ticket) = pending.remove(at: Int(random.next() % UInt64(pending.count)))
                let verdict: CircuitBreaker.Verdict =
                    if chance(6) { .ignored } else if chance(isIll ? 8 : 2) { .success(isSlow: chance(5)) } else {
                        isIll || chance(4) ? .failure(retryAfter: chance(5) ? 45 : nil) : .success(isSlow: false)
                    }
                let change = breaker.settle(permit, verdict, at: now)
                model.tell(ticket, verdict, at: now)
                #expect(change == model.change, place())
            case 17:
                now += Double(random.next() % 100) / 20
            case 18:
                if chance(4) { now += Double(random.next() % 400) }
                if chance(3) { isIll.toggle() }
            default:
                if chance(40) {
                    let change = breaker.isolate()
                    model.isolate()
                    #expect(change == model.change, place())
                } else if model.state == .isolated {
                    breaker = CircuitBreaker(policy, epoch: breaker.epoch + 1)
                    model.openedInARow = 0
                    model.enter(.closed)
                }
            }
            let state = name(breaker.state)
            visits[state, default: 0] += 1
            #expect(state == "\(model.state)", place())
            guard state == "\(model.state)" else { return }
        }
        #expect(Set(visits.keys) == ["closed", "open", "halfOpen", "isolated"], "\(visits)")
    }

    private func name(_ state: CircuitBreaker.State) -> String {
        switch state {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "halfOpen"
        case .isolated: "isolated"
        }
    }
}
