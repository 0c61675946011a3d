// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore

/// The common core of the models: a member of a shared request, which may switch its request and client.
@MainActor
final class ModelCore<Content: RequestContent, Phase: Sendable> {
    typealias Ask = RequestStateMachine<Content>.Ask
    typealias Request = SharedRequest<Content>

    /// A request that the model may join.
    struct Target {
        /// The key, given the numbers of the member and of its request.
        let key: (_ owner: Int, _ generation: Int) -> RequestKey
        let work: Request.Work
        /// See ``RequestBody/comparisonValue``.
        let body: () -> AnyHashable?
        let name: String

        init<E: Endpoint>(_ endpoint: E, isPaged: Bool, work: @escaping Request.Work) {
            key = { RequestKey(endpoint, isPaged: isPaged, owner: $0, generation: $1) }
            self.work = work
            body = { endpoint.body.comparisonValue }
            name = "\(E.self)"
        }
    }

    private final class Membership: Sendable {
        let request: Request
        let member: Int

        init(_ request: Request, _ member: Int) {
            (self.request, self.member) = (request, member)
        }
    }

    /// Notified before each change of the state.
    nonisolated let changeObserver = Locked<(any ChangeObserver)?>(nil)
    /// The state that the model shows: empty from a reset on, even before the model publishes it.
    var state: RequestState<Content> { isForgotten ? RequestState() : told }
    /// The last published state.
    private var told = RequestState<Content>()
    private var isForgotten = false
    /// Nil for ``PulseClient/default``, which is read when a request starts.
    private var client: PulseClient?
    private let policy: RefetchPolicy
    private let show: (RequestState<Content>) -> Phase
    private var target: Target
    /// The number of requests that the model has followed. Distinguishes requests that cannot be compared.
    private var generation = 0
    /// Nil before the model has joined its request.
    private var membership: Membership?
    /// The content of the previous request, until the current one has content.
    private var kept: Content?
    /// The number of views that show the model.
    private var views = 0
    private var wasUpdated = false
    /// The number of changes so far.
    private var changes = 0
    private let phases = PhaseStreams<Phase>()

    init(
        _ target: Target, _ client: PulseClient?, _ policy: RefetchPolicy,
        show: @escaping (RequestState<Content>) -> Phase
    ) {
        (self.target, self.client, self.policy, self.show) = (target, client, policy, show)
        if let client { join(client) }
    }

    deinit {
        guard let membership else { return }
        Task { @MainActor [request = membership.request, member = membership.member] in request.remove(member) }
    }

    var phase: Phase { show(state) }
    /// Whether the model has joined a request.
    var isMember: Bool { membership != nil }

    func updates() -> AsyncStream<Phase> { phases.updates(from: phase) }

    func ask(_ ask: Ask) -> Task<Phase, Never> {
        let (request, member) = joined()
        let reply = Promise<Phase>()
        let ticket = request.ask(ask, by: member) { [weak self, weak request, show] state in
            // A model that has left shows another request, or is released.
            var state = self.flatMap { $0.membership?.request === request ? $0.state : nil } ?? state
            // A task that ends before the run gets the phase from before the run.
            state.loading = nil
            reply.fulfill(show(state))
        }
        return Task { [weak request] in
            await reply.value {
                Task { @MainActor in request?.withdraw(ticket) }
            }
        }
    }

    func cancel() {
        if let membership { membership.request.cancel(membership.member) }
    }

    func appear() {
        views += 1
        guard views == 1 else { return }
        if let membership {
            membership.request.appear(membership.member)
        } else if policy.triggers.contains(.appear) {
            join(client ?? .default)
        }
    }

    func disappear() {
        guard views > 0 else { return }
        views -= 1
        if views == 0, let membership { membership.request.disappear(membership.member) }
    }

    /// Keeps the model visible until the task is cancelled. Each of several views has its own task.
    func stayVisible() async {
        guard !Task.isCancelled else { return }
        appear()
        let end = Promise<Void>()
        await end.value { end.fulfill(()) }
        disappear()
    }

    // MARK: Joining and leaving

    /// Joins the request, unless the model is already a member. One that cannot be compared counts as different.
    func follow(_ target: Target, keepingContent: Bool) {
        follow(target, keepingContent: keepingContent) { _, _ in false }
    }

