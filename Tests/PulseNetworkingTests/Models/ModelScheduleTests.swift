// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseModels

/// A seeded random schedule of models that come, go and follow, against a plain model. `PULSE_STEPS` sets its length.
@MainActor
@Suite(.tags(.schedule, .threads), .throttled)
struct ModelScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 4_000

    @Test func modelsAgreeWithAPlainModelOverARandomSchedule() async {
        var (seed, done) = (UInt64(0), 0)
        while done < Self.steps {
            let schedule = ModelSchedule(seed: seed)
            for step in 0..<min(500, Self.steps - done) {
                let event = await schedule.step()
                if let fault = await schedule.fault() {
                    Issue.record("seed \(seed), step \(step), \(event): \(fault)")
                    return
                }
            }
            if let fault = await schedule.finish() {
                Issue.record("seed \(seed), at the end: \(fault)")
                return
            }
            (seed, done) = (seed + 1, done + 500)
        }
    }
}

/// Runs that wait until the schedule responds.
private final class HeldRuns: Sendable {
    struct ID: Hashable {
        let request: Int
        let generation: Int
        let number: Int
    }

    struct Start: Hashable {
        let id: ID
        let load: RequestLoad
        let asksServer: Bool
    }

    typealias Reply = Promise<Result<TestContent, PulseError>>

    private let replies = Locked<[ID: Reply]>([:])
    private let log = Locked<(started: Set<Start>, ended: Int)>(([], 0))

    var started: Set<Start> { log.withLock { $0.started } }
    var ended: Int { log.withLock { $0.ended } }

    func reply(_ id: ID) -> Reply {
        replies.withLock { replies in
            let reply = replies[id] ?? Reply()
            replies[id] = reply
            return reply
        }
    }

    func work(_ request: Int, _ generation: Int) -> SharedRequest<TestContent>.Work {
        { _, _, run in
            let id = ID(request: request, generation: generation, number: run.number)
            self.log.withLock { log in
                _ = log.started.insert(Start(id: id, load: run.load, asksServer: run.asksServer))
            }
            // A cancelled run may end late, with a value.
            let reply = self.reply(id)
            let result = await reply.value { if id.number.isMultiple(of: 2) { reply.fulfill(.failure(.cancelled)) } }
            self.log.withLock { $0.ended += 1 }
            return try result.get()
        }
    }
}

@MainActor
private final class ModelSchedule {
    private typealias Shown = PlainRequest.Shown
    private typealias Core = ModelCore<TestContent, RequestState<TestContent>>

    /// A shared request, as the rules have it.
    private struct Entry {
        var plain = PlainRequest()
        let generation: Int
        var lastRun = 0
        var load = RequestLoad.first
        var id: HeldRuns.ID?
    }

    private struct Model {
        let core: Core
        let policy: RefetchPolicy
        let phases: AsyncStream<RequestState<TestContent>>
        var request: Int
        var isVisible = false
        var kept: TestContent?
        var shown: [Shown] = []
    }

    private let random: SeededRandomness
    /// The clock of each client. Both show the same time, and each has at most one sleeper.
    private let clocks = [SteppedClock(), SteppedClock()]
    /// The requests 0 to 2 are the first's, and 3 to 5 the same ones of the second.
    private let clients: [PulseClient]
    private let held = HeldRuns()
    private var entries: [Int: Entry] = [:]
    private var models: [Int: Model] = [:]
    private var tasks: [Int: (task: Task<RequestState<TestContent>, Never>, model: Int)] = [:]
    private var expected: [(task: Task<RequestState<TestContent>, Never>, shown: Shown)] = []
    private var starts: Set<HeldRuns.Start> = []
    /// The members that prefetch, and those that have not returned yet.
    private var prefetches: [Int: (task: Task<Void, Never>, request: Int)] = [:]
    private var unreturned: Set<Int> = []
    private var oldRuns: [HeldRuns.ID] = []
    private var last = 0

    private var now: Double { clocks[0].uptime }

    init(seed: UInt64) {
        random = SeededRandomness(seed: seed)
        clients = clocks.map { clock in
            ClientStage.client(
                .test().with(\.connectivity, value: .manual()), clock: clock, over: MockTransport(stubs: []))
        }
    }

    private func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    private func newNumber() -> Int {
        last += 1
        return last
    }

    // MARK: The plain model

    private func shown(of model: Model) -> Shown {
        var shown = entries[model.request]?.plain.shown ?? Shown()
        shown.value = shown.value ?? model.kept
        return shown
    }

