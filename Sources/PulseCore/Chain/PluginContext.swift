// SPDX-License-Identifier: MIT

/// What a plugin knows of the call it serves. A value: copies may differ in attempt and body, and share the call's
/// ``store``. Safe to keep until the call is complete.
public struct PluginContext: Sendable {
    /// What most copies share: in a box, since contexts are copied at every plugin.
    private struct Shared: Sendable {
        var call: Call
        let hop: Int
        let url: URL
        let method: HTTPMethod
        let request: URLRequest?
        let builtHeaders: [String: String]?
        let storedCookies: String?
        let cacheOverride: RequestOptions.Cache?
        let destination: Destination
        var body: BodySource
        var departures: Departures?
    }

    private final class Box: Sendable {
        let shared: Shared

        init(_ shared: Shared) {
            self.shared = shared
        }
    }

    private var box: Box
    /// Of the retry loop, counted from 1.
    public private(set) var attempt: Int
    /// Over the whole call, counted from 1.
    public private(set) var wireAttempt: Int

    package init(
        call: Call, url: URL, method: HTTPMethod, hop: Int = 0, body: BodySource = .inRequest,
        request: URLRequest? = nil, builtHeaders: [String: String]? = nil, storedCookies: String? = nil,
        cacheOverride: RequestOptions.Cache? = nil, destination: Destination? = nil
    ) {
        box = Box(
            Shared(
                call: call, hop: hop, url: url, method: method, request: request, builtHeaders: builtHeaders,
                storedCookies: storedCookies, cacheOverride: cacheOverride,
                destination: destination ?? Destination(Origin(url), home: call.environment.home), body: body))
        attempt = 1
        wireAttempt = hop == 0 ? 1 : call.wireAttempts + 1
    }

    private var shared: Shared {
        get { box.shared }
        set { box = Box(newValue) }
    }

    package private(set) var call: Call {
        get { box.shared.call }
        set { shared.call = newValue }
    }

    /// The body if it is a file or a stream; bytes are in the request's `httpBody`.
    public var body: BodySource {
        get { box.shared.body }
        set { shared.body = newValue }
    }

    /// Learns when requests that go out by this context leave; nil if nobody asks.
    package private(set) var departures: Departures? {
        get { box.shared.departures }
        set { shared.departures = newValue }
    }

    /// What the client built this hop for.
    package var url: URL { box.shared.url }
    /// The header fields as the client built them for this hop, if the hop leaves home: what the wire lets through.
    package var builtHeaders: [String: String]? { box.shared.builtHeaders }
    /// The `Cookie` header of the hop if the cookie store gave it: for this URL's origin alone.
    package var storedCookies: String? { box.shared.storedCookies }

    /// The method of this hop: a redirect may have turned the call's into GET.
    public var method: HTTPMethod { box.shared.method }
    /// Of the redirects: 0 for the call's own request.
    public var hop: Int { box.shared.hop }
    /// The same on all hops and attempts of the call.
    public var id: UUID { call.id }
    /// The endpoint's path, without its query.
    public var endpointPath: String { call.endpointPath }
    /// The name under which metrics count the call.
    public var route: String { call.route }
    /// The call's over the endpoint's over the configuration's; `retry` alone is not filled in from the configuration.
    public var options: RequestOptions {
        guard let cache = box.shared.cacheOverride else { return call.options }
        return call.options.with(\.cache, value: cache)
    }
    /// How the body of the answer is wanted.
    public var delivery: TransportRequest.Delivery { call.delivery }
    /// By the wall clock.
    public var startedAt: Date { call.startedAt }
    /// In the clock's uptime; nil for none.
    public var deadline: TimeInterval? { call.deadline }
    public var clock: any PulseClock { call.environment.clock }
    /// The client's source of chance.
    public var randomness: any Randomness { call.environment.randomness }
    /// Shared by all hops and copies of one call.
    public var store: ContextStore { ContextStore(call: call) }

    /// The key that makes repeating the call safe. Setting it does not write the header.
    public var idempotencyKey: String? {
        get { call.idempotencyKey }
        nonmutating set { call.idempotencyKey = newValue }
    }

