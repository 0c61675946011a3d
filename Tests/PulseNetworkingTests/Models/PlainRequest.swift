// SPDX-License-Identifier: MIT

import PulseCore

@testable import PulseModels

/// The content of tests: a number, and whether there is more.
struct TestContent: RequestContent, Equatable {
    var value: Int
    var hasMore = false
}

/// The rules of a shared request, written down one by one: it saves what was shown before a run, and restores it.
struct PlainRequest {
    struct Model {
        let policy: RefetchPolicy
        var isVisible = false
        var wants = false
        var waiting: [Int] = []
        /// Whether it wants the first page after a next one.
        var wantsFirst = false
        /// Those of the waiting tickets that wait for that.
        var late: Set<Int> = []

        mutating func wantOnlyThis() { (wantsFirst, late) = (false, []) }

        mutating func leave() { self = Model(policy: policy, isVisible: isVisible) }
    }

    struct Shown: Equatable {
        var value: TestContent?
        var error: PulseError.Kind?
        var loading: RequestLoad?
    }

    struct Outcome: Equatable {
        var cancels = false
        var starts: (load: RequestLoad, asksServer: Bool)?
        var settled: Set<Int> = []

        static func == (left: Self, right: Self) -> Bool {
            left.cancels == right.cancels && left.settled == right.settled && left.starts?.load == right.starts?.load
                && left.starts?.asksServer == right.starts?.asksServer
        }
    }

    var shown = Shown()
    private var before: Shown?
    private var asksServer = false
    /// Whether the run for all that has failed asked the server; nil if no run for all was the last to fail.
    private var failedFirst: Bool?
    private var isInvalid = false
    private var hasMorePages = false
    private var firstPageTime = 0.0
    private var endTime = 0.0
    private(set) var models: [Int: Model] = [:]
    private var longestRetention = 0.0
    private var lastModelLeft = 0.0
    private(set) var outcome = Outcome()

    var isRunning: Bool { before != nil }
    var isGone: Bool { models.isEmpty && shown.value == nil }

    mutating func take() -> Outcome {
        defer { outcome = Outcome() }
        return outcome
    }

    // MARK: The parts of the rules

    private func isFresh(_ model: Model, _ now: Double) -> Bool {
        guard shown.value != nil, !isInvalid else { return false }
        return now < firstPageTime + model.policy.staleAfter
    }

    private mutating func run(_ load: RequestLoad, asksServer: Bool) {
        if before == nil { before = shown } else { outcome.cancels = true }
        shown = before ?? shown
        shown.loading = load
        outcome.starts = (load, asksServer)
        self.asksServer = asksServer
        for id in models.keys { models[id]?.wantOnlyThis() }
    }

    private mutating func settleAll() {
        for id in models.keys {
            outcome.settled.formUnion(models[id]?.waiting ?? [])
            models[id]?.leave()
        }
    }

    private mutating func forget() {
        (shown, before, failedFirst, isInvalid, hasMorePages) = (Shown(), nil, nil, false, false)
    }

    /// Whether a user may have come to a later page.
    private var isLong: Bool { shown.loading == .more || hasMorePages && !isInvalid }

    private mutating func leave(_ id: Int, _ now: Double) {
        guard let model = models[id] else { return }
        outcome.settled.formUnion(model.waiting)
        models[id]?.leave()
        guard let before, model.wants, !models.values.contains(where: \.wants) else { return }
        (shown, self.before, endTime, outcome.cancels) = (before, nil, now, true)
    }

    private mutating func fetch(_ id: Int, _ now: Double) {
        guard let model = models[id] else { return }
        if isRunning {
            models[id]?.wants = true
            if shown.loading == .more, !isFresh(model, now) { models[id]?.wantsFirst = true }
        } else if !isFresh(model, now) {
            models[id]?.wants = true
            run(.first, asksServer: isInvalid)
        }
    }

    // MARK: The events

    mutating func add(_ id: Int, _ policy: RefetchPolicy, _ now: Double) {
        if models.isEmpty, now >= lastModelLeft + longestRetention {
            forget()
            longestRetention = 0
        }
        models[id] = Model(policy: policy)
        longestRetention = max(longestRetention, policy.retention)
    }

    mutating func remove(_ id: Int, _ now: Double) {
        leave(id, now)
        models[id] = nil
        guard models.isEmpty else { return }
        lastModelLeft = now
        if longestRetention == 0 { forget() }
    }

