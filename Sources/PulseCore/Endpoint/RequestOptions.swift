// SPDX-License-Identifier: MIT

/// Settings of one call. Every field is optional, and nil inherits: the call's settings override the endpoint's, and
/// those override the client's, field by field.
///
/// ```swift
/// let options = RequestOptions().with(\.cache, value: .reload).with(\.deadline, value: 5)
/// ```
///
/// Timeouts are positive numbers of seconds, or infinity for no limit; anything else is
/// ``PulseError/invalidRequest(reason:)``. A ``deadline`` may be 0 or less, which means that it has passed.
public struct RequestOptions: Sendable {
    /// How a call takes part in authentication.
    public enum Auth: Sendable, Hashable {
        /// A token is sent if one is available: the default.
        case optional
        /// A credential must be sent, whichever plugin sets it. Without one the call fails with
        /// ``PulseError/unauthorized(_:)`` before it is sent. At an origin that is not home, it fails
        /// with ``PulseError/invalidRequest(reason:)`` unless the endpoint carries its own credential.
        case required
        /// No token is sent.
        case anonymous
    }

    /// How a call uses the cache.
    public enum Cache: Sendable, Hashable {
        /// The caching rules decide: the default.
        case `default`
        /// The request goes to the network, and its response replaces the stored one.
        case reload
        /// The stored response is revalidated with the server before use.
        case revalidate
        /// A stored response is used at any age; the network is used only if there is none.
        case cacheElseNetwork
        /// A stored response is used, and nothing is sent. Without one the call throws ``PulseError/cacheMiss``, as do
        /// all calls that no cache can serve, such as uploads.
        case onlyIfCached
        /// A stored response is used at once, while a fresh one is fetched for later calls.
        case staleWhileRevalidate
        /// The cache neither serves nor stores a response. An unsafe request still invalidates stored responses.
        case bypass
    }

    /// The `Idempotency-Key` of a call.
    public enum IdempotencyKey: Sendable, Hashable, ExpressibleByStringLiteral {
        /// A UUID made by the client, the same on all attempts of the call.
        case automatic
        /// A key set by the caller.
        case value(String)

        /// Creates a ``value(_:)``.
        public init(stringLiteral value: String) {
            self = .value(value)
        }
    }

    /// Header fields of this call, which override the endpoint's and the configuration's.
    public var headers: [String: String]? {
        get { box?.fields.headers }
        set { fields.headers = newValue }
    }

    /// The idle timeout: seconds without a byte sent or received. Overrides ``Endpoint/timeoutInterval``.
    public var timeout: TimeInterval? {
        get { box?.fields.timeout }
        set { fields.timeout = newValue }
    }

    /// The connect timeout: seconds for name resolution, TCP and TLS together.
    public var connectTimeout: TimeInterval? {
        get { box?.fields.connectTimeout }
        set { fields.connectTimeout = newValue }
    }

    /// The pool timeout: the maximum time in seconds that an attempt waits for a connection slot of the host. After
    /// that the attempt fails with a ``PulseError/PoolTimeout``, and nothing was sent.
    public var poolTimeout: TimeInterval? {
        get { box?.fields.poolTimeout }
        set { fields.poolTimeout = newValue }
    }

    /// The total time of the call in seconds, with all redirects, attempts, waits and token refreshes.
    ///
    /// It may be the remainder of a time budget: if nothing is left (0 or less), the call throws
    /// ``PulseError/deadlineExceeded(last:)`` before anything is sent.
    public var deadline: TimeInterval? {
        get { box?.fields.deadline }
        set { fields.deadline = newValue }
    }

    /// The retry policy. Overrides the configuration's policy and any retry plugin; ``RetryPolicy/never`` disables
    /// retries.
    public var retry: RetryPolicy? {
        get { box?.fields.retry }
        set { fields.retry = newValue }
    }

    /// How the call takes part in authentication; nil means ``Auth/optional``.
    public var auth: Auth? {
        get { box?.fields.auth }
        set { fields.auth = newValue }
    }

    /// How the call uses the cache; nil means ``Cache/default``. Without a cache plugin (identifier `com.pulse.cache`),
    /// only ``Cache/onlyIfCached`` has an effect, and the client warns about a value that needs a cache.
    public var cache: Cache? {
        get { box?.fields.cache }
        set { fields.cache = newValue }
    }

    /// Whether concurrent identical calls may share one request, if the client has a coalescing plugin (identifier
    /// `com.pulse.coalescing`); nil means yes. The client warns about true without such a plugin.
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

    /// The tag by which `cancelAll(tag:)` finds the call. Calls with the same tag keep their order in the offline
    /// queue.
    public var tag: String? {
        get { box?.fields.tag }
        set { fields.tag = newValue }
    }

    /// The name of the call in metrics. By default it is the name of the endpoint's type, or the method and template of
    /// a ``Request`` or a verb of the client.
    public var route: String? {
        get { box?.fields.route }
        set { fields.route = newValue }
    }

