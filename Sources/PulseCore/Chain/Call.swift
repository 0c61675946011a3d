// SPDX-License-Identifier: MIT

/// One call: what all its hops, attempts and contexts share.
package final class Call: Sendable {
    private struct State {
        /// The plugins that were entered, in order of their first entry, each with the context it was last given.
        var entered: [(index: Int, context: PluginContext)] = []
        var store = ContextStore.Values()
        var secretHeaders: Set<String> = []
        var idempotencyKey: String?
        var wireAttempts = 0
        var lastFailure: PulseError?
        var isStruck = false
        var traceID: String?
    }

    package let id: UUID
    package let endpointPath: String
    package let method: HTTPMethod
    package let options: RequestOptions
    package let delivery: TransportRequest.Delivery
    package let startedAt: Date
    package let startUptime: TimeInterval
    /// In the clock's uptime.
    package let deadline: TimeInterval?
    package let environment: CallEnvironment
    package let host: String
    /// The endpoint's type, whose name is the route if the options give none; its text costs more than the rest here.
    private let routeType: Any.Type?
    private let state = Locked(State())

    package init(
        endpointPath: String,
        routeType: Any.Type?,
        method: HTTPMethod,
        host: String,
        options: RequestOptions,
        delivery: TransportRequest.Delivery,
        environment: CallEnvironment
    ) {
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
        deadline = options.deadline.flatMap { [startUptime] in $0 < .infinity ? startUptime + $0 : nil }
    }

    private init(detachedFrom call: Call) {
        id = call.environment.identifiers.next()
        endpointPath = call.endpointPath
        routeType = call.routeType
        method = call.method
        host = call.host
        options = call.options
        delivery = call.delivery
        environment = call.environment
        startedAt = call.environment.clock.now
        startUptime = call.environment.clock.uptime
        deadline = nil
        let inherited = call.state.withLock { $0 }
        state.withLock {
            $0.store.typed = inherited.store.typed
            $0.secretHeaders = inherited.secretHeaders
            $0.idempotencyKey = inherited.idempotencyKey
        }
    }

    /// Work that outlives this call: an id and a store of its own, no deadline.
    func detached() -> Call {
        Call(detachedFrom: self)
    }

    package var route: String {
        options.route ?? routeType.map { String(describing: $0) } ?? host
    }

    // MARK: What the chain notes

    func enter(_ index: Int, with context: PluginContext, of count: Int) {
        state.withLock { state in
            if let known = state.entered.firstIndex(where: { $0.index == index }) {
                state.entered[known].context = context
            } else {
                if state.entered.isEmpty { state.entered.reserveCapacity(count) }
                state.entered.append((index, context))
            }
        }
    }

    /// The entered plugins, last first, once: a second caller gets none.
    func takeEntered() -> [(index: Int, context: PluginContext)] {
        state.withLock { state in
            defer { state.entered = [] }
            return state.entered.reversed()
        }
    }

    var wireAttempts: Int {
        state.withLock { $0.wireAttempts }
    }

    /// Counts one more request on the wire and gives its number, from 1.
    func nextWireAttempt() -> Int {
        state.withLock { state in
            state.wireAttempts += 1
            return state.wireAttempts
        }
    }

    package var idempotencyKey: String? {
        get { state.withLock { $0.idempotencyKey } }
        set { state.withLock { $0.idempotencyKey = newValue } }
    }

    package var traceID: String? {
        get { state.withLock { $0.traceID } }
        set { state.withLock { $0.traceID = newValue } }
    }

    func withStore<Value>(_ body: (inout ContextStore.Values) -> Value) -> Value {
        state.withLock { body(&$0.store) }
    }

    // MARK: Secrets

    func markSecret(header name: String) {
        let name = name.asciiLowercased
        state.withLock { _ = $0.secretHeaders.insert(name) }
    }

    package var markedSecrets: Set<String> {
        state.withLock { $0.secretHeaders }
    }

    // MARK: The end

    /// What the retry loop last saw fail: the cause that a deadline names.
    package var lastFailure: PulseError? {
        get { state.withLock { $0.lastFailure } }
        set { state.withLock { $0.lastFailure = newValue } }
    }

    package func strikeDeadline() {
        state.withLock { $0.isStruck = true }
    }

    /// The deadline has cancelled the call.
    package var isStruck: Bool {
        deadline != nil && state.withLock { $0.isStruck }
    }

    // MARK: Events

    // Not inlined: an event and its summary are some hundred bytes, which the frame of every asynchronous caller would hold.
    @inline(never)
    package func emit(_ event: @autoclosure () -> NetworkEvent) {
        guard let events = environment.events, events.isActive else { return }
        events.emit(event())
    }

    /// The call as a whole, for the events of its start and end.
    package var summary: CallSummary {
        CallSummary(id: id, endpointPath: endpointPath, route: route, method: method, host: host, traceID: traceID)
    }
}