    mutating func ask(_ ask: RequestStateMachine<TestContent>.Ask, _ id: Int, _ ticket: Int, _ now: Double) {
        switch ask {
        case .fetch: fetch(id, now)
        case .refresh:
            models[id]?.wants = true
            run(.first, asksServer: true)
        case .more:
            if isRunning {
                models[id]?.wants = true
            } else if let failedFirst {
                models[id]?.wants = true
                run(.first, asksServer: failedFirst || isInvalid)
            } else if shown.value == nil {
                fetch(id, now)
            } else if shown.value?.hasMore == true {
                models[id]?.wants = true
                run(.more, asksServer: false)
            }
        }
        guard isRunning else { return outcome.settled = [ticket] }
        models[id]?.waiting.append(ticket)
        if ask == .fetch, models[id]?.wantsFirst == true { models[id]?.late.insert(ticket) }
    }

    mutating func cancel(_ id: Int, _ now: Double) { leave(id, now) }

    mutating func withdraw(_ ticket: Int) {
        for id in models.keys where models[id]?.waiting.contains(ticket) == true {
            models[id]?.waiting.removeAll { $0 == ticket }
            models[id]?.late.remove(ticket)
            outcome.settled = [ticket]
        }
    }

    mutating func appear(_ id: Int, _ now: Double) {
        guard let model = models[id], !model.isVisible else { return }
        models[id]?.isVisible = true
        if model.policy.triggers.contains(.appear), !isFresh(model, now), !isLong { fetch(id, now) }
    }

    mutating func disappear(_ id: Int) { models[id]?.isVisible = false }

    mutating func trigger(_ trigger: RefetchPolicy.Triggers, _ now: Double) {
        guard shown.value != nil || shown.error != nil, !isLong else { return }
        for (id, model) in models where model.isVisible && model.policy.triggers.contains(trigger) {
            if !isFresh(model, now) { fetch(id, now) }
        }
    }

    /// The first time at which something happens by itself.
    func nextTime() -> Double? {
        if models.isEmpty {
            return shown.value != nil && longestRetention < .infinity ? lastModelLeft + longestRetention : nil
        }
        guard !isRunning, !isLong, shown != Shown() else { return nil }
        let times = models.values.filter(\.isVisible).compactMap { model -> Double? in
            guard let every = model.policy.every else { return nil }
            let stale = shown.value == nil || isInvalid ? 0 : firstPageTime + model.policy.staleAfter
            let time = max(endTime + every, stale)
            return time < .infinity ? time : nil
        }
        return times.min()
    }

    mutating func wake(_ now: Double) {
        guard !models.isEmpty else {
            if let time = nextTime(), time <= now { forget() }
            return
        }
        guard !isRunning, !isLong, shown != Shown() else { return }
        for (id, model) in models where model.isVisible {
            guard let every = model.policy.every, endTime + every <= now, !isFresh(model, now) else { continue }
            models[id]?.wants = true
        }
        if models.values.contains(where: \.wants) { run(.first, asksServer: isInvalid) }
    }

    mutating func invalidate() {
        isInvalid = shown.value != nil
        if models.isEmpty {
            forget()
        } else if isRunning {
            run(.first, asksServer: true)
        } else if isInvalid, models.values.contains(where: \.isVisible) {
            for id in models.keys where models[id]?.isVisible == true { models[id]?.wants = true }
            run(.first, asksServer: true)
        }
    }

    mutating func reset() {
        outcome.cancels = isRunning
        forget()
        settleAll()
    }

    mutating func end(_ load: RequestLoad, _ result: Result<TestContent, PulseError>, _ now: Double) {
        guard let old = before else { return }
        before = nil
        shown = old
        endTime = now
        switch result {
        case .success(let content):
            (shown, failedFirst) = (Shown(value: content), nil)
            if load == .first { (firstPageTime, isInvalid) = (now, false) }
            hasMorePages = load == .more
        case .failure(.cancelled): return settleAll()
        case .failure(let error): (shown.error, failedFirst) = (error.kind, load == .first ? asksServer : nil)
        }
        let waiting = models.mapValues(\.late)
        let wanting = models.filter(\.value.wantsFirst).keys
        settleAll()
        guard !wanting.isEmpty else { return }
        for (id, late) in waiting {
            models[id]?.wants = wanting.contains(id)
            models[id]?.waiting = late.sorted()
            outcome.settled.subtract(late)
        }
        run(.first, asksServer: isInvalid)
    }
}
