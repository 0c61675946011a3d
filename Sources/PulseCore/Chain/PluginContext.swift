// SPDX-License-Identifier: MIT

/// What a plugin knows of the call it serves. A value: copies may differ in attempt and body, and share the call's
/// ``store``. Safe to keep until the call is complete.
public struct PluginContext: Sendable {
    package private(set) var call: Call
    private let current: Hop
    /// Of the retry loop, counted from 1.
    public private(set) var attempt: Int
    /// Over the whole call, counted from 1.
    public private(set) var wireAttempt: Int
    /// The body if it is a file or a stream; bytes are in the request's `httpBody`.
    public var body: BodySource

    package init(
        call: Call, url: URL, method: HTTPMethod, hop: Int = 0, body: BodySource = .inRequest,
        builtHeaders: [String: String]? = nil, cacheOverride: RequestOptions.Cache? = nil
    ) {
        self.call = call
        current = Hop(
            number: hop, url: url, method: method, builtHeaders: builtHeaders, cacheOverride: cacheOverride)
        self.body = body
        attempt = 1
        wireAttempt = hop == 0 ? 1 : call.wireAttempts + 1
    }

    /// What stays the same on all attempts of one hop; in a box, since contexts are copied at every plugin.
    private final class Hop: Sendable {
        let number: Int
        let url: URL
        let method: HTTPMethod
        let builtHeaders: [String: String]?
        let cacheOverride: RequestOptions.Cache?

        init(
            number: Int, url: URL, method: HTTPMethod, builtHeaders: [String: String]?,
            cacheOverride: RequestOptions.Cache?
        ) {
            self.number = number
            self.url = url
            self.method = method
            self.builtHeaders = builtHeaders
            self.cacheOverride = cacheOverride
        }
    }

    /// What the client built this hop for.
    package var url: URL { current.url }
    /// The header fields as the client built them for this hop, if the hop leaves home: what the wire lets through.
    package var builtHeaders: [String: String]? { current.builtHeaders }

    /// The method of this hop: a redirect may have turned the call's into GET.
    public var method: HTTPMethod { current.method }
    /// Of the redirects: 0 for the call's own request.
    public var hop: Int { current.number }
    /// The same on all hops and attempts of the call.
    public var id: UUID { call.id }
    /// The endpoint's path, without its query.
    public var endpointPath: String { call.endpointPath }
    /// The name under which metrics count the call.
    public var route: String { call.route }
    /// The call's over the endpoint's over the configuration's; `retry` alone is not filled in from the configuration.
    public var options: RequestOptions {
        guard let cache = current.cacheOverride else { return call.options }
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
        return copy
    }

    /// Whether credentials may go there: the base URL's origin and the configuration's trusted ones.
    public func isTrusted(_ url: URL) -> Bool {
        call.environment.isHome(url)
    }

    /// Whether the client is going to follow that answer: a redirect, whose verdict is not this answer's.
    public func willFollow(_ response: PulseResponse) -> Bool {
        guard (300..<400).contains(response.statusCode) else { return false }
        let policy = call.options.redirectPolicy ?? .default
        switch policy.decision(for: response, hop: hop, isBodyReplayable: body.isReplayable) {
        case .follow: return true
        case .stop, .tooManyRedirects: return false
        }
    }

    /// From now on the header of that name counts as a secret of this call: masked in texts, dropped on the way to a
    /// foreign origin.
    public func markSecret(header name: String) {
        call.markSecret(header: name)
    }

    /// Emits an event, which is built only if somebody listens.
    public func emit(_ event: @autoclosure () -> NetworkEvent) {
        call.emit(event())
    }

    /// This call for an event.
    public var summary: CallSummary {
        summary(retryDelay: 0)
    }

    package func summary(retryDelay: TimeInterval) -> CallSummary {
        CallSummary(
            id: id, endpointPath: endpointPath, route: route, method: method, host: url.host ?? call.host,
            attempt: attempt, retryDelay: retryDelay, traceID: call.traceID)
    }

    /// For a chain that outlives its call.
    func detached() -> PluginContext {
        moved(to: call.detached()).with(attempt: 1)
    }

    /// The same attempt and body in another call.
    func moved(to call: Call) -> PluginContext {
        guard call !== self.call else { return self }
        var copy = self
        copy.call = call
        copy.wireAttempt = call.wireAttempts + 1
        return copy
    }
}
