// SPDX-License-Identifier: MIT

/// Settings of one call. Every field is optional and nil inherits: the call's over the endpoint's over the client's,
/// field by field.
///
/// Times are positive numbers of seconds, infinity for no limit; anything else is ``PulseError/invalidRequest(reason:)``.
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
    public var headers: [String: String]? {
        get { box?.fields.headers }
        set { fields.headers = newValue }
    }

    /// Idle seconds: without a byte sent or received. Beats the endpoint's ``Endpoint/timeoutInterval``.
    public var timeout: TimeInterval? {
        get { box?.fields.timeout }
        set { fields.timeout = newValue }
    }

    /// Seconds for name, TCP and TLS.
    public var connectTimeout: TimeInterval? {
        get { box?.fields.connectTimeout }
        set { fields.connectTimeout = newValue }
    }

    /// Seconds for the whole call: hops, attempts, waits, refreshes. What is left of a budget may be given: with nothing
    /// left, or less, the call is ``PulseError/deadlineExceeded(last:)`` before anything is sent.
    public var deadline: TimeInterval? {
        get { box?.fields.deadline }
        set { fields.deadline = newValue }
    }

    /// Beats the configuration's policy and any retry plugin. ``RetryPolicy/never`` switches retries off.
    public var retry: RetryPolicy? {
        get { box?.fields.retry }
        set { fields.retry = newValue }
    }

    public var auth: Auth? {
        get { box?.fields.auth }
        set { fields.auth = newValue }
    }

    public var cache: Cache? {
        get { box?.fields.cache }
        set { fields.cache = newValue }
    }

    /// Whether concurrent identical calls may share one request, if the client has a coalescing plugin.
    public var coalesces: Bool? {
        get { box?.fields.coalesces }
        set { fields.coalesces = newValue }
    }

    /// One that is empty or no value of a header is ``PulseError/invalidRequest(reason:)``.
    public var idempotencyKey: IdempotencyKey? {
        get { box?.fields.idempotencyKey }
        set { fields.idempotencyKey = newValue }
    }

    /// What `cancelAll(tag:)` knows the call by; also its order in the offline queue.
    public var tag: String? {
        get { box?.fields.tag }
        set { fields.tag = newValue }
    }

    /// The name under which metrics count the call; the template or the endpoint's type name without it.
    public var route: String? {
        get { box?.fields.route }
        set { fields.route = newValue }
    }

    public var priority: RequestPriority? {
        get { box?.fields.priority }
        set { fields.priority = newValue }
    }

    public var acceptedStatuses: AcceptedStatuses? {
        get { box?.fields.acceptedStatuses }
        set { fields.acceptedStatuses = newValue }
    }

    public var decoder: (any ResponseDecoder)? {
        get { box?.fields.decoder }
        set { fields.decoder = newValue }
    }

    public var encoder: (any RequestEncoder)? {
        get { box?.fields.encoder }
        set { fields.encoder = newValue }
    }

    public var redirectPolicy: RedirectPolicy? {
        get { box?.fields.redirectPolicy }
        set { fields.redirectPolicy = newValue }
    }

    /// Bytes of a buffered body at most; more is ``PulseError/responseTooLarge(limit:)``.
    public var maximumBufferedBodySize: Int? {
        get { box?.fields.maximumBufferedBodySize }
        set { fields.maximumBufferedBodySize = newValue }
    }

    /// Whether the call joins the offline queue behind what is already waiting under its tag.
    public var queuesBehindPending: Bool? {
        get { box?.fields.queuesBehindPending }
        set { fields.queuesBehindPending = newValue }
    }

    /// Whether the call waits for a connection after it failed for want of one, while the configuration's
    /// ``PulseConfiguration/connectivity`` reports no way to the network. Until the deadline, whatever the retry policy says;
    /// without a deadline for as long as it takes, with a try every minute, since a monitor may be wrong.
    public var waitsForConnectivity: Bool? {
        get { box?.fields.waitsForConnectivity }
        set { fields.waitsForConnectivity = newValue }
    }

    /// Nil if no field is set. Options are handed on at every step of a call, and most calls set none.
    var box: Box?

    /// Nothing set: everything is inherited.
    public init() {}

    /// A copy with one field set: `.init().with(\.tag, value: "feed")`.
    public func with<Value>(_ field: WritableKeyPath<RequestOptions, Value>, value: Value) -> RequestOptions {
        var copy = self
        copy[keyPath: field] = value
        return copy
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
        // Bytes alone: a hash of the name would cost more than a look at the few fields of a request.
        var found: String?
        for (other, value) in self where other.equalsIgnoringASCIICase(name) {
            if other == name { return value }
            found = value
        }
        return found
    }
}
