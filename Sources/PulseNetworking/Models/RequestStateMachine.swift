// SPDX-License-Identifier: MIT

import PulseCore

/// The content of a request, as the machine sees it.
protocol RequestContent: Sendable {
    /// Whether there is more to load.
    var hasMore: Bool { get }
}

/// The state of a request, as models see it.
struct RequestState<Content: RequestContent>: Sendable {
    var content: Content?
    /// The failure of the last run, until one succeeds.
    var failure: PulseError?
    /// The load of the run in progress; nil without one.
    var loading: RequestLoad?

    var isIdle: Bool { content == nil && failure == nil && loading == nil }
}

/// The part of the content that a run loads.
enum RequestLoad: Sendable, Hashable {
    /// The content from the beginning.
    case first
    /// The part after the current content.
    case more
}

/// The state machine of a request that members share: models, and callers that prefetch it. Its owner makes the calls
/// and notifies the members.
///
/// A run in progress never changes the content or the failure, so a cancelled one leaves both as they were. Only
/// members keep a run: an awaited task cannot be distinguished from a discarded one. Times are of ``RequestTime``.
struct RequestStateMachine<Content: RequestContent>: Sendable {
    enum Ask: Sendable, Hashable {
        /// Loads stale content; joins a run.
        case fetch
        /// Loads from the server; replaces a run.
        case refresh
        /// Loads more, or from the beginning again if that has failed; joins a run.
        case more
    }

    struct Run: Sendable, Hashable {
        let number: Int
        let load: RequestLoad
        /// Whether a stored response must be revalidated.
        let asksServer: Bool
    }

    /// The effects of an event, in the order in which they are performed.
    struct Effects: Sendable, Hashable {
        /// The run in progress is cancelled.
        var cancels = false
        /// A new run starts.
        var starts: Run?
        /// The members' state has changed.
        var publishes = false
        /// These tickets receive the state.
        var settles: [Int] = []
    }

    private struct Member {
        let policy: RefetchPolicy
        var isVisible = false
    }

    /// A waiting task.
    private struct Ticket {
        let member: Int
        /// Whether the task waits for the run that follows a run for more.
        var isLate = false
    }

    /// The parts whose changes members see.
    private struct Look: Equatable {
        let version: Int
        let loading: RequestLoad?
    }

    private(set) var state = RequestState<Content>()
    private(set) var run: Run?
    /// The last run, if it was a load from the beginning and failed.
    private var failedFirst: Run?
    private var members: [Int: Member] = [:]
    /// The members that need the run. Without any, the run is cancelled.
    private var wanting: Set<Int> = []
    /// The members that need a load from the beginning afterwards, since the run loads more of stale content.
    private var late: Set<Int> = []
    private var tickets: [Int: Ticket] = [:]
    private var isInvalid = false
    /// Whether more was loaded after the beginning.
    private var isExtended = false
    private var loadedAt: TimeInterval = 0
    private var endedAt: TimeInterval = 0
    private var unusedAt: TimeInterval = 0
    private var retention: TimeInterval = 0
    private var version = 0
    private var lastRun = 0

    /// Whether the request has neither members nor content to keep.
    var isUnused: Bool { members.isEmpty && state.content == nil }
    /// Whether a single member uses the request.
    var hasOneMember: Bool { members.count == 1 }

    /// Whether a visible member has the trigger.
    func awaits(_ trigger: RefetchPolicy.Triggers) -> Bool {
        members.values.contains { $0.isVisible && $0.policy.triggers.contains(trigger) }
    }

    /// When ``wake(at:)`` is due; nil for never.
    var wakeTime: TimeInterval? {
        let time = members.isEmpty ? unusedAt + retention : members.values.compactMap(nextTime).min()
        guard let time, time < .infinity, !isUnused else { return nil }
        return time
    }

    // MARK: Members

    mutating func add(_ member: Int, _ policy: RefetchPolicy, at now: TimeInterval) {
        // The alarm fires late if the device has slept.
        if members.isEmpty, unusedAt + retention <= now {
            forget()
            retention = 0
        }
        members[member] = Member(policy: policy)
        retention = max(retention, policy.retention)
    }