    /// Notes what an event has done to an entry.
    private func note(_ request: Int) {
        guard var entry = entries[request] else { return }
        let outcome = entry.plain.take()
        if outcome.cancels, let id = entry.id { oldRuns.append(id) }
        if let start = outcome.starts {
            entry.lastRun += 1
            let id = HeldRuns.ID(request: request, generation: entry.generation, number: entry.lastRun)
            (entry.id, entry.load) = (id, start.load)
            starts.insert(HeldRuns.Start(id: id, load: start.load, asksServer: start.asksServer))
        }
        entries[request] = entry.plain.isGone ? nil : entry
        for (number, model) in models {
            if entry.plain.shown.value != nil, model.request == request { models[number]?.kept = nil }
            let shown = shown(of: models[number] ?? model)
            if models[number]?.shown.last != shown { models[number]?.shown.append(shown) }
        }
        for ticket in outcome.settled {
            if prefetches.removeValue(forKey: ticket) != nil { change(request) { $0.remove(ticket, now) } }
            guard let (task, number) = tasks.removeValue(forKey: ticket) else { continue }
            let own = models[number].flatMap { $0.request == request ? shown(of: $0) : nil }
            var last = own ?? entry.plain.shown
            last.loading = nil
            expected.append((task, last))
        }
    }

    private func change(_ request: Int, _ body: (inout PlainRequest) -> Void) {
        guard var entry = entries[request] else { return }
        body(&entry.plain)
        entries[request] = entry
        note(request)
    }

    private func enter(_ request: Int) -> SharedRequest<TestContent>.Work {
        if entries[request] == nil { entries[request] = Entry(generation: newNumber()) }
        return held.work(request, entries[request]?.generation ?? 0)
    }

    // MARK: The events

    func step() async -> String {
        let numbers = models.keys.sorted()
        guard !numbers.isEmpty, below(14) > 0 else { return numbers.count < 5 ? add() : await drop(numbers[0]) }
        let number = numbers[below(numbers.count)]
        if below(20) == 0 { return await drop(number) }
        guard let model = models[number] else { return "pass" }
        switch below(20) {
        case 0...1: return follow(number, model)
        case 2: return below(2) == 0 ? use(number, model) : follow(number, model)
        case 3...6: return ask(number, model)
        case 7:
            model.core.cancel()
            change(model.request) { $0.cancel(number, now) }
            return "cancel \(number)"
        case 8...9: return changeVisibility(number, model)
        case 10: return below(2) == 0 ? all(below(2)) : await prefetch(below(6))
        case 11: return withdraw()
        case 12...13: return await pass()
        default: return respond(to: model)
        }
    }

    private func add() -> String {
        let policy = RefetchPolicy(
            staleAfter: [0, 2, .infinity][below(3)], on: RefetchPolicy.Triggers(rawValue: below(8)),
            every: [nil, 1, 3][below(3)], retention: [0, 0, 5, .infinity][below(4)])
        let request = below(6)
        let core = Core(target(request), clients[request / 3], policy, show: { $0 })
        let number = newNumber()
        models[number] = Model(core: core, policy: policy, phases: core.updates(), request: request)
        change(request) { $0.add(number, policy, now) }
        return "add \(number) to \(request)"
    }

    private func drop(_ number: Int) async -> String {
        guard let request = models.removeValue(forKey: number)?.request else { return "pass" }
        await turns()
        change(request) { $0.remove(number, now) }
        return "drop \(number)"
    }

    private func follow(_ number: Int, _ model: Model) -> String {
        let old = model.request
        let (request, keeps) = (old / 3 * 3 + below(3), below(2) == 0)
        let name = "\(number) follows \(request)\(keeps ? ", keeping" : "")"
        model.core.follow(target(request), keepingContent: keeps)
        if request != old { move(number, to: request, keeping: keeps ? shown(of: model).value : nil) }
        return name
    }

    private func use(_ number: Int, _ model: Model) -> String {
        let request = (model.request + 3) % 6
        // The work that the model takes along.
        model.core.follow(target(request), keepingContent: false)
        model.core.use(clients[request / 3])
        move(number, to: request, keeping: nil)
        return "\(number) uses another client"
    }

    private func move(_ number: Int, to request: Int, keeping kept: TestContent?) {
        guard let model = models[number] else { return }
        models[number]?.kept = kept
        models[number]?.request = request
        change(request) { $0.add(number, model.policy, now) }
        change(model.request) { $0.remove(number, now) }
        if model.isVisible { change(request) { $0.appear(number, now) } }
    }

    private func target(_ request: Int) -> Core.Target {
        Core.Target(GetNumber(id: request % 3), isPaged: false, work: enter(request))
    }

    private func prefetch(_ request: Int) async -> String {
        let retention = [0.0, 5, .infinity][below(3)]
        let (number, work) = (newNumber(), enter(request))
        let store = clients[request / 3].requestStore
        let task = Task {
            await store.prefetch(RequestKey(GetNumber(id: request % 3), owner: 0), retention, work)
            unreturned.remove(number)
        }
        prefetches[number] = (task, request)
        unreturned.insert(number)
        await turns()
        change(request) { $0.add(number, RefetchPolicy(staleAfter: .infinity, retention: retention), now) }
        // Its number is its ticket, too.
        change(request) { $0.ask(.fetch, number, number, now) }
        return "prefetch \(request)"
    }