    /// The urgency of the call relative to others of its client; nil means ``RequestOptions/Priority/normal``.
    public var priority: Priority? {
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

    /// The maximum size of a buffered body in bytes; a larger body throws ``PulseError/responseTooLarge(limit:)``.
    public var maxBufferedBodySize: Int? {
        get { box?.fields.maxBufferedBodySize }
        set { fields.maxBufferedBodySize = newValue }
    }

    /// Whether the call joins the offline queue behind the pending entries with its tag; nil means no.
    ///
    /// It requires an endpoint with ``Endpoint/isQueueableWhenOffline``. Any other call would overtake the queue: it
    /// fails with ``PulseError/invalidRequest(reason:)``, unless its method is safe. The client warns if true has no
    /// effect.
    public var queuesBehindPending: Bool? {
        get { box?.fields.queuesBehindPending }
        set { fields.queuesBehindPending = newValue }
    }

    /// Whether the call waits for a connection after it failed for lack of one, as long as the configuration's
    /// ``PulseConfiguration/connectivity`` reports no path to the network; nil means no.
    ///
    /// It waits until the deadline, whatever the retry policy. Without a deadline there is no limit, and the call
    /// retries once a minute, since a monitor may be wrong.
    public var waitsForConnectivity: Bool? {
        get { box?.fields.waitsForConnectivity }
        set { fields.waitsForConnectivity = newValue }
    }

    /// Whether the call may use an expensive network, such as cellular data or a personal hotspot; nil means yes.
    /// Without another network it fails with ``PulseError/transport(_:underlying:)``.
    ///
    /// ``URLSessionTransport`` applies it on Apple platforms. Elsewhere it has no effect, and the client warns.
    public var allowsExpensiveNetworkAccess: Bool? {
        get { box?.fields.allowsExpensiveNetworkAccess }
        set { fields.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether the call may use a network in Low Data Mode; nil means yes. Without another network it fails with
    /// ``PulseError/transport(_:underlying:)``.
    ///
    /// ``URLSessionTransport`` applies it on Apple platforms. Elsewhere it has no effect, and the client warns.
    public var allowsConstrainedNetworkAccess: Bool? {
        get { box?.fields.allowsConstrainedNetworkAccess }
        set { fields.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether the system tries HTTP/3 with a server that has not announced it yet; nil means no. With an announcement
    /// (RFC 9114, section 3.1.1) the system uses HTTP/3 without this option.
    ///
    /// ``URLSessionTransport`` applies it on Apple platforms, except for upgrades and through a proxy. Elsewhere it has
    /// no effect, and the client warns.
    public var assumesHTTP3Capable: Bool? {
        get { box?.fields.assumesHTTP3Capable }
        set { fields.assumesHTTP3Capable = newValue }
    }

    /// The purpose of the traffic, by which the system sets its priority; nil means `.default`.
    ///
    /// ``URLSessionTransport`` applies it on Apple platforms, except for upgrades. Elsewhere it has no effect, and the
    /// client warns.
    public var networkServiceType: URLRequest.NetworkServiceType? {
        get { box?.fields.networkServiceType }
        set { fields.networkServiceType = newValue }
    }

    /// Receives the progress of the call's request body or, without one, of a response body that is stored in a file.
    /// Nil, the default, measures nothing.
    ///
    /// It receives at most ten values a second by the client's clock: the first at once, the last before the call
    /// returns or throws, and nothing afterwards. An empty body is 0 of 0 bytes. Each attempt, such as a retry, a
    /// redirect that keeps the body or a replay after a token refresh, starts again at 0: only then does
    /// ``TransferProgress/completed`` decrease. Bytes are counted as they are sent, after compression by a plugin, or
    /// as they are stored. For small bodies in memory, measuring costs more than sending: set it where a progress bar
    /// needs it.
    ///
    /// It is called from any thread, never concurrently for one call, and the transfer may wait for it: it must return
    /// quickly, and must not wait for the call. Requests that plugins make themselves or for several calls together,
    /// and entries that the offline queue sends later, report nothing.
    public var progress: (@Sendable (TransferProgress) -> Void)? {
        get { box?.fields.progress }
        set { fields.progress = newValue }
    }

    /// The names of the set options that have an effect only on Apple platforms.
    package var namesOfAppleOptions: [String] {
        guard let fields = box?.fields else { return [] }
        return [
            fields.allowsExpensiveNetworkAccess != nil ? "allowsExpensiveNetworkAccess" : nil,
            fields.allowsConstrainedNetworkAccess != nil ? "allowsConstrainedNetworkAccess" : nil,
            fields.assumesHTTP3Capable != nil ? "assumesHTTP3Capable" : nil,
            fields.networkServiceType != nil ? "networkServiceType" : nil,
        ].compactMap { $0 }
    }

    /// The fields, or nil if none is set. Options are copied at every step of a call, and most calls set none.
    var box: Box?

    /// Creates options with nothing set: every field is inherited.
    public init() {}

    /// Creates options by setting some, as an argument of any call: `options: .init { $0.deadline = 5 }`.
    public init(_ set: (inout RequestOptions) throws -> Void) rethrows {
        self.init()
        try set(&self)
    }

    /// Returns a copy with one field set: `.init().with(\.tag, value: "feed")`.
    public func with<Value>(_ field: WritableKeyPath<RequestOptions, Value>, value: Value) -> RequestOptions {
        var copy = self
        copy[keyPath: field] = value
        return copy
    }
}

extension [String: String] {
    /// These header fields overridden by others; names are case-insensitive.
    package func overridden(by others: [String: String]) -> [String: String] {
        guard !others.isEmpty else { return self }
        var merged = self
        for (name, value) in others {
            merged.setHeader(name, to: value)
        }
        return merged
    }

    package mutating func setHeader(_ name: String, to value: String?) {
        // A dictionary may hold one name in several spellings, and `URLRequest` would pick any of them.
        while let other = keys.first(where: { $0.equalsIgnoringASCIICase(name) && $0 != name }) {
            self[other] = nil
        }
        self[name] = value
    }

    package func header(_ name: String) -> String? {
        // Compare bytes only: hashing the name would cost more than scanning the few fields of a request.
        var found: String?
        for (other, value) in self where other.equalsIgnoringASCIICase(name) {
            if other == name { return value }
            found = value
        }
        return found
    }
}
