// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform

/// A request of a ``RequestTable``, without the type of its content.
@MainActor
protocol AnySharedRequest: AnyObject {
    var key: RequestKey { get }
    func invalidate()
    /// Resets the request and its models; the next ``notifyOfReset()`` notifies them.
    func reset()
    func notifyOfReset()
    func trigger(_ trigger: RefetchPolicy.Triggers)
    /// The app enters the foreground, perhaps after the device has slept.
    func enterForeground()
}

/// Makes the calls of a request that members share, and notifies the members.
@MainActor
final class SharedRequest<Content: RequestContent>: AnySharedRequest {
    typealias Machine = RequestStateMachine<Content>
    /// Makes the calls of one run, given the content so far. It runs off the main actor.
    typealias Work = @Sendable (PulseClient, Content?, Machine.Run) async throws -> Content

    /// A change that is not published to the members yet.
    private struct Change {
        let state: RequestState<Content>
        let observers: [Int]
        let waiters: [(RequestState<Content>) -> Void]
        /// The number of resets before it.
        let resets: Int
    }

    /// A model of the request.
    struct Observer {
        /// Receives the state to show as a closure, since a reset may change it until it is shown.
        let changed: (() -> RequestState<Content>) -> Void
        /// Empties the model, which is notified later.
        let forget: () -> Void
    }

    let key: RequestKey
    /// The work of the next run.
    private var work: Work
    private weak var table: RequestTable?
    private(set) weak var client: PulseClient?
    private let clock: any PulseClock
    private var machine = Machine()
    private var observers: [Int: Observer] = [:]
    private var waiters: [Int: (RequestState<Content>) -> Void] = [:]
    private var lastTicket = 0
    private var changes: [Change] = []
    private var resets = 0
    private var isNotifying = false
    private var task: Task<Void, Never>?
    private var alarm: (time: TimeInterval, alarm: DeadlineHeap.Alarm)?

    init(_ key: RequestKey, in table: RequestTable, of client: PulseClient, work: @escaping Work) {
        self.key = key
        self.table = table
        self.client = client
        self.work = work
        clock = client.environment.clock
    }

    deinit {
        task?.cancel()
    }

    var state: RequestState<Content> { machine.state }
    private var now: TimeInterval { table?.now(clock) ?? clock.uptime }

    // MARK: Members

    /// - Parameter observer: nil for a caller that prefetches.
    func add(_ member: Int, _ policy: RefetchPolicy, _ work: @escaping Work, observer: Observer? = nil) {
        observers[member] = observer
        machine.add(member, policy, at: now)
        renew(work)
    }

    /// Replaces the work of the next run, if the request has one member. Otherwise equal endpoints make equal calls.
    func renew(_ work: @escaping Work) {
        if machine.hasOneMember { self.work = work }
    }

    func remove(_ member: Int) {
        observers[member] = nil
        perform(machine.remove(member, at: now))
    }

    /// - Parameter settled: receives the state once the run has ended or its member has left.
    /// - Returns: the ticket.
    func ask(_ ask: Machine.Ask, by member: Int, settled: @escaping (RequestState<Content>) -> Void) -> Int {
        lastTicket += 1
        let ticket = lastTicket
        waiters[ticket] = settled
        perform(
            machine.ask(ask, by: member, ticket: ticket, at: now),
            priority: observers[member] == nil ? .utility : .userInitiated)
        return ticket
    }

    func cancel(_ member: Int) { perform(machine.cancel(member, at: now)) }

    func withdraw(_ ticket: Int) { perform(machine.withdraw(ticket)) }

    func appear(_ member: Int) { perform(machine.appear(member, at: now)) }

    func disappear(_ member: Int) {
        machine.disappear(member)
        perform(Machine.Effects())
    }

    // MARK: Events

    func invalidate() { perform(machine.invalidate()) }

    func trigger(_ trigger: RefetchPolicy.Triggers) { perform(machine.trigger(trigger, at: now)) }

