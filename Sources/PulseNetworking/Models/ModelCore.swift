// SPDX-License-Identifier: MIT

import PulseCore

/// What the models have in common: a member of a shared request, which may change its request and its client.
@MainActor
final class ModelCore<Content: RequestContent, Phase: Sendable> {
    typealias Ask = RequestMachine<Content>.Ask
    typealias Request = SharedRequest<Content>

    /// A request that the model may join.
    struct Target {
        /// The key, given the number of the member.
        let key: (Int) -> RequestKey
        let work: Request.Work

        init<E: Endpoint>(_ endpoint: E, isPaged: Bool, work: @escaping Request.Work) {
            key = { RequestKey(endpoint, isPaged: isPaged, owner: $0) }
            self.work = work
        }
    }

    private struct Membership {
        let request: Request
        let member: Int
    }

    /// Told before each change of the state.
    nonisolated let changeObserver = Locked<(any ChangeObserver)?>(nil)
    private(set) var state = RequestState<Content>()
    /// Nil for ``PulseClient/default``, which is read when a request starts.
    private var client: PulseClient?
    private let policy: RefetchPolicy
    private let show: (RequestState<Content>) -> Phase
    private var target: Target
    /// Nil before the model has joined its request.
    private var membership: Membership?
    /// The content of the request before, until this one has some.
    private var kept: Content?
    /// The views that show the model; nil stands for code that tells of itself.
    private var views: Set<UUID?> = []
    private var wasUpdated = false
    /// The number of changes so far.
    private var changes = 0
    private let phases: Broadcast<Phase>

    init(
        _ target: Target, _ client: PulseClient?, _ policy: RefetchPolicy,
        show: @escaping (RequestState<Content>) -> Phase
    ) {
        (self.target, self.client, self.policy, self.show) = (target, client, policy, show)
        phases = Broadcast(show(RequestState()), bufferSize: .max)
        if let client { join(client) }
    }

    deinit {
        guard let membership else { return }
        Task { @MainActor [request = membership.request, member = membership.member] in request.remove(member) }
    }

    var phase: Phase { show(state) }
    /// Whether the model has joined a request.
    var isMember: Bool { membership != nil }

    func updates() -> AsyncStream<Phase> { phases.updates() }

    func ask(_ ask: Ask) -> Task<Phase, Never> {
        let (request, member) = joined()
        let reply = SocketReply<Phase>()
        let ticket = request.ask(ask, by: member) { [weak self, weak request, show] state in
            // A model that has left shows another request, or is gone.
            let own = self.flatMap { $0.membership?.request === request ? $0.phase : nil }
            reply.give(own ?? show(state))
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

    func appear(_ view: UUID? = nil) {
        guard views.insert(view).inserted, views.count == 1 else { return }
        if let membership {
            membership.request.appear(membership.member)
        } else if policy.triggers.contains(.appear) {
            join(client ?? .default)
        }
    }

    func disappear(_ view: UUID? = nil) {
        guard views.remove(view) != nil, views.isEmpty, let membership else { return }
        membership.request.disappear(membership.member)
    }

    /// Visible until the task is cancelled. Each of several views has its own task.
    func stayVisible() async {
        guard !Task.isCancelled else { return }
        let view = UUID()
        appear(view)
        let end = SocketReply<Void>()
        await end.value { end.give(()) }
        disappear(view)
    }

    // MARK: Joining and leaving

    /// Becomes a member of that request, unless it is one.
    func follow(_ target: Target, keepingContent: Bool) {
        self.target = target
        guard let old = membership, let client = old.request.client else { return }
        let key = target.key(old.member)
        guard key != old.request.key else {
            // Of a request that cannot be compared, the parts that can are equal: the body may differ.
            if !key.isShared { old.request.work = target.work }
            return
        }
        kept = keepingContent ? state.content : nil
        join(client, leaving: old)
    }

    /// Changes the client, and leaves the request of the one before.
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
            requestChanged { RequestState() }
        }
    }

    /// Brings the model in line with its property wrapper, while the view is updated. The view shows the result.
    ///
    /// - Parameter fetches: whether a request that the model has not had before is fetched.
    func update(_ target: Target, client: PulseClient?, keepingContent: Bool, fetches: Bool) {
        ViewUpdate.perform {
            let before = membership?.request
            use(client)
            follow(target, keepingContent: keepingContent)
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
        // The number is that of the table.
        let member = old.flatMap { $0.request.client === client ? $0.member : nil } ?? table.newMember()
        let request = table.request(target.key(member), of: client, target.work)
        let new = Membership(request: request, member: member)
        membership = new
        request.add(member, policy, observer: observer)
        if let old { old.request.remove(old.member) }
        let looksTheSame = kept != nil && request.state.content == nil && request.state.loading == state.loading
        if !looksTheSame || request.state.failure != nil || state.failure != nil { requestChanged { request.state } }
        if !views.isEmpty { request.appear(member) }
        return new
    }

    // MARK: The request

    private var observer: Request.Observer {
        Request.Observer { [weak self] in
            self?.requestChanged(to: $0)
        } forget: { [weak self] in
            self?.forget() ?? false
        }
    }

    private func requestChanged(to current: () -> RequestState<Content>) {
        if current().content != nil { kept = nil }
        guard !shown(current()).isIdle || !state.isIdle else { return }
        changes += 1
        let number = changes
        if let observer = changeObserver.withLock({ $0 }) { ViewUpdate.announce(to: observer) }
        // It may have caused a later change.
        guard number == changes else { return }
        state = shown(current())
        phases.set(show(state))
    }

    private func shown(_ state: RequestState<Content>) -> RequestState<Content> {
        var state = state
        state.content = state.content ?? kept
        return state
    }

    private func forget() -> Bool {
        defer { kept = nil }
        return kept != nil
    }
}