    private func ask(_ number: Int, _ model: Model) -> String {
        let ask = [Core.Ask.fetch, .fetch, .refresh, .more][below(4)]
        let ticket = newNumber()
        tasks[ticket] = (model.core.ask(ask), number)
        change(model.request) { $0.ask(ask, number, ticket, now) }
        return "\(ask) \(number)"
    }

    private func changeVisibility(_ number: Int, _ model: Model) -> String {
        models[number]?.isVisible.toggle()
        if model.isVisible {
            model.core.disappear()
            change(model.request) { $0.disappear(number) }
        } else {
            model.core.appear()
            change(model.request) { $0.appear(number, now) }
        }
        return "visibility of \(number)"
    }

    private func all(_ index: Int) -> String {
        let client = clients[index]
        let requests = entries.keys.filter { $0 / 3 == index }
        switch below(4) {
        case 0:
            client.requestStore.removeAll()
            for (number, model) in models where model.request / 3 == index {
                models[number]?.shown = shown(of: model) == Shown() ? [Shown()] : []
                models[number]?.kept = nil
            }
            for request in requests { entries[request]?.plain.reset() }
            for request in requests { note(request) }
            return "remove all"
        case 1:
            client.requestStore.invalidate(GetNumber.self)
            for request in requests { change(request) { $0.invalidate() } }
            return "invalidate"
        default:
            client.requestTable.enterForeground()
            for request in requests { change(request) { $0.trigger(.foreground, now) } }
            return "foreground"
        }
    }

    private func withdraw() -> String {
        guard let ticket = (Array(tasks.keys) + prefetches.keys).min() else { return "pass" }
        tasks[ticket]?.task.cancel()
        prefetches[ticket]?.task.cancel()
        for request in entries.keys { change(request) { $0.withdraw(ticket) } }
        return "withdraw"
    }

    private func pass() async -> String {
        let due = clients.indices.map { client in
            entries.filter { $0.key / 3 == client }.values.compactMap { $0.plain.nextTime() }.min()
        }
        let seconds = min((due.compactMap(\.self).min() ?? .infinity) - now, [0.25, 1, 4][below(3)])
        for (clock, due) in zip(clocks, due) { await clock.advance(by: seconds, onceSomebodySleepsUntil: due) }
        return "time \(now)"
    }

    private func respond(to model: Model) -> String {
        if below(4) == 0, let old = oldRuns.last { held.reply(old).fulfill(.success(TestContent(value: -1))) }
        guard let entry = entries[model.request], entry.plain.isRunning, let id = entry.id else { return "pass" }
        let result: Result<TestContent, PulseError> =
            switch below(6) {
            case 0: .failure(.cancelled)
            case 1: .failure([.noConnection, .emptyBody][below(2)])
            default: .success(TestContent(value: newNumber(), hasMore: below(2) == 0))
            }
        held.reply(id).fulfill(result)
        change(model.request) { $0.end(entry.load, result, now) }
        return "respond to \(model.request): \(result)"
    }

    // MARK: The comparison

    private static func shown(_ state: RequestState<TestContent>) -> Shown {
        Shown(value: state.content, error: state.failure?.kind, loading: state.loading)
    }

    private func mismatch() -> String? {
        for (number, model) in models where Self.shown(model.core.state) != shown(of: model) {
            return "\(number) shows \(Self.shown(model.core.state)), not \(shown(of: model))"
        }
        if unreturned != Set(prefetches.keys) { return "\(unreturned) prefetch, not \(prefetches.keys)" }
        let count = clients.map(\.requestTable.count).reduce(0, +)
        return count == entries.count ? nil : "\(count) requests, not \(entries.count)"
    }

    /// What differs, once all that is under way has arrived.
    func fault() async -> String? {
        for (request, entry) in entries where (entry.plain.nextTime() ?? .infinity) <= now {
            change(request) { $0.wake(now) }
        }
        let deadline = SystemClock().uptime + 60
        while mismatch() != nil, SystemClock().uptime < deadline { await Task.yield() }
        if let fault = mismatch() { return fault }
        for (task, shown) in expected {
            let told = Self.shown(await task.value)
            if told != shown { return "a task ended with \(told), not \(shown)" }
        }
        expected = []
        return nil
    }

    /// What the models have told, and what is left of them.
    func finish() async -> String? {
        let streams = models.values.map { ($0.phases, $0.shown) }
        models = [:]
        for (phases, shown) in streams {
            var told: [Shown] = []
            // The stream ends with its model.
            for await state in phases where told.last != Self.shown(state) { told.append(Self.shown(state)) }
            if told != shown { return "told \(told), not \(shown)" }
        }
        for client in clients { client.requestStore.removeAll() }
        for start in starts { held.reply(start.id).fulfill(.success(TestContent(value: -1))) }
        await eventually { clients.allSatisfy { $0.requestTable.count == 0 } && held.ended == starts.count }
        return held.started == starts ? nil : "other runs"
    }
}