    /// A context for another try, for whoever repeats.
    public func with(attempt: Int) -> PluginContext {
        var copy = self
        copy.attempt = attempt
        copy.wireAttempt = call.wireAttempts + 1
        return copy
    }

    /// The context of a request that goes to the wire now.
    package func onWire() -> PluginContext {
        var copy = self
        copy.wireAttempt = call.nextWireAttempt()
        departures?.note(call.environment.clock.uptime)
        return copy
    }

    /// A context for what is further in, by whose ``departures`` the caller learns when requests leave from there.
    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    package func watchingDepartures() -> PluginContext {
        var copy = self
        copy.departures = Departures(within: departures)
        return copy
    }

    /// Whether credentials may go there: the base URL's origin and the configuration's trusted ones.
    public func isTrusted(_ url: URL) -> Bool {
        url == box.shared.url ? box.shared.destination.isHome : call.environment.isHome(url)
    }

    /// The origin of a URL, which is known of the one that the hop was built for.
    package func origin(of url: URL) -> Origin? {
        url == box.shared.url ? box.shared.destination.origin : Origin(url)
    }

    /// Whether the client is going to follow that answer: a redirect, whose verdict is not this answer's.
    public func willFollow(_ response: PulseResponse) -> Bool {
        guard (300..<400).contains(response.statusCode) else { return false }
        let policy = call.options.redirectPolicy ?? .default
        let decision = policy.decision(
            for: response, following: box.shared.request, hop: hop, isBodyReplayable: body.isReplayable)
        switch decision {
        case .follow: return true
        case .stop, .tooManyRedirects: return false
        }
    }

    /// From now on the header of that name counts as a secret of this call: masked in texts, dropped on the way to a
    /// foreign origin.
    public func markSecret(header name: String) {
        call.markSecret(header: name)
    }

    /// The same for a signature: it is for this request alone, and tells nobody apart.
    package func markSignature(header name: String) {
        call.markSecret(header: name, isSignature: true)
    }

    /// Emits an event, which is built only if somebody listens.
    public func emit(_ event: @autoclosure () -> NetworkEvent) {
        call.emit(event())
    }

    /// This call for an event.
    public var summary: CallSummary {
        summary(retryDelay: 0)
    }

    /// Of this hop. The call's own is known already; taking a URL apart is not cheap.
    package var host: String {
        hop == 0 ? call.host : url.host ?? call.host
    }

    /// This call with the span that a request takes along, for the events of that request.
    package func summary(sending request: URLRequest) -> CallSummary {
        let (identity, trace) = identityAndTrace
        // Reading a header is not cheap: only where a plugin has made the call part of a trace.
        guard let trace, let header = request.header("traceparent") else {
            return CallSummary(identity, attempt: attempt, of: trace)
        }
        let fields = header.split(separator: "-")
        return CallSummary(
            identity, attempt: attempt, of: trace,
            spanID: fields.count > 2 && fields[1] == trace.id ? String(fields[2]) : nil)
    }

    package func summary(retryDelay: TimeInterval = 0) -> CallSummary {
        let (identity, trace) = identityAndTrace
        return CallSummary(identity, attempt: attempt, retryDelay: retryDelay, of: trace)
    }

    private var identityAndTrace: (identity: CallSummary.Identity, trace: Call.Trace?) {
        let (identity, trace) = call.identityAndTrace
        // A redirect may have led to another host, by another method.
        return hop == 0 && method == call.method ? (identity, trace) : (identity.moved(to: host, by: method), trace)
    }

    /// For a chain that outlives its call.
    func detached(
        delivery: TransportRequest.Delivery? = nil, for waiting: WaitingCalls? = nil, isForAnotherRequest: Bool = false
    ) -> PluginContext {
        let call = call.detached(delivery: delivery, for: waiting, isForAnotherRequest: isForAnotherRequest)
        return moved(to: call).with(attempt: 1)
    }

    /// The same attempt and body in another call.
    // Not inlined: the copy would take room in the frame of each link.
    @inline(never)
    func moved(to call: Call) -> PluginContext {
        guard call !== self.call else { return self }
        var copy = self
        copy.call = call
        copy.wireAttempt = call.wireAttempts + 1
        return copy
    }
}