    /// - Parameter isSame: whether an unshared request, equal in its other parts, is the previous one.
    private func follow(_ target: Target, keepingContent: Bool, isSame: (Target, PulseClient) -> Bool) {
        let before = self.target
        self.target = target
        guard let old = membership, let client = old.request.client else { return }
        let key = target.key(old.member, generation)
        if key == old.request.key {
            guard !key.isShared, !isSame(before, client) else { return old.request.renew(target.work) }
        }
        generation += 1
        kept = keepingContent ? state.content : nil
        join(client, leaving: old)
    }

    /// Whether the body equals that of the previous request, as far as bodies can be compared.
    private func hasBody(of before: Target, _ target: Target, _ client: PulseClient) -> Bool {
        guard let old = before.body(), let new = target.body() else {
            client.environment.warnOnce(
                "a property wrapper does not follow the body of \(target.name), which cannot be compared: make the "
                    + "endpoint Hashable")
            return true
        }
        return old == new
    }

    /// Changes the client, and leaves the request of the previous client.
    ///
    /// - Parameter client: nil for ``PulseClient/default``, which is not read before a request starts.
    func use(_ client: PulseClient?) {
        guard client !== self.client else { return }
        self.client = client
        kept = nil
        let old = membership
        if let client {
            join(client, leaving: old)
        } else if let old {
            membership = nil
            old.request.remove(old.member)
            // A notified observer may have made this model join again.
            if membership == nil { requestChanged { RequestState() } }
        }
    }

    /// Applies the arguments of the property wrapper during a view update. The view shows the result.
    ///
    /// - Parameter fetches: whether to fetch a request that is new to the model.
    func update(_ target: Target, client: PulseClient?, keepingContent: Bool, fetches: Bool) {
        ViewUpdate.perform {
            let before = membership?.request
            use(client)
            follow(target, keepingContent: keepingContent) { hasBody(of: $0, target, $1) }
            let isNew = !wasUpdated || membership?.request !== before
            wasUpdated = true
            if fetches, isNew { _ = ask(.fetch) }
        }
    }

    private func joined() -> (Request, Int) {
        let membership = membership ?? join(client ?? .default)
        return (membership.request, membership.member)
    }

    @discardableResult
    private func join(_ client: PulseClient, leaving old: Membership? = nil) -> Membership {
        let table = client.requestTable
        // A member number is valid only in its client's table.
        let member = old.flatMap { $0.request.client === client ? $0.member : nil } ?? table.newMember()
        let request = table.request(target.key(member, generation), of: client, target.work)
        let new = Membership(request, member)
        membership = new
        request.add(member, policy, target.work, observer: observer)
        if let old { old.request.remove(old.member) }
        // A notified observer may have made this model follow another request.
        guard membership === new else { return membership ?? new }
        if !looksTheSame(request.state) { requestChanged { request.state } }
        if membership === new, views > 0 { request.appear(member) }
        return membership ?? new
    }

    /// Whether joining a request in this state changes nothing that the model shows.
    private func looksTheSame(_ new: RequestState<Content>) -> Bool {
        let hasSameContent = new.content == nil && (kept != nil || state.content == nil)
        let hasFailure = new.failure != nil || state.failure != nil
        return hasSameContent && !hasFailure && !isForgotten && new.loading == state.loading
    }

    // MARK: The request

    private var observer: Request.Observer {
        Request.Observer { [weak self] in
            self?.requestChanged(to: $0)
        } forget: { [weak self] in
            self?.forget()
        }
    }

    private func requestChanged(to current: () -> RequestState<Content>) {
        changes += 1
        let number = changes
        if current().content != nil { kept = nil }
        guard !shown(current()).isIdle || !told.isIdle else {
            isForgotten = false
            return
        }
        if let observer = changeObserver.withLock({ $0 }) { ViewUpdate.announce(to: observer) }
        // The observer may have caused a later change.
        guard number == changes else { return }
        (told, isForgotten) = (shown(current()), false)
        phases.send(phase)
    }

    private func shown(_ state: RequestState<Content>) -> RequestState<Content> {
        var state = state
        state.content = state.content ?? kept
        return state
    }

    private func forget() {
        kept = nil
        isForgotten = true
        // A model that shows something publishes its reset later.
        phases.drop(replacement: told.isIdle ? phase : nil)
    }
}
