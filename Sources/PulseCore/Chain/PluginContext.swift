// SPDX-License-Identifier: MIT

/// The information that a plugin has about the current call.
///
/// A context is a value. Copies may differ in attempt and body; all copies share the call's ``store``. A plugin may
/// keep a context until the call is complete.
public struct PluginContext: Sendable {
    /// The fields that most copies share. A box holds them, because contexts are copied at every plugin.
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
        var body: Body
        var sendWatch: SendWatch?
    }

    private final class Box: Sendable {
        let shared: Shared

        init(_ shared: Shared) {
            self.shared = shared
        }
    }

    /// Why the retry loop resends a request at once, over another connection.
    package enum Resend: Sendable {
        /// The connection of the previous attempt was stale.
        case staleConnection
        /// The server responded with 421 (Misdirected Request).
        case misdirected
    }

    private var box: Box
    /// The number of the attempt in the retry loop, counted from 1.
    public private(set) var attempt: Int
    /// The number of this request among all wire requests of the call, over all hops and attempts, counted from 1.
    public private(set) var wireAttempt: Int
    /// Whether the retry loop resends the attempt once if its connection turns out stale.
    package internal(set) var isResentIfStale = false
    /// Why the attempt is a resend; nil for every other attempt.
    package internal(set) var resend: Resend?
    package var isResend: Bool { resend != nil }

    package init(
        call: Call, url: URL, method: HTTPMethod, hop: Int = 0, body: Body = .inRequest,
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

    /// The body of the request if it is a file or a stream. Bytes are in the request's `httpBody`.
    public var body: Body {
        get { box.shared.body }
        set { shared.body = newValue }
    }

    /// Records when the requests of this context are sent; nil unless a plugin called ``watchingSends()``.
    package private(set) var sendWatch: SendWatch? {
        get { box.shared.sendWatch }
        set { shared.sendWatch = newValue }
    }

    /// The URL that the client built this hop for.
    package var url: URL { box.shared.url }
    /// The header fields that the client built for this hop if it goes to a foreign origin; nil otherwise. The wire
    /// drops every other secret header.
    package var builtHeaders: [String: String]? { box.shared.builtHeaders }
    /// The `Cookie` header of the hop if the cookie store supplied it, for this URL's origin alone.
    package var storedCookies: String? { box.shared.storedCookies }
    /// Whether the request's `Cookie` still is the stored value, or is still missing: no plugin has set it.
    package func carriesStoredCookies(_ request: URLRequest) -> Bool {
        request.header("Cookie") == storedCookies && box.shared.request?.header("Cookie") == nil
    }

    /// The method of this hop. A redirect may have changed the call's method to GET.
    public var method: HTTPMethod { box.shared.method }
    /// The number of redirects followed so far: 0 for the call's own request.
    public var hop: Int { box.shared.hop }
    /// The identifier of the call, the same on all hops and attempts.
    public var id: UUID { call.id }
    /// The endpoint's path, without its query.
    public var endpointPath: String { call.endpointPath }
    /// The name under which metrics count the call.
    public var route: String { call.route }
    /// The settings of the call, merged from the call's own, the endpoint's and the configuration's settings. All
    /// settings but `retry` fall back to the configuration.
    public var options: RequestOptions {
        guard let cache = box.shared.cacheOverride else { return call.options }
        return call.options.with(\.cache, value: cache)
    }
    /// How the response body is delivered.
    public var delivery: TransportRequest.Delivery { call.delivery }
    /// The wall-clock time at which the call started.
    public var startedAt: Date { call.startedAt }
    /// The time by which the call must end, in the uptime of ``clock``; nil for no deadline.
    public var deadline: TimeInterval? { call.deadline }
    /// The client's clock, the source of all times in a plugin.
    public var clock: any PulseClock { call.environment.clock }
    /// The client's source of random numbers.
    public var randomness: any Randomness { call.environment.randomness }
    /// The values that plugins store for this call. All its hops and all copies of its context share them.
    public var store: Store { Store(call: call) }

    /// The idempotency key, which makes it safe to resend the call; nil for none. All attempts use the same key.
    /// Setting it does not write the header.
    public var idempotencyKey: String? {
        get { call.idempotencyKey }
        nonmutating set { call.idempotencyKey = newValue }
    }

    /// Returns a context for another attempt, for plugins that retry a request.
    public func with(attempt: Int) -> PluginContext {
        var copy = self
        copy.attempt = attempt
        copy.wireAttempt = call.wireAttempts + 1
        return copy
    }

    /// Returns a context for another attempt of the retry loop.
    ///
    /// - Parameter resend: why the new attempt is a resend. It then uses a new connection, and is not resent again if
    ///   that turns out stale.
    func with(attempt: Int, resend: Resend?) -> PluginContext {
        var copy = with(attempt: attempt)
        (copy.resend, copy.isResentIfStale) = (resend, isResentIfStale && resend == nil)
        return copy
    }

    /// Returns the context of a request that goes to the wire now, and counts the request as sent.
    package func onWire() -> PluginContext {
        var copy = self
        copy.wireAttempt = call.nextWireAttempt()
        sendWatch?.noteSent(call.environment.clock.uptime)
        return copy
    }

    /// Records that the request was not sent: it waits on the client's side, or will not be sent at all.
    package func noteUnsent() {
        call.record(.unsent)
        sendWatch?.noteUnsent()
    }

    /// Records that the request is sent now.
    package func noteSent() {
        call.record(.sent)
        sendWatch?.noteSent(call.environment.clock.uptime)
    }

    /// Returns a context for the rest of the chain. Its ``sendWatch`` records when the rest of the chain sends
    /// requests.
    package func watchingSends() -> PluginContext {
        var copy = self
        copy.sendWatch = SendWatch(within: sendWatch)
        return copy
    }

    /// Whether credentials may be sent to a URL: its origin is that of the base URL or one of the configuration's
    /// trusted origins.
    public func isTrusted(_ url: URL) -> Bool {
        url == box.shared.url ? box.shared.destination.isHome : call.environment.isHome(url)
    }

    /// The origin of a URL. It is already known for the URL that the hop was built for.
    package func origin(of url: URL) -> Origin? {
        url == box.shared.url ? box.shared.destination.origin : Origin(url)
    }

    /// Whether the client will follow a response as a redirect. A plugin that judges responses leaves such a response
    /// unchanged.
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

    /// Marks a header as secret for the rest of this call. The header is masked in descriptions and events, and dropped
    /// when a redirect leads to a foreign origin.
    public func markSecret(header name: String) {
        call.record(.secret(header: name, isSignature: false))
    }

    /// Marks a header as a secret signature. A signature belongs to one request and does not identify a user.
    package func markSignature(header name: String) {
        call.record(.secret(header: name, isSignature: true))
    }

    /// Emits an event. The event is built only if there is a listener.
    public func emit(_ event: @autoclosure () -> NetworkEvent) {
        call.emit(event())
    }

    /// The summary of this call and attempt, for events.
    public var summary: NetworkEvent.CallSummary {
        summary(retryDelay: 0)
    }

    /// The host of this hop. The call's own host is already known, and parsing a URL is expensive.
    package var host: String {
        hop == 0 ? call.host : url.host ?? call.host
    }

    /// The summary of this call with the span of a request, for the events of that request.
    package func summary(sending request: URLRequest) -> NetworkEvent.CallSummary {
        let (identity, trace) = identityAndTrace
        // Reading a header is expensive: it is read only if a plugin has added the call to a trace.
        guard let trace, let header = request.header("traceparent") else {
            return NetworkEvent.CallSummary(identity, attempt: attempt, of: trace)
        }
        let fields = header.split(separator: "-")
        return NetworkEvent.CallSummary(
            identity, attempt: attempt, of: trace,
            spanID: fields.count > 2 && fields[1] == trace.id ? String(fields[2]) : nil)
    }

    package func summary(retryDelay: TimeInterval = 0) -> NetworkEvent.CallSummary {
        let (identity, trace) = identityAndTrace
        return NetworkEvent.CallSummary(identity, attempt: attempt, retryDelay: retryDelay, of: trace)
    }

    private var identityAndTrace: (identity: NetworkEvent.CallSummary.Identity, trace: Call.Trace?) {
        let (identity, trace) = call.identityAndTrace
        // A redirect may have changed the host and the method.
        return hop == 0 && method == call.method ? (identity, trace) : (identity.rebased(onto: host, by: method), trace)
    }

    /// Returns a context for a chain that outlives its call.
    func detached(for waiting: CallGroup? = nil) -> PluginContext {
        rebased(onto: call.detached(for: waiting)).with(attempt: 1)
    }

    /// Returns a plugin's own request, with the default header fields added, and its context. Both are as the client
    /// would build them: neither contains anything of this context's request.
    func auxiliaryRequest(_ ready: URLRequest, limit: Int) throws -> (request: URLRequest, context: PluginContext) {
        let environment = call.environment
        let url = try ready.readyURL()
        let destination = Destination(Origin(url), home: environment.home)
        let headers = environment.defaults(at: destination).overridden(by: ready.allHTTPHeaderFields ?? [:])
        var request = ready
        request.url = url
        request.allHTTPHeaderFields = headers
        let other = call.auxiliaryRequest(request, to: url, limit: limit)
        let context = PluginContext(
            call: other, url: url, method: other.method, request: request,
            builtHeaders: environment.allowsSecrets(at: destination) ? nil : headers, destination: destination)
        return (request, context)
    }

    /// Returns a context with the same attempt and body in another call.
    func rebased(onto call: Call) -> PluginContext {
        guard call !== self.call else { return self }
        var copy = self
        copy.call = call
        copy.wireAttempt = call.wireAttempts + 1
        return copy
    }
}
