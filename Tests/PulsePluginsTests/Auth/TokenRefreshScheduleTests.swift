// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A seeded random schedule of calls, ends, cancellations and late results against a plain model; `PULSE_STEPS` sets
/// its length.
@Suite(.tags(.schedule), .throttled)
struct TokenRefreshScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func agreesWithAPlainModelForRandomSchedules(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        var machine = TokenRefresh.StateMachine<Int>()
        var model = Model()
        var waiters = Set<Int>()
        var (ahead, foreign) = (0, 0)
        for step in 0..<Self.steps {
            func pick(_ count: UInt64) -> Int { Int(random.next() % count) }
            let label = Comment(rawValue: "seed \(seed), step \(step)")
            switch pick(15) {
            case 0...4:
                let token = "t\(max(0, model.current - (pick(5) == 0 ? 1 : 0)))"
                let version = max(0, machine.version - (pick(6) == 0 ? 1 : 0))
                let waiter: (id: Int, value: Int)? = pick(8) == 0 ? nil : (step, step)
                let decision = machine.request(token, seenAt: version, now: model.now, waiter: waiter)
                let expected = model.request(token, version, waiter?.id)
                #expect(Model.Decision(decision) == expected, label)
                if waiter != nil, [.begin, .takeOver, .wait].contains(expected) { waiters.insert(step) }
            case 5...6:
                let providerCall = model.asked - (pick(4) == 0 ? 1 : 0)
                let result = Self.result(pick(7), model.current)
                let current: String? = pick(4) == 0 ? "t\(model.current + 7)" : nil
                let lifetime: TimeInterval? = pick(3) == 0 ? nil : [-1, 0, 10, 90, 120, 3600][pick(6)]
                let finish = machine.finish(providerCall, result, current: current, lifetime: lifetime, now: model.now)
                let expected = model.finish(providerCall, result, current, lifetime)
                #expect(Model.Finish(finish) == expected, label)
                if case .ended(let ending) = finish {
                    waiters.subtract(ending.waiters + ending.others)
                    foreign += ending.others.count
                }
            case 10 where pick(4) == 0:
                let run = model.runs - (pick(4) == 0 ? 1 : 0)
                let ending = machine.expire(run, .noConnection, now: model.now)?.0
                #expect(ending.map { Model.Waiters($0) } == model.expire(run), label)
                waiters.subtract(ending.map { $0.waiters + $0.others } ?? [])
            case 7:
                guard let id = waiters.randomElement(by: random) else { continue }
                #expect(machine.leave(id) == id, label)
                model.leave(id)
                waiters.remove(id)
                #expect(machine.leave(id) == nil, label)
            case 8:
                let (spared, expected) = (machine.abandon(), model.abandon())
                #expect(spared?.run == expected?.run && spared?.providerCall == expected?.providerCall, label)
            case 9 where pick(3) == 0:
                // A user logs in again; a call sees the token.
                model.current += 1
                #expect(
                    machine.hasEnded("t\(model.current)", seenAt: machine.version)
                        == model.hasEnded("t\(model.current)", model.version), label)
            case 13...14:
                // A call checks its token's expiry, and starts a refresh ahead without waiting for it.
                let token = "t\(max(0, model.current - (pick(5) == 0 ? 1 : 0)))"
                let remaining: TimeInterval = [-5, 0, 1, 5, 6, 45, 46, 60, 61, 600][pick(10)]
                let validity = machine.validity(of: token, remaining: remaining)
                #expect(validity == model.validity(token, remaining), label)
                guard validity == .ending else { continue }
                let decision = machine.request(token, seenAt: machine.version, now: model.now, waiter: nil)
                let expected = model.request(token, model.version, nil)
                #expect(Model.Decision(decision) == expected, label)
                if expected == .begin { ahead += 1 }
            default:
                model.now += TimeInterval(pick(40)) / 4
            }
            #expect(machine.isRefreshing == (model.waiting != nil), label)
            #expect(machine.isEnded == (model.ended != nil), label)
            #expect(machine.version == model.version, label)
            #expect(model.waiting ?? [] == waiters.intersection(model.waiting ?? []), label)
        }
        #expect(model.begun > Self.steps / 100)
        #expect(model.takenOver > Self.steps / 1000)
        #expect(ahead > Self.steps / 1000)
        #expect(foreign > Self.steps / 1000)
    }

    private static func result(_ choice: Int, _ current: Int) -> Result<String, PulseError> {
        switch choice {
        case 0...2: .success("t\(current + 1)")
        case 3...4: .failure(.noConnection)
        case 5: .failure(.cancelled)
        default: .failure(.unauthorized())
        }
    }
}