    func enterForeground() {
        // Values age while the device sleeps, but alarms stop. The event sets the alarm again.
        removeAlarm()
        trigger(.foreground)
    }

    func reset() {
        resets += 1
        var effects = machine.reset()
        effects.publishes = true
        for observer in observers.values { observer.forget() }
        apply(effects)
    }

    func notifyOfReset() { notify(isUrgent: true) }

    private func end(_ run: Int, _ result: Result<Content, PulseError>) {
        if machine.run?.number == run { task = nil }
        perform(machine.end(run, result, at: now))
    }

    // MARK: Effects

    private func perform(_ effects: Machine.Effects, priority: TaskPriority = .userInitiated) {
        apply(effects, priority: priority)
        notify()
    }

    /// Performs the effects; the next ``notify(isUrgent:)`` notifies the members.
    private func apply(_ effects: Machine.Effects, priority: TaskPriority = .userInitiated) {
        if effects.cancels {
            task?.cancel()
            task = nil
        }
        if let run = effects.starts { start(run, priority) }
        setAlarm()
        table?.update(self, isUnused: machine.isUnused, awaitsReconnect: machine.awaits(.reconnect))
        let settled = effects.settles.compactMap { waiters.removeValue(forKey: $0) }
        guard effects.publishes || !settled.isEmpty else { return }
        let observers = effects.publishes ? observers.keys.sorted() : []
        changes.append(Change(state: machine.state, observers: observers, waiters: settled, resets: resets))
    }

    /// Publishes the changes in order: a notified member may cause the next one.
    ///
    /// - Parameter isUrgent: whether to publish even while another change is being published.
    private func notify(isUrgent: Bool = false) {
        guard !isNotifying || isUrgent else { return }
        let isNested = isNotifying
        isNotifying = true
        while !changes.isEmpty {
            let change = changes.removeFirst()
            // A reset notifies all members; a change from before it notifies none.
            for number in change.observers where change.resets == resets {
                observers[number]?.changed { state(told: change) }
            }
            for waiter in change.waiters { waiter(state(told: change)) }
        }
        isNotifying = isNested
    }

    /// The state that a change publishes: nothing from before a reset.
    private func state(told change: Change) -> RequestState<Content> {
        change.resets == resets ? change.state : machine.state
    }

    private func start(_ run: Machine.Run, _ priority: TaskPriority) {
        guard let client else { return }
        task = Self.task(priority) { [work, content = machine.state.content] in
            try await work(client, content, run)
        } end: { [weak self] result in
            self?.end(run.number, result)
        }
    }

    /// Not isolated: the body is encoded and the response decoded off the main actor. The task keeps the caller's task
    /// locals, such as the trace.
    private nonisolated static func task(
        _ priority: TaskPriority, _ body: @escaping @Sendable () async throws -> Content,
        end: @escaping @MainActor @Sendable (Result<Content, PulseError>) -> Void
    ) -> Task<Void, Never> {
        Task(priority: priority) {
            let result: Result<Content, PulseError>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(PulseError(wrapping: error))
            }
            await end(result)
        }
    }

    private func setAlarm() {
        guard let client else { return }
        let time = client.calls.isClosing ? nil : machine.wakeTime
        guard time != alarm?.time else { return }
        removeAlarm()
        alarm = time.map { time in
            let alarm = client.deadlines.add(clock.uptime + (time - now)) { [weak self] in
                // Detached: the sleeper has the task locals of an arbitrary call.
                Task.detached { @MainActor in self?.wake(at: time) }
            }
            return (time, alarm)
        }
    }

    private func removeAlarm() {
        if let alarm = alarm.take() { client?.deadlines.remove(alarm.alarm) }
    }

    private func wake(at time: TimeInterval) {
        guard alarm?.time == time else { return }
        alarm = nil
        // The alarm is due, even if the clock is off by a rounding error.
        perform(machine.wake(at: max(time, now)), priority: .utility)
    }
}
