// SPDX-License-Identifier: MIT

/// Settings of one call. Every field is optional and nil inherits: the call's settings win over the endpoint's, and
/// those over the client's, field by field.
///
/// Timeouts are positive numbers of seconds, or infinity for no limit; anything else is
/// ``PulseError/invalidRequest(reason:)``. A ``deadline`` may be 0 or less: it has passed then.
public struct RequestOptions: Sendable {
    /// How a call takes part in authentication.
    public enum Auth: Sendable, Hashable {
        /// A token is sent if there is one: the default.
        case optional
        /// A credential must be sent, whichever plugin sets it: without one the call fails with
        /// ``PulseError/unauthorized(_:)`` before it is sent. At an origin that is not home it fails with
        /// ``PulseError/invalidRequest(reason:)`` unless the endpoint carries a credential of its own.
        case required
        /// No token is sent.
        case anonymous
    }

    /// How a call uses the cache.
    public enum Cache: Sendable, Hashable {
        /// The caching rules decide: the default.
        case `default`
        /// The network is asked, and its answer replaces the stored one.
        case reload
        /// The server is asked whether the stored answer still holds.
        case revalidate
        /// A stored answer is used, however old it is; the network is asked only if there is none.
        case cacheElseNetwork
        /// A stored answer is used; without one the call throws ``PulseError/cacheMiss``, as do all that no cache
        /// answers, such as uploads. Nothing is sent.
        case onlyIfCached
        /// A stored answer is used at once, while a fresh one is fetched for later calls.
        case staleWhileRevalidate
    }

    /// The `Idempotency-Key` of a call.
    public enum IdempotencyKey: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A UUID made by the client, the same on all attempts of the call.
        case automatic
        /// A key of the caller's own.
        case value(String)

        /// Creates a ``value(_:)``.
        public init(stringLiteral value: String) {
            self = .value(value)
        }
    }

    /// Header fields of this call, which win over the endpoint's and the configuration's.
    public var headers: [String: String]? {
        get { box?.fields.headers }
        set { fields.headers = newValue }
    }

    /// The idle timeout: seconds without a byte sent or received. Wins over ``Endpoint/timeoutInterval``.
    public var timeout: TimeInterval? {
        get { box?.fields.timeout }
        set { fields.timeout = newValue }
    }

    /// The connect timeout: seconds for name resolution, TCP and TLS together.
    public var connectTimeout: TimeInterval? {
        get { box?.fields.connectTimeout }
        set { fields.connectTimeout = newValue }
    }

    /// The total time of the call in seconds, with all redirects, attempts, waits and token refreshes.
    ///
    /// The rest of a time budget may be given: if nothing is left (0 or less), the call throws
    /// ``PulseError/deadlineExceeded(last:)`` before anything is sent.
    public var deadline: TimeInterval? {
        get { box?.fields.deadline }
        set { fields.deadline = newValue }
    }

    /// The retry policy. Wins over the configuration's policy and any retry plugin; ``RetryPolicy/never`` switches
    /// retries off.
    public var retry: RetryPolicy? {
        get { box?.fields.retry }
        set { fields.retry = newValue }
    }

    /// How the call takes part in authentication; nil means ``Auth/optional``.
    public var auth: Auth? {
        get { box?.fields.auth }
        set { fields.auth = newValue }
    }

    /// How the call uses the cache; nil means ``Cache/default``. Without a cache plugin, one with the identifier
    /// `com.pulse.cache`, only ``Cache/onlyIfCached`` has an effect, and the client warns of any other.
    public var cache: Cache? {
        get { box?.fields.cache }
        set { fields.cache = newValue }
    }

    /// Whether concurrent identical calls may share one request, if the client has a coalescing plugin, one with the
    /// identifier `com.pulse.coalescing`; nil means yes. The client warns of true without such a plugin.
    public var coalesces: Bool? {
        get { box?.fields.coalesces }
        set { fields.coalesces = newValue }
    }

    /// The `Idempotency-Key` of the call. A key that is empty or not a legal header value throws
    /// ``PulseError/invalidRequest(reason:)``.
    public var idempotencyKey: IdempotencyKey? {
        get { box?.fields.idempotencyKey }
        set { fields.idempotencyKey = newValue }
    }

    /// The tag under which `cancelAll(tag:)` finds the call. Calls with the same tag keep their order in the offline
    /// queue.
    public var tag: String? {
        get { box?.fields.tag }
        set { fields.tag = newValue }
    }

    /// The name under which metrics count the call. Without it, that is the name of the endpoint's type; of a
    /// ``Request`` or a verb of the client, its method and template.
    public var route: String? {
        get { box?.fields.route }
        set { fields.route = newValue }
    }

    /// How urgent the call is among those of its client; nil means ``RequestPriority/normal``.
    public var priority: RequestPriority? {
        get { box?.fields.priority }
        set { fields.priority = newValue }
    }

    /// The statuses that count as a success; nil means 200 to 299.
    public var acceptedStatuses: AcceptedStatuses? {
        get { box?.fields.acceptedStatuses }
        set { fields.acceptedStatuses = newValue }
    }

    /// The decoder of the response, in place of the configuration's.
    public var decoder: (any ResponseDecoder)? {
        get { box?.fields.decoder }
        set { fields.decoder = newValue }
    }

    /// The encoder of the body, in place of the configuration's.
    public var encoder: (any RequestEncoder)? {
        get { box?.fields.encoder }
        set { fields.encoder = newValue }
    }

    /// Which redirects are followed, in place of the configuration's policy.
    public var redirectPolicy: RedirectPolicy? {
        get { box?.fields.redirectPolicy }
        set { fields.redirectPolicy = newValue }
    }

    /// The most bytes that a buffered body may have; more throw ``PulseError/responseTooLarge(limit:)``.
    public var maximumBufferedBodySize: Int? {
        get { box?.fields.maximumBufferedBodySize }
        set { fields.maximumBufferedBodySize = newValue }
    }

    /// Whether the call joins the offline queue behind the entries that already wait under its tag; nil means no.
    ///
    /// It needs an endpoint with ``Endpoint/isQueueableWhenOffline``. A call without that would overtake the queue: it
    /// fails with ``PulseError/invalidRequest(reason:)``, unless its method is safe. The client warns of true where it
    /// has no effect.
    public var queuesBehindPending: Bool? {
        get { box?.fields.queuesBehindPending }
        set { fields.queuesBehindPending = newValue }
    }

    /// Whether the call waits for a connection after it failed for lack of one, as long as the configuration's
    /// ``PulseConfiguration/connectivity`` reports no way to the network; nil means no.
    ///
    /// It waits until the deadline, whatever the retry policy says. Without a deadline it waits as long as it takes,
    /// and tries once a minute, since a monitor may be wrong.
    public var waitsForConnectivity: Bool? {
        get { box?.fields.waitsForConnectivity }
        set { fields.waitsForConnectivity = newValue }
    }

    /// The fields, or nil if none is set. Options are copied at every step of a call, and most calls set none.
    var box: Box?

    /// Creates options with nothing set: every field is inherited.
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
    /// Ordered from the least to the most urgent; `normal` is the default.
    case low, normal, high

    public static func < (left: RequestPriority, right: RequestPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension [String: String] {
    /// These header fields with others laid over them; names are compared in any case.
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