extension Set<Int> {
    fileprivate func randomElement(by random: SeededRandomness) -> Int? {
        isEmpty ? nil : sorted()[Int(random.next() % UInt64(count))]
    }
}

/// The rules as specified, with the whole history kept in lists.
private struct Model {
    enum Decision: Equatable {
        case begin, takeOver, wait, recheck, refuse(PulseError.Kind), loop

        init(_ decision: TokenRefresh.StateMachine<Int>.Decision) {
            switch decision {
            case .begin: self = .begin
            case .takeOver: self = .takeOver
            case .wait: self = .wait
            case .recheck: self = .recheck
            case .refuse(let error): self = .refuse(error.kind)
            case .refuseLoop: self = .loop
            }
        }
    }

    /// The waiters that get the outcome, and those that wanted to replace another token.
    struct Waiters: Equatable {
        var own: Set<Int> = []
        var others: Set<Int> = []

        init(_ ending: TokenRefresh.StateMachine<Int>.Ending) {
            (own, others) = (Set(ending.waiters), Set(ending.others))
        }

        init(_ all: Set<Int>, _ isOwn: (Int) -> Bool) {
            for id in all { if isOwn(id) { own.insert(id) } else { others.insert(id) } }
        }
    }

    enum Finish: Equatable {
        case token(Waiters), failed(Waiters, PulseError.Kind), over(Waiters), superseded(Waiters)
        case again, late(endsSession: Bool), ignored

        init(_ finish: TokenRefresh.StateMachine<Int>.Finish) {
            switch finish {
            case .again: self = .again
            case .late(let endsSession): self = .late(endsSession: endsSession)
            case .ignored: self = .ignored
            case .ended(let ending):
                let waiters = Waiters(ending)
                switch ending.outcome {
                case .token: self = .token(waiters)
                case .recheck: self = .superseded(waiters)
                case .failure(let error), .refused(let error):
                    self = ending.endsSession ? .over(waiters) : .failed(waiters, error.kind)
                }
            }
        }
    }

    var now: TimeInterval = 0
    var current = 1
    var version = 0
    /// The number of the last refresh, and that of the last provider call.
    var runs = 0
    var asked = 0
    var takenOver = 0
    var waiting: Set<Int>?
    /// The provider call of a refresh that was abandoned by a shutdown, or timed out.
    private var straggler: (token: String, byShutdown: Bool)?
    /// Whether the current refresh waits for the provider call of an earlier one.
    private var waitsForStraggler = false
    var ended: String?
    /// The last refreshed token, and its lifetime at that time.
    private var fresh: (token: String, lifetime: TimeInterval?)?
    var begun: Int { starts.count }
    /// The token that the provider was asked to replace, and the token that the current refresh should replace.
    private var (token, wanted) = ("", "")
    /// The token of each waiter, past and present.
    private var brought: [Int: String] = [:]
    private var starts: [TimeInterval] = []
    /// The time of the last failure, and the number of consecutive ones.
    private var failures: [(at: TimeInterval, token: String, kind: PulseError.Kind)] = []

    mutating func hasEnded(_ token: String, _ seen: Int) -> Bool {
        if ended == token { return true }
        if seen == version { ended = nil }
        return false
    }

