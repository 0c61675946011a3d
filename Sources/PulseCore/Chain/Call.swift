// SPDX-License-Identifier: MIT

/// The state of one call, which all its hops, attempts and contexts share.
package final class Call: Sendable {
    struct State {
        var sends = SendLog()
        var secrets = MarkedSecrets()
        var plugins = EnteredPlugins()
        var store = PluginContext.Store.Values()
        var idempotencyKey: String?
        var lastFailure: PulseError?
        var failsForOtherWork = false
        var isExpired = false
        var isDeadlineLifted = false
        var transfers = 0
        var bodyMeter: (any BodyMeter)?
        var storedByteCount: Int?
        var trace: Trace?
        var identity: NetworkEvent.CallSummary.Identity?
    }

    package let id: UUID
    package let endpointPath: String
    package let method: HTTPMethod
    package let options: RequestOptions
    /// The decoder and the masking rules of the call, for its responses.
    package let marks: PulseResponse.Marks?
    package let delivery: TransportRequest.Delivery
    package let startedAt: Date
    package let startUptime: TimeInterval
    /// The call's own deadline, in the clock's uptime.
    private let ownDeadline: TimeInterval?
    /// The calls that wait for this call, if it is shared work.
    let waiting: CallGroup?
    package let environment: CallEnvironment
    package let host: String
    /// Whether the call goes to the offline queue if there is no connection.
    package let isQueueable: Bool
    /// The endpoint's type. Its name is the route if the options set none. Building that name takes longer than all
    /// other work here.
    private let routeType: Any.Type?
    /// The call that this call was detached from, or is made for. A request of this call counts as sent for that call
    /// too.
    let origin: Call?
    /// Whether the call makes a different request than the call that it is made for. Then its responses do not count
    /// for that call.
    let isForAnotherRequest: Bool
    let state = Locked(State())

    /// - Parameter origin: the call for which this call makes another request.
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
        marks = PulseResponse.Marks.of(decoder: options.box?.ownDecoder, redaction: environment.redaction)
        self.delivery = delivery
        self.environment = environment
        startedAt = environment.clock.now
        startUptime = environment.clock.uptime
        // NaN and infinity mean no deadline.
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
        // Several calls or none may wait for the work, so no single progress listener applies.
        options = call.options.progress == nil ? call.options : call.options.with(\.progress, value: nil)
        marks = call.marks
        delivery = call.delivery
        environment = call.environment
        startedAt = call.environment.clock.now
        startUptime = call.environment.clock.uptime
        ownDeadline = nil
        self.waiting = waiting
        let before = call.state.withLock { ($0.store.typed, $0.secrets, $0.idempotencyKey) }
        state.withLock { ($0.store.typed, $0.secrets, $0.idempotencyKey) = before }
    }

    /// Whether the call is part of the work that a group of calls waits for, directly or through other shared work.
    package func isWork(for calls: CallGroup) -> Bool {
        waiting === calls || origin?.isWork(for: calls) == true
    }

    /// Returns a call for work that outlives this call. It has its own id and store. Its only deadline is that of the
    /// calls that wait for it.
    func detached(for waiting: CallGroup? = nil) -> Call {
        Call(detachedFrom: self, for: waiting)
    }

    /// Returns a call for a plugin's own ready request. It has its own id and store, and the settings of this call. It
    /// has no deadline, and its redirects are not followed.
    ///
    /// - Parameter url: the URL of the request.
    /// - Parameter limit: the maximum size of the response body, in bytes.
    func auxiliaryRequest(_ request: URLRequest, to url: URL, limit: Int) -> Call {
        var options = options
        (options.route, options.deadline, options.redirectPolicy) = (nil, nil, .refuse)
        // A progress listener watches the call's own body.
        if options.progress != nil { options.progress = nil }
        // This call's own request must be authenticated. The plugin's request may be the login itself.
        if options.auth == .required { options.auth = .optional }
        let other = Call(
            endpointPath: url.path, routeType: nil, method: HTTPMethod(rawValue: request.httpMethod ?? "GET") ?? .get,
            host: url.host ?? "", options: options, delivery: .buffered(limit: limit), environment: environment,
            madeFor: self)
        let before = state.withLock { ($0.store.typed, $0.secrets) }
        other.state.withLock { state in
            (state.store.typed, state.secrets) = before
            // A read-only call may need a login first, which writes.
            _ = state.store.set(nil, for: ObjectIdentifier(ReadOnlyKey.self))
            _ = state.store.set(nil, for: ObjectIdentifier(CallOutcome.self))
            state.idempotencyKey = request.header("Idempotency-Key")
        }
        return other
    }

    /// The deadline in the clock's uptime; nil for none. The deadline of shared work changes as calls join and leave.
    package var deadline: TimeInterval? {
        if let waiting { return waiting.deadline }
        return ownDeadline.flatMap { own in state.withLock { $0.isDeadlineLifted } ? nil : own }
    }

    /// The call that this work belongs to: the call itself, or the call that it was detached from or is made for.
    package var root: Call {
        origin?.root ?? self
    }

    package var route: String {
        options.route ?? routeType.map { environment.typeNames.name(of: $0) } ?? host
    }

    /// The route as a key. Calls with the same route have equal keys. A key is cheaper than the route's text.
    package var routeKey: RouteKey {
        if let name = options.route { return .name(name) }
        return routeType.map { .type(ObjectIdentifier($0)) } ?? .name(host)
    }

    package enum RouteKey: Hashable, Sendable {
        case name(String)
        case type(ObjectIdentifier)
    }

    // MARK: Plugins

    /// Records that a plugin was entered. Returns false if the call is complete.
    func enter(_ index: Int, with context: PluginContext) -> Bool {
        state.withLock { $0.plugins.enter(index, with: context) }
    }

    /// Completes the call and returns the plugins that were entered, once. Afterwards no plugin can be entered.
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

    /// The trace that the call is part of. The call and everything detached from it share one trace, whichever starts
    /// it.
    package var trace: Trace? {
        root.state.withLock { $0.trace }
    }

    /// Adds the call to a trace unless it already has one, and returns the existing trace. If copies of a call do this
    /// at the same time, one copy succeeds.
    package func begin(_ trace: Trace) -> Trace? {
        root.state.withLock { state in
            guard state.trace == nil else { return state.trace }
            state.trace = trace
            return nil
        }
    }

    func withStore<Value>(_ body: (inout PluginContext.Store.Values) -> Value) -> Value {
        state.withLock { body(&$0.store) }
    }

    // MARK: Secrets

    /// Whether a header's value must not be shown, because of its name, the configuration or a plugin.
    package func isSecret(header name: String) -> Bool {
        environment.redaction.isSecret(name) || markedSecrets.contains(name.asciiLowercased)
    }

    /// The redacted path for descriptions and events: a path parameter may be secret, such as `;jsessionid=…`.
    package var shownPath: String { environment.redaction.url(endpointPath) }

    /// Whether a header identifies the sender of a request: it is secret, and not the signature of a single request.
    package func isCredential(header name: String) -> Bool {
        isSecret(header: name) && !state.withLock { $0.secrets.isSignature(name) }
    }

    package var markedSecrets: Set<String> {
        state.withLock { $0.secrets.names }
    }

    // MARK: Deadline

    /// Expires the call unless its deadline was lifted. Returns whether the call is expired.
    @discardableResult
    package func expireDeadline() -> Bool {
        state.withLock { state in
            state.isExpired = !state.isDeadlineLifted
            return state.isExpired
        }
    }

    /// Lifts the deadline unless it has expired. From then on the system carries out the call, under its own time
    /// limit.
    package func liftDeadline() {
        state.withLock { state in
            if !state.isExpired { state.isDeadlineLifted = true }
        }
        origin?.liftDeadline()
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
    package var summary: NetworkEvent.CallSummary {
        let (identity, trace) = identityAndTrace
        return NetworkEvent.CallSummary(identity, of: trace)
    }

    /// The summary for the event of the call's start, for use before any other summary is made.
    package var firstSummary: NetworkEvent.CallSummary {
        NetworkEvent.CallSummary(makeIdentity(), of: nil)
    }

    /// The identity and the trace, read together: each event needs both.
    var identityAndTrace: (identity: NetworkEvent.CallSummary.Identity, trace: Trace?) {
        let (known, own) = state.withLock { ($0.identity, $0.trace) }
        return (known ?? makeIdentity(), origin == nil ? own : trace)
    }

    /// Makes the identity for the first event. Most calls of a client without listeners need none.
    private func makeIdentity() -> NetworkEvent.CallSummary.Identity {
        let identity = NetworkEvent.CallSummary.Identity(
            id: id, rootID: root.id, endpointPath: shownPath, route: route, method: method, host: host,
            isInVirtualTime: environment.clock.isVirtual)
        state.withLock { $0.identity = identity }
        return identity
    }
}
