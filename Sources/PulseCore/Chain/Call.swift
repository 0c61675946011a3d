// SPDX-License-Identifier: MIT

/// One call: what all its hops, attempts and contexts share.
package final class Call: Sendable {
    private struct State {
        /// The plugins that were entered, in order of their first entry, each with the context it was last given.
        var entered: [(index: Int, context: PluginContext)] = []
        var store = ContextStore.Values()
        var secretHeaders: Set<String> = []
        /// Those of them that are for one request alone.
        var signatureHeaders: Set<String> = []
        var idempotencyKey: String?
        var wireAttempts = 0
        /// Of these and of those of the calls detached from this one, what a server may have seen something of.
        var departures = 0
        var lastFailure: PulseError?
        var isStruck = false
        var isComplete = false
        var trace: Trace?
        var identity: CallSummary.Identity?
        var isAnswered = false
    }

    package let id: UUID
    package let endpointPath: String
    package let method: HTTPMethod
    package let options: RequestOptions
    package let delivery: TransportRequest.Delivery
    package let startedAt: Date
    package let startUptime: TimeInterval
    /// Its own; in the clock's uptime.
    private let ownDeadline: TimeInterval?
    /// Those that wait for this one, if it is work that they share.
    let waiting: WaitingCalls?
    package let environment: CallEnvironment
    package let host: String
    /// Nil for a call with a task of its own.
    package let cancellation: Cancellation?
    /// It goes to the offline queue if it finds no connection.
    package let isQueueable: Bool
    /// The endpoint's type, whose name is the route if the options give none; its text costs more than the rest here.
    private let routeType: Any.Type?
    /// The call that this one was detached from: what leaves here leaves for that one too.
    private let origin: Call?
    /// Its answers are none to the call that it was detached from.
    private let isForAnotherRequest: Bool
    private let state = Locked(State())

    package init(
        endpointPath: String,
        routeType: Any.Type?,
        method: HTTPMethod,
        host: String,
        options: RequestOptions,
        delivery: TransportRequest.Delivery,
        environment: CallEnvironment,
        cancellation: Cancellation? = nil,
        isQueueable: Bool = false
    ) {
        self.cancellation = cancellation
        self.isQueueable = isQueueable
        origin = nil
        isForAnotherRequest = false
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
        // A number that is none, or infinite, is no deadline.
        ownDeadline = options.deadline.flatMap { [startUptime] in $0 < .infinity ? startUptime + $0 : nil }
        waiting = nil
    }

    private init(
        detachedFrom call: Call, delivery: TransportRequest.Delivery?, for waiting: WaitingCalls?,
        isForAnotherRequest: Bool
    ) {
        self.isForAnotherRequest = isForAnotherRequest
        id = call.environment.identifiers.next()
        cancellation = nil
        isQueueable = false
        origin = call
        endpointPath = call.endpointPath
        routeType = call.routeType
        method = call.method
        host = call.host
        options = call.options
        self.delivery = delivery ?? call.delivery
        environment = call.environment
        startedAt = call.environment.clock.now
        startUptime = call.environment.clock.uptime
        ownDeadline = nil
        self.waiting = waiting
        let before = call.state.withLock { state in
            (state.store.typed, state.secretHeaders, state.signatureHeaders, state.idempotencyKey)
        }
        state.withLock { state in
            (state.store.typed, state.secretHeaders, state.signatureHeaders, state.idempotencyKey) = before
        }
    }

    /// Work that outlives this call: an id and a store of its own, no deadline but that of who waits for it.
    ///
    /// - Parameter delivery: nil for the same.
    func detached(
        delivery: TransportRequest.Delivery? = nil, for waiting: WaitingCalls? = nil, isForAnotherRequest: Bool = false
    ) -> Call {
        Call(detachedFrom: self, delivery: delivery, for: waiting, isForAnotherRequest: isForAnotherRequest)
    }

    /// In the clock's uptime. That of shared work moves as calls join it and leave.
    package var deadline: TimeInterval? {
        waiting == nil ? ownDeadline : waiting?.deadline
    }

    /// The call whose work this is: itself, or for what is detached the one that it was detached from.
    package var root: Call {
        origin?.root ?? self
    }

    package var route: String {
        options.route ?? routeType.map { environment.typeNames.name(of: $0) } ?? host
    }

    /// The route as a key: two calls have the same one if they have the same route. Cheaper than its text.
    package var routeKey: RouteKey {
        if let name = options.route { return .name(name) }
        return routeType.map { .type(ObjectIdentifier($0)) } ?? .name(host)
    }

    package enum RouteKey: Hashable, Sendable {
        case name(String)
        case type(ObjectIdentifier)
    }

    // MARK: What the chain notes

    /// Notes that a plugin was entered; false for a call that is complete: the plugin's `didComplete` would never run,
    /// and its context would keep the call.
    // Not inlined: its temporaries would take room in the frame of each link.
    @inline(never)
    func enter(_ index: Int, with context: PluginContext) -> Bool {
        state.withLock { state in
            guard !state.isComplete else { return false }
            if let known = state.entered.firstIndex(where: { $0.index == index }) {
                state.entered[known].context = context
            } else {
                state.entered.append((index, context))
            }
            return true
        }
    }

    /// The entered plugins, in order of their first entry, once: a second caller gets none, and nobody enters any more.
    func takeEntered() -> [(index: Int, context: PluginContext)] {
        state.withLock { state in
            state.isComplete = true
            defer { state.entered = [] }
            return state.entered
        }
    }

    var isComplete: Bool {
        state.withLock { $0.isComplete }
    }

    var wireAttempts: Int {
        state.withLock { $0.wireAttempts }
    }

    /// The requests of which a server may have seen something, as far as this side knows.
    package var departures: Int {
        state.withLock { $0.departures }
    }

    /// Takes one of them back: its failure came before anything was sent.
    func noteUnsent() {
        state.withLock { if $0.departures > 0 { $0.departures -= 1 } }
        origin?.noteUnsent()
    }

    private func noteDeparture() {
        state.withLock { $0.departures += 1 }
        origin?.noteDeparture()
    }

    /// Counts one more request on the wire and gives its number, from 1.
    func nextWireAttempt() -> Int {
        origin?.noteDeparture()
        return state.withLock { state in
            state.departures += 1
            state.wireAttempts += 1
            return state.wireAttempts
        }
    }

    package var idempotencyKey: String? {
        get { state.withLock { $0.idempotencyKey } }
        set { state.withLock { $0.idempotencyKey = newValue } }
    }

    /// One for the call and all that is detached from it, whichever of them begins it.
    package var trace: Trace? {
        root.state.withLock { $0.trace }
    }

    /// Makes the call part of a trace, unless it is part of one: of copies of a call that begin one at the same time one
    /// does. Gives the trace that was there before.
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

    func markSecret(header name: String, isSignature: Bool = false) {
        let name = name.asciiLowercased
        state.withLock { state in
            state.secretHeaders.insert(name)
            if isSignature { state.signatureHeaders.insert(name) }
        }
        waiting?.markSecret(name, isSignature: isSignature)
    }

    /// Whether a header's value must not be shown: by its name, the configuration's or a plugin's word.
    package func isSecret(header name: String) -> Bool {
        environment.redaction.isSecret(name) || markedSecrets.contains(name.asciiLowercased)
    }

    /// Whether it tells whose request it is: a secret, and no signature of one request.
    package func isCredential(header name: String) -> Bool {
        isSecret(header: name) && !state.withLock { $0.signatureHeaders.contains(name.asciiLowercased) }
    }

    /// Notes what goes to the wire, for those that share this work: by it they learn whose the answer is.
    package func noteSent(_ request: URLRequest) {
        guard waiting != nil || origin != nil else { return }
        waiting?.noteSent(request)
        origin?.noteSent(request)
    }

    package var markedSecrets: Set<String> {
        state.withLock { $0.secretHeaders }
    }

    // MARK: The end

    /// What the retry loop last saw fail: the cause that a deadline names.
    package var lastFailure: PulseError? {
        get { state.withLock { $0.lastFailure } }
        set {
            state.withLock { $0.lastFailure = newValue }
            waiting?.note(newValue)
        }
    }

    /// Notes an answer of a server, for the calls that may be queued: this one, that which it was detached from, and those
    /// that wait for it. One that only names another place (307, 308) has done nothing yet.
    package func noteAnswer(_ status: Int) {
        guard status != 307, status != 308 else { return }
        if !isForAnotherRequest { origin?.noteAnswer(status) }
        waiting?.noteAnswer(status)
        guard isQueueable else { return }
        state.withLock { $0.isAnswered = true }
    }

    /// Some server has the request: queueing it would do its work twice.
    package var isAnswered: Bool {
        state.withLock { $0.isAnswered }
    }

    package func strikeDeadline() {
        state.withLock { $0.isStruck = true }
    }

    /// The deadline has cancelled the call.
    package var isStruck: Bool {
        if let waiting { return waiting.isStruck }
        return ownDeadline != nil && state.withLock { $0.isStruck }
    }

    // MARK: Events

    // Not inlined: an event and its summary are some hundred bytes, which the frame of every asynchronous caller would hold.
    @inline(never)
    package func emit(_ event: @autoclosure () -> NetworkEvent) {
        if let events = environment.lazyEvents { return events.emit(lazily: event) }
        guard let events = environment.events, events.isActive else { return }
        events.emit(event())
    }

    /// The call as a whole, for the events of its start and end.
    package var summary: CallSummary {
        let (identity, trace) = identityAndTrace
        return CallSummary(identity, of: trace)
    }

    /// The same for the event of its start, before which nobody has asked.
    package var firstSummary: CallSummary {
        CallSummary(makeIdentity(), of: nil)
    }

    /// Both at once: each event asks for both.
    var identityAndTrace: (identity: CallSummary.Identity, trace: Trace?) {
        let (known, own) = state.withLock { ($0.identity, $0.trace) }
        return (known ?? makeIdentity(), origin == nil ? own : trace)
    }

    /// For the first event: most calls of a client to which nobody listens need none.
    private func makeIdentity() -> CallSummary.Identity {
        let identity = CallSummary.Identity(
            id: id, rootID: root.id, endpointPath: endpointPath, route: route, method: method, host: host)
        state.withLock { $0.identity = identity }
        return identity
    }
}