    mutating func request(_ token: String, _ seen: Int, _ id: Int?) -> Decision {
        if seen != version { return .recheck }
        if hasEnded(token, seen) { return .refuse(.sessionExpired) }
        if let id { brought[id] = token }
        if waiting != nil {
            if let id { waiting?.insert(id) }
            return .wait
        }
        if let last = failures.last, last.token == token {
            let cooldown = [1.0, 2, 4, 8, 16, 30][min(failures.count, 6) - 1]
            if now < last.at + cooldown { return .refuse(last.kind) }
        }
        if let old = straggler {
            (straggler, waitsForStraggler) = (nil, true)
            runs = max(runs, asked) + 1
            takenOver += 1
            (self.token, wanted) = (old.token, token)
            waiting = id.map { [$0] } ?? []
            return .takeOver
        }
        if starts.filter({ $0 > now - 30 }).count >= 5 { return .loop }
        starts.append(now)
        runs = max(runs, asked) + 1
        asked = runs
        waitsForStraggler = false
        self.token = token
        waiting = id.map { [$0] } ?? []
        return .begin
    }

    func validity(_ token: String, _ remaining: TimeInterval) -> TokenRefresh.StateMachine<Int>.Validity {
        var ahead = 60.0
        if let fresh, fresh.token == token, let lifetime = fresh.lifetime {
            // The server decides about a token that was expired from the start.
            if lifetime <= 0 { return .good }
            if lifetime / 2 < ahead { ahead = lifetime / 2 }
        }
        if remaining > ahead { return .good }
        return remaining > 0 ? .ending : .ended
    }

    mutating func leave(_ id: Int) {
        waiting?.remove(id)
    }

    /// A refresh with waiters continues.
    mutating func abandon() -> (run: Int, providerCall: Int)? {
        guard let waiting else { return nil }
        if !waiting.isEmpty { return (runs, asked) }
        self.waiting = nil
        straggler = (token, true)
        return nil
    }

    mutating func expire(_ run: Int) -> Waiters? {
        guard run == runs, let all = waiting else { return nil }
        waiting = nil
        straggler = (token, false)
        let own = waitsForStraggler ? wanted : token
        failures.append((now, own, .noConnection))
        return Waiters(all) { brought[$0] == own }
    }

    mutating func finish(
        _ providerCall: Int, _ result: Result<String, PulseError>, _ shown: String?, _ lifetime: TimeInterval?
    ) -> Finish {
        guard providerCall == asked else { return .ignored }
        guard let all = waiting else { return finishLate(result, shown, lifetime) }
        if waitsForStraggler, case .failure(.cancelled) = result {
            (waitsForStraggler, token) = (false, wanted)
            asked = max(runs, asked) + 1
            starts.append(now)
            return .again
        }
        waiting = nil
        let waiters = Waiters(all) { brought[$0] == token }
        switch result {
        case .success(let token):
            succeed(token, lifetime)
            return .token(waiters)
        case .failure(.unauthorized):
            version += 1
            if let shown, shown != token { return .superseded(waiters) }
            ended = token
            return .over(waiters)
        case .failure(let error):
            failures.append((now, token, error.kind == .cancelled ? .custom : error.kind))
            return .failed(waiters, error.kind == .cancelled ? .custom : error.kind)
        }
    }

    private mutating func finishLate(
        _ result: Result<String, PulseError>, _ shown: String?, _ lifetime: TimeInterval?
    ) -> Finish {
        guard let straggler else { return .ignored }
        self.straggler = nil
        if straggler.byShutdown { return .ignored }
        switch result {
        case .success(let token):
            succeed(token, lifetime)
            return .late(endsSession: false)
        case .failure(.unauthorized):
            version += 1
            if let shown, shown != straggler.token { return .late(endsSession: false) }
            ended = straggler.token
            return .late(endsSession: true)
        case .failure:
            return .ignored
        }
    }

    private mutating func succeed(_ token: String, _ lifetime: TimeInterval?) {
        fresh = (token, lifetime)
        version += 1
        current += 1
        failures = []
    }
}