    mutating func remove(_ member: Int, at now: TimeInterval) -> Effects {
        change { machine, effects in
            guard machine.members.removeValue(forKey: member) != nil else { return }
            machine.leave(member, at: now, &effects)
            guard machine.members.isEmpty else { return }
            machine.unusedAt = now
            if machine.retention <= 0 { machine.forget() }
        }
    }

    mutating func ask(_ ask: Ask, by member: Int, ticket: Int, at now: TimeInterval) -> Effects {
        change { machine, effects in
            machine.tickets[ticket] = Ticket(member: member)
            machine.perform(ask, for: member, at: now, &effects)
            if ask == .fetch, machine.late.contains(member) { machine.tickets[ticket]?.isLate = true }
            if machine.run == nil { machine.settle(&effects, ticket) }
        }
    }

    /// The member no longer needs the run.
    mutating func cancel(_ member: Int, at now: TimeInterval) -> Effects {
        change { $0.leave(member, at: now, &$1) }
    }

    /// The ticket's task no longer waits.
    mutating func withdraw(_ ticket: Int) -> Effects {
        change { machine, effects in machine.settle(&effects, ticket) }
    }

    mutating func appear(_ member: Int, at now: TimeInterval) -> Effects {
        change { machine, effects in
            guard machine.members[member]?.isVisible == false else { return }
            machine.members[member]?.isVisible = true
            machine.pull(.appear, at: now, &effects) { $0 == member }
        }
    }

    mutating func disappear(_ member: Int) {
        members[member]?.isVisible = false
    }

    // MARK: Events for all members

    mutating func trigger(_ trigger: RefetchPolicy.Triggers, at now: TimeInterval) -> Effects {
        change { machine, effects in
            guard machine.state.content != nil || machine.state.failure != nil else { return }
            machine.pull(trigger, at: now, &effects) { _ in true }
        }
    }

    mutating func wake(at now: TimeInterval) -> Effects {
        change { machine, effects in
            if machine.members.isEmpty {
                if machine.unusedAt + machine.retention <= now { machine.forget() }
                return
            }
            for (number, member) in machine.members {
                guard let time = machine.nextTime(of: member), time <= now else { continue }
                machine.wanting.insert(number)
            }
            if !machine.wanting.isEmpty, machine.run == nil {
                machine.start(.first, asksServer: machine.isInvalid, &effects)
            }
        }
    }

    /// Marks the content as stale, including that of a run in progress.
    mutating func invalidate() -> Effects {
        change { machine, effects in
            machine.isInvalid = machine.state.content != nil
            if machine.members.isEmpty { return machine.forget() }
            if machine.run == nil, machine.isInvalid {
                machine.wanting = Set(machine.members.filter(\.value.isVisible).keys)
            }
            if !machine.wanting.isEmpty { machine.start(.first, asksServer: true, &effects) }
        }
    }

    mutating func reset() -> Effects {
        change { machine, effects in
            effects.cancels = machine.run != nil
            machine.forget()
            machine.settle(&effects) { _ in true }
        }
    }

    mutating func end(_ number: Int, _ result: Result<Content, PulseError>, at now: TimeInterval) -> Effects {
        change { machine, effects in
            guard let run = machine.run, run.number == number else { return }
            switch result {
            case .success(let content):
                machine.state.content = content
                machine.state.failure = nil
                machine.failedFirst = nil
                machine.version += 1
                if run.load == .first { (machine.loadedAt, machine.isInvalid) = (now, false) }
                machine.isExtended = run.load == .more
            case .failure(let error) where error.kind != .cancelled:
                machine.state.failure = error
                machine.failedFirst = run.load == .first ? run : nil
                machine.version += 1
            case .failure:
                machine.late = []
            }
            let late = machine.late
            machine.stop(at: now)
            machine.settle(&effects) { late.isEmpty || !$0.isLate }
            guard !late.isEmpty else { return }
            machine.wanting = late
            machine.start(.first, asksServer: machine.isInvalid, &effects)
        }
    }

