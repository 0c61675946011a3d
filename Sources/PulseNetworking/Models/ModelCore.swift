// SPDX-License-Identifier: MIT

import PulseCore

/// What the models have in common: a member of a shared request, which may change its request.
@MainActor
final class ModelCore<Content: RequestContent, Phase: Sendable> {
    typealias Ask = RequestMachine<Content>.Ask

    let client: PulseClient
    /// Called before each change of the state.
    var onWillChange: (() -> Void)?
    private(set) var state: RequestState<Content>
    private let policy: RefetchPolicy
    private let show: (RequestState<Content>) -> Phase
    private let member: Int
    private var request: SharedRequest<Content>
    /// The content of the request before, until this one has some.
    private var kept: Content?
    private var isVisible = false
    private let phases: Broadcast<Phase>

    init<E: Endpoint>(
        _ endpoint: E, isPaged: Bool, _ client: PulseClient, _ policy: RefetchPolicy,
        work: @escaping SharedRequest<Content>.Work, show: @escaping (RequestState<Content>) -> Phase
    ) {
        let table = client.requestTable
        (self.client, self.policy, self.show) = (client, policy, show)
        member = table.newMember()
        request = table.request(RequestKey(endpoint, isPaged: isPaged, owner: member), of: client, work)
        state = request.state
        phases = Broadcast(show(request.state), bufferSize: .max)
        request.add(member, policy, observer: observer)
    }

    deinit {
        Task { @MainActor [request, member] in request.remove(member) }
    }

    var phase: Phase { show(state) }

    func updates() -> AsyncStream<Phase> { phases.updates() }

    func ask(_ ask: Ask) -> Task<Phase, Never> {
        let reply = SocketReply<Phase>()
        let ticket = request.ask(ask, by: member) { [weak self, weak request, show] state in
            // A model that has left shows another request, or is gone.
            let own = self.flatMap { $0.request === request ? $0.phase : nil }
            reply.give(own ?? show(state))
        }
        return Task { [weak request] in
            await reply.value {
                Task { @MainActor in request?.withdraw(ticket) }
            }
        }
    }

    func cancel() { request.cancel(member) }

    func appear() {
        isVisible = true
        request.appear(member)
    }

    func disappear() {
        isVisible = false
        request.disappear(member)
    }

    /// Becomes a member of the endpoint's request, unless it is one.
    func follow<E: Endpoint>(
        _ endpoint: E, isPaged: Bool, keepingContent: Bool, work: @escaping SharedRequest<Content>.Work
    ) {
        let key = RequestKey(endpoint, isPaged: isPaged, owner: member)
        guard key != request.key else {
            // Of a request that cannot be compared, the parts that can are equal: the body may differ.
            if !key.isShared { request.work = work }
            return
        }
        let old = request
        request = client.requestTable.request(key, of: client, work)
        kept = keepingContent ? state.content : nil
        request.add(member, policy, observer: observer)
        old.remove(member)
        let new = request.state
        let looksTheSame = kept != nil && new.content == nil && new.loading == state.loading
        if !looksTheSame || new.failure != nil || state.failure != nil { requestChanged(to: new) }
        if isVisible { request.appear(member) }
    }

    // MARK: The request

    private var observer: SharedRequest<Content>.Observer {
        SharedRequest.Observer { [weak self] in
            self?.requestChanged(to: $0)
        } forget: { [weak self] in
            self?.forget() ?? false
        }
    }

    private func requestChanged(to new: RequestState<Content>) {
        var new = new
        if new.content != nil { kept = nil }
        new.content = new.content ?? kept
        guard !new.isIdle || !state.isIdle else { return }
        onWillChange?()
        state = new
        phases.set(show(new))
    }

    private func forget() -> Bool {
        defer { kept = nil }
        return kept != nil
    }
}
