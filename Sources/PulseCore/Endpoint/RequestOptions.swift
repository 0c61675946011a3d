// SPDX-License-Identifier: MIT

/// Settings of one call. Every field is optional and nil inherits: the call's over the endpoint's over the client's,
/// field by field.
public struct RequestOptions: Sendable {
    /// How a call takes part in authentication.
    public enum Auth: Sendable, Hashable {
        /// With a token if there is one: the default.
        case optional
        /// Without a token the call fails before it is sent.
        case required
        /// Never with a token.
        case anonymous
    }

    /// How a call uses the cache.
    public enum Cache: Sendable, Hashable {
        /// As the caching rules say.
        case `default`
        /// Past the cache, whose entry is replaced.
        case reload
        /// Ask the server whether the stored answer still holds.
        case revalidate
        /// A stored answer, however old; the network only without one.
        case cacheElseNetwork
        /// A stored answer or ``PulseError/cacheMiss``.
        case onlyIfCached
        /// A stored answer now, and a fresh one fetched behind it.
        case staleWhileRevalidate
    }

    /// The `Idempotency-Key` of a call.
    public enum IdempotencyKey: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A UUID, the same on all attempts of the call.
        case automatic
        case value(String)

        public init(stringLiteral value: String) {
            self = .value(value)
        }
    }

    /// Header fields of this call, over the endpoint's and the configuration's.
    public var headers: [String: String]?
    /// Idle seconds: without a byte sent or received. Beats the endpoint's ``Endpoint/timeoutInterval``.
    public var timeout: TimeInterval?
    /// Seconds for name, TCP and TLS.
    public var connectTimeout: TimeInterval?
    /// Seconds for the whole call: hops, attempts, waits, refreshes.
    public var deadline: TimeInterval?
    /// Beats the configuration's policy and any retry plugin. ``RetryPolicy/never`` switches retries off.
    public var retry: RetryPolicy?
    public var auth: Auth?
    public var cache: Cache?
    /// Whether concurrent identical calls may share one request, if the client has a coalescing plugin.
    public var coalesces: Bool?
    public var idempotencyKey: IdempotencyKey?
    /// What `cancelAll(tag:)` knows the call by; also its order in the offline queue.
    public var tag: String?
    /// The name under which metrics count the call; the template or the endpoint's type name without it.
    public var route: String?
    public var priority: RequestPriority?
    public var acceptedStatuses: AcceptedStatuses?
    public var decoder: (any ResponseDecoder)?
    public var encoder: (any RequestEncoder)?
    public var redirectPolicy: RedirectPolicy?
    /// Bytes of a buffered body at most; more is ``PulseError/responseTooLarge(limit:)``.
    public var maximumBufferedBodySize: Int?
    /// Whether the call joins the offline queue behind what is already waiting under its tag.
    public var queuesBehindPending: Bool?
    /// Whether the call waits for a connection after it failed for want of one.
    public var waitsForConnectivity: Bool?

    /// Nothing set: everything is inherited.
    public init() {}

    /// A copy with one field set: `.init().with(\.tag, value: "feed")`.
    public func with<Value>(_ field: WritableKeyPath<RequestOptions, Value>, value: Value) -> RequestOptions {
        var copy = self
        copy[keyPath: field] = value
        return copy
    }

    /// Takes the nil fields from `base`. Headers are merged by name.
    package mutating func inherit(_ base: RequestOptions) {
        if let headers = base.headers { self.headers = headers.overridden(by: self.headers ?? [:]) }
        if timeout == nil { timeout = base.timeout }
        if connectTimeout == nil { connectTimeout = base.connectTimeout }
        if deadline == nil { deadline = base.deadline }
        if retry == nil { retry = base.retry }
        if auth == nil { auth = base.auth }
        if cache == nil { cache = base.cache }
        if coalesces == nil { coalesces = base.coalesces }
        if idempotencyKey == nil { idempotencyKey = base.idempotencyKey }
        if tag == nil { tag = base.tag }
        if route == nil { route = base.route }
        if priority == nil { priority = base.priority }
        if acceptedStatuses == nil { acceptedStatuses = base.acceptedStatuses }
        if decoder == nil { decoder = base.decoder }
        if encoder == nil { encoder = base.encoder }
        if redirectPolicy == nil { redirectPolicy = base.redirectPolicy }
        if maximumBufferedBodySize == nil { maximumBufferedBodySize = base.maximumBufferedBodySize }
        if queuesBehindPending == nil { queuesBehindPending = base.queuesBehindPending }
        if waitsForConnectivity == nil { waitsForConnectivity = base.waitsForConnectivity }
    }
}

/// How urgent a request is among those of its client; a hint to the transport and to limits.
public enum RequestPriority: Int, Sendable, Hashable, Comparable {
    case low, normal, high

    public static func < (left: RequestPriority, right: RequestPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension [String: String] {
    /// These header fields with others laid over them; names compare in any case.
    package func overridden(by others: [String: String]) -> [String: String] {
        guard !others.isEmpty else { return self }
        var merged = self
        for (name, value) in others {
            merged.setHeader(name, to: value)
        }
        return merged
    }

    package mutating func setHeader(_ name: String, to value: String?) {
        // A dictionary may hold one name in several spellings, and `URLRequest` would take any of them.
        while let other = keys.first(where: { $0.equalsIgnoringASCIICase(name) && $0 != name }) {
            self[other] = nil
        }
        self[name] = value
    }

    package func header(_ name: String) -> String? {
        self[name] ?? first { $0.key.equalsIgnoringASCIICase(name) }?.value
    }
}
