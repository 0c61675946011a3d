// SPDX-License-Identifier: MIT

/// One call: what all its hops, attempts and contexts share.
package final class Call: Sendable {
    private struct State {
        var sends = SendLog()
        var secrets = MarkedSecrets()
        var plugins = EnteredPlugins()
        var store = ContextStore.Values()
        var idempotencyKey: String?
        var lastFailure: PulseError?
        var failsForOtherWork = false
        var isExpired = false
        var trace: Trace?
        var identity: CallSummary.Identity?
    }

    package let id: UUID
    package let endpointPath: String
    package let method: HTTPMethod
    package let options: RequestOptions
    package let delivery: TransportRequest.Delivery
    package let startedAt: Date
    package let startUptime: TimeInterval
    /// The call's own deadline, in the clock's uptime.
    private let ownDeadline: TimeInterval?
    /// The calls that wait for this one, if it is work that they share.
    let waiting: CallGroup?
    package let environment: CallEnvironment
    package let host: String
    /// Whether the call goes to the offline queue if it finds no connection.
    package let isQueueable: Bool
    /// The endpoint's type, whose name is the route if the options set none. Its text takes longer to make than
    /// everything else here.
    private let routeType: Any.Type?
    /// The call that this one was detached from, or is made for: a request that leaves here counts for that one too.
    private let origin: Call?
    /// Whether the call makes another request than the one it is made for, so that its answers do not count for that
    /// one.
    private let isForAnotherRequest: Bool
    private let state = Locked(State())

    /// - Parameter origin: the call for which this one makes another request.
    package init(
        endpointPath: String,
        routeType: Any.Type?,
        method: HTTPMethod,
        host: String,
        options: RequestOptions,
        delivery: TransportRequest.Delivery,
        environment: CallEnvironment,
        isQueueable: Bool = false,
        madeFor origin: Call? = nil
    ) {
        self.isQueueable = isQueueable
        self.origin = origin
        isForAnotherRequest = origin != nil
        id = environment.identifiers.next()
        self.endpointPath = endpointPath
        self.routeType = routeType
        self.method = method
        self.host = host
        self.options = options
        self.delivery = delivery
        self.environment = environment
        startedAt = environment.clock.now
        startUptime = environment.clock.uptime
        // NaN or infinity is no deadline.
        ownDeadline = options.deadline.flatMap { [startUptime] in $0 < .infinity ? startUptime + $0 : nil }
        waiting = nil
    }

    private init(detachedFrom call: Call, for waiting: CallGroup?) {
        isForAnotherRequest = false
        id = call.environment.identifiers.next()
        isQueueable = false
        origin = call
        endpointPath = call.endpointPath
        routeType = call.routeType
        method = call.method
        host = call.host
        options = call.options
        delivery = call.delivery
        environment = call.environment
        startedAt = call.environment.clock.now
        startUptime = call.environment.clock.uptime
        ownDeadline = nil
        self.waiting = waiting
        let before = call.state.withLock { ($0.store.typed, $0.secrets, $0.idempotencyKey) }
        state.withLock { ($0.store.typed, $0.secrets, $0.idempotencyKey) = before }
    }

    /// Whether it is part of the work that those wait for, through however many shares of work in between.
    package func isWork(for calls: CallGroup) -> Bool {
        waiting === calls || origin?.isWork(for: calls) == true
    }

    /// A call for work that outlives this one: with an id and a store of its own, and no deadline but that of the calls
    /// that wait for it.
    func detached(for waiting: CallGroup? = nil) -> Call {
        Call(detachedFrom: self, for: waiting)
    }

    /// A call for a ready request that a plugin makes of its own: with an id and a store of its own, under the settings
    /// of this call, but without a deadline, and with nobody who would follow its redirects.
    ///
    /// - Parameter url: the request's.
    /// - Parameter limit: bytes of its answer's body.
    func auxiliaryRequest(_ request: URLRequest, to url: URL, limit: Int) -> Call {
        var options = options
        (options.route, options.deadline, options.redirectPolicy) = (nil, nil, .refuse)
        // The call's own request must be authenticated; this one may be what logs in.
        if options.auth == .required { options.auth = .optional }
        let other = Call(
            endpointPath: url.path, routeType: nil, method: HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? .get,
            host: url.host ?? "", options: options, delivery: .buffered(limit: limit), environment: environment,
            madeFor: self)
        let before = state.withLock { ($0.store.typed, $0.secrets) }
        other.state.withLock { state in
            (state.store.typed, state.secrets) = before
            state.idempotencyKey = request.header("Idempotency-Key")
        }
        return other
    }

    /// The deadline in the clock's uptime; nil for none. The deadline of shared work moves as calls join it and leave.
    package var deadline: TimeInterval? {
        waiting == nil ? ownDeadline : waiting?.deadline
    }

    /// The call that this work belongs to: the call itself, or the one that it was detached from or is made for.
    package var root: Call {
        origin?.root ?? self
    }

    package var route: String {
        options.route ?? routeType.map { environment.typeNames.name(of: $0) } ?? host
    }

    /// The route as a key, which two calls share if they have the same route. Cheaper than its text.
    package var routeKey: RouteKey {
        if let name = options.route { return .name(name) }
        return routeType.map { .type(ObjectIdentifier($0)) } ?? .name(host)
    }

    package enum RouteKey: Hashable, Sendable {
        case name(String)
        case type(ObjectIdentifier)
    }

    // MARK: Notes

    /// Records a note, here and wherever else it counts: for the call that this one was detached from or is made for,
    /// and for the calls that wait for this work.
    ///
    /// | Note | Origin | Origin of a request that a plugin makes | Waiting calls |
    /// |---|---|---|---|
    /// | `sent`, `unsent` | yes | yes | no: the origin is one of them |
    /// | `request`, `responded`, `failsForOtherWork` | yes | no | yes |
    /// | `failure` | no | no | those whose deadline ends the wait |
    /// | `secret` | no | no | yes |
    package func record(_ note: Note) {
        // A status that only names another place means that nothing was done yet.
        if case .responded(status: 307) = note { return }
        if case .responded(status: 308) = note { return }
        // What is replaced is released after the lock is left.
        let replaced = state.withLock { state -> (any Sendable)? in
            switch note {
            case .sent: state.sends.noteSent()
            case .unsent: state.sends.noteUnsent()
            case .request(let request):
                defer { state.sends.note(request) }
                return state.sends.request
            case .responded: if isQueueable { state.sends.noteResponse() }
            case .failure(let failure):
                defer { state.lastFailure = failure }
                return state.lastFailure
            case .failsForOtherWork(let isSo): state.failsForOtherWork = isSo
            case .secret(let header, let isSignature): state.secrets.insert(header, isSignature: isSignature)
            }
            return nil
        }
        withExtendedLifetime(replaced) {}
        switch note {
        case .sent, .unsent:
            origin?.record(note)
        case .request, .responded, .failsForOtherWork:
            if !isForAnotherRequest { origin?.record(note) }
            waiting?.record(note)
        case .failure, .secret:
            waiting?.record(note)
        }
    }

    /// Counts one more request on the wire and returns its number, counted from 1.
    func nextWireAttempt() -> Int {
        origin?.record(.sent)
        let (number, failedForOtherWork) = state.withLock { ($0.sends.nextAttempt(), $0.failsForOtherWork) }
        // What the call fails with from here on is its own.
        if failedForOtherWork { record(.failsForOtherWork(false)) }
        return number
    }

    var wireAttempts: Int {
        state.withLock { $0.sends.attempts }
    }

    /// The number of requests that a server may have seen something of, as far as this side knows.
    package var sentCount: Int {
        state.withLock { $0.sends.count }
    }

    /// The last request that was sent for this call, by itself or by work that it shares; nil if there was none.
    package var sent: URLRequest? {
        state.withLock { $0.sends.request }
    }

    /// Whether a server has responded to a call that may be queued, so that queueing it would do its work twice.
    package var isResponded: Bool {
        state.withLock { $0.sends.isResponded }
    }

    /// The last failure that the retry loop saw.
    package var lastFailure: PulseError? {
        state.withLock { $0.lastFailure }
    }

    /// Whether what the call fails with is the failure of other work, see ``Note/failsForOtherWork(_:)``.
    package var failsForOtherWork: Bool {
        state.withLock { $0.failsForOtherWork }
    }

    // MARK: Plugins

    /// Notes that a plugin was entered; false for a call that is complete.
    func enter(_ index: Int, with context: PluginContext) -> Bool {
        state.withLock { $0.plugins.enter(index, with: context) }
    }

    /// Completes the call and returns the plugins that were entered, once. No plugin can be entered any more.
    func takeEntered() -> [(index: Int, context: PluginContext)] {
        state.withLock { $0.plugins.complete() }
    }

    var isComplete: Bool {
        state.withLock { $0.plugins.isComplete }
    }

    package var idempotencyKey: String? {
        get { state.withLock { $0.idempotencyKey } }
        set { state.withLock { $0.idempotencyKey = newValue } }
    }

    /// The trace that the call is part of; one for the call and everything detached from it, whichever of them begins
    /// it.
    package var trace: Trace? {
        root.state.withLock { $0.trace }
    }

    /// Makes the call part of a trace unless it is part of one already, and returns the trace that was there before. If
    /// copies of a call begin one at the same time, one of them succeeds.
    package func begin(_ trace: Trace) -> Trace? {
        root.state.withLock { state in
            guard state.trace == nil else { return state.trace }
            state.trace = trace
            return nil
        }
    }

    func withStore<Value>(_ body: (inout ContextStore.Values) -> Value) -> Value {
        state.withLock { body(&$0.store) }
    }

    // MARK: Secrets

    /// Whether a header's value must not be shown, because of its name, the configuration or a plugin.
    package func isSecret(header name: String) -> Bool {
        environment.redaction.isSecret(name) || markedSecrets.contains(name.asciiLowercased)
    }

    /// Whether a header tells whose request it is: it is secret, and not the signature of a single request.
    package func isCredential(header name: String) -> Bool {
        isSecret(header: name) && !state.withLock { $0.secrets.isSignature(name) }
    }

    package var markedSecrets: Set<String> {
        state.withLock { $0.secrets.names }
    }

    // MARK: The end

    package func expireDeadline() {
        state.withLock { $0.isExpired = true }
    }

    /// Whether the deadline has cancelled the call.
    package var isExpired: Bool {
        if let waiting { return waiting.isExpired }
        return ownDeadline != nil && state.withLock { $0.isExpired }
    }

    // MARK: Events

    package func emit(_ event: @autoclosure () -> NetworkEvent) {
        if let events = environment.lazyEvents { return events.emit(lazily: event) }
        guard let events = environment.events, events.isActive else { return }
        events.emit(event())
    }

    /// The summary of the call as a whole, for the events of its start and end.
    package var summary: CallSummary {
        let (identity, trace) = identityAndTrace
        return CallSummary(identity, of: trace)
    }

    /// The summary for the event of the call's start, when nobody has asked for one before.
    package var firstSummary: CallSummary {
        CallSummary(makeIdentity(), of: nil)
    }

    /// The identity and the trace at once: each event needs both.
    var identityAndTrace: (identity: CallSummary.Identity, trace: Trace?) {
        let (known, own) = state.withLock { ($0.identity, $0.trace) }
        return (known ?? makeIdentity(), origin == nil ? own : trace)
    }

    /// Made for the first event: most calls of a client without listeners need none.
    private func makeIdentity() -> CallSummary.Identity {
        let identity = CallSummary.Identity(
            id: id, rootID: root.id, endpointPath: endpointPath, route: route, method: method, host: host)
        state.withLock { $0.identity = identity }
        return identity
    }
}