    // MARK: Steps

    private mutating func change(_ body: (inout Self, inout Effects) -> Void) -> Effects {
        let before = look
        var effects = Effects()
        body(&self, &effects)
        effects.publishes = look != before
        return effects
    }

    private var look: Look { Look(version: version, loading: state.loading) }

    private func staleTime(of member: Member) -> TimeInterval {
        state.content == nil || isInvalid ? -.infinity : loadedAt + member.policy.freshness
    }

    /// Whether the content may be replaced automatically: not by a first page once the user has loaded more, unless the
    /// content was invalidated.
    private var mayReplace: Bool { run?.load != .more && (!isExtended || isInvalid) }

    /// When the member's next periodic run is due; nil for never.
    private func nextTime(of member: Member) -> TimeInterval? {
        guard member.isVisible, run == nil, !state.isIdle, mayReplace, let period = member.policy.period else {
            return nil
        }
        return max(endedAt + period, staleTime(of: member))
    }

    private mutating func perform(
        _ ask: Ask, for number: Int, at now: TimeInterval, _ effects: inout Effects
    ) {
        guard let member = members[number] else { return }
        switch ask {
        case .refresh:
            wanting.insert(number)
            start(.first, asksServer: true, &effects)
        case .fetch, .more:
            if run != nil {
                wanting.insert(number)
                if ask == .fetch, run?.load == .more, staleTime(of: member) <= now { late.insert(number) }
            } else if ask == .more, let failed = failedFirst {
                wanting.insert(number)
                start(.first, asksServer: failed.asksServer || isInvalid, &effects)
            } else if ask == .more, let content = state.content {
                guard content.hasMore else { return }
                wanting.insert(number)
                start(.more, asksServer: false, &effects)
            } else if staleTime(of: member) <= now {
                wanting.insert(number)
                start(.first, asksServer: isInvalid, &effects)
            }
        }
    }

    /// Fetches for the visible members with the trigger.
    private mutating func pull(
        _ trigger: RefetchPolicy.Triggers, at now: TimeInterval, _ effects: inout Effects, where isChosen: (Int) -> Bool
    ) {
        guard mayReplace else { return }
        let chosen = members.filter { number, member in
            isChosen(number) && member.isVisible && member.policy.triggers.contains(trigger)
                && staleTime(of: member) <= now
        }
        for number in chosen.keys { perform(.fetch, for: number, at: now, &effects) }
    }

    private mutating func start(_ load: RequestLoad, asksServer: Bool, _ effects: inout Effects) {
        if run != nil { effects.cancels = true }
        lastRun += 1
        let run = Run(number: lastRun, load: load, asksServer: asksServer)
        (self.run, state.loading, effects.starts, late) = (run, load, run, [])
        for ticket in tickets.keys { tickets[ticket]?.isLate = false }
    }

    private mutating func stop(at now: TimeInterval) {
        (run, state.loading, wanting, late, endedAt) = (nil, nil, [], [], now)
    }

    private mutating func leave(_ member: Int, at now: TimeInterval, _ effects: inout Effects) {
        late.remove(member)
        if wanting.remove(member) != nil, wanting.isEmpty {
            effects.cancels = true
            stop(at: now)
        }
        settle(&effects) { $0.member == member }
    }

    private mutating func settle(_ effects: inout Effects, where isChosen: (Ticket) -> Bool) {
        for ticket in tickets.filter({ isChosen($0.value) }).keys.sorted() { settle(&effects, ticket) }
    }

    private mutating func settle(_ effects: inout Effects, _ ticket: Int) {
        if tickets.removeValue(forKey: ticket) != nil { effects.settles.append(ticket) }
    }

    private mutating func forget() {
        if !state.isIdle { version += 1 }
        state = RequestState()
        (run, failedFirst, wanting, late, isInvalid, isExtended) = (nil, nil, [], [], false, false)
    }
}
