// SPDX-License-Identifier: MIT

/// The settings of a client. Start from a base URL and change the settings that differ:
/// `PulseConfiguration(baseURL: url).with(\.timeout, value: 20)`.
public struct PulseConfiguration: Sendable {
    /// How much the client writes to the system's log.
    public enum LogLevel: Int, Sendable, Comparable {
        /// From nothing to everything: `error` writes failed calls, `warning` also retries and warnings, `info` also
        /// completed calls, `debug` also every attempt and redirect.
        case none, error, warning, info, debug

        public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
    }

    /// The URL that relative paths are joined to; its origin is the client's home. Nil by default.
    public var baseURL: URL?
    /// The idle timeout: seconds without a byte sent or received. 30 by default.
    public var timeout: TimeInterval = 30
    /// The connect timeout: seconds for name resolution, TCP and TLS together. 10 by default.
    public var connectTimeout: TimeInterval = 10
    /// The pool timeout: the maximum time in seconds that an attempt waits for one of the ``maxConnectionsPerHost``. 60
    /// by default, infinity for no limit. After that the attempt fails with a ``PulseError/PoolTimeout``, the
    /// underlying error of ``PulseError/transport(_:underlying:)``, and nothing was sent.
    public var poolTimeout: TimeInterval = 60
    /// The total time of a call in seconds; nil, the default, means no limit.
    public var deadline: TimeInterval?
    /// Header fields of every request; an endpoint's own fields override them. Empty by default. Secret fields are sent
    /// only to the home origin. A client without a home origin sends them with the first hop of each call, to any host.
    public var defaultHeaders: [String: String] = [:]
    /// Query items of every call, after those of the endpoint, unless the call has an item of that name. Like secret
    /// header fields, they are sent only to the home origin, or without one wherever a call goes. A ready `URLRequest`,
    /// the location of a redirect and that of a resumable upload get none. A call that is stored to be sent later is
    /// stored without them, and sent with the items configured at that time. Logs, recordings and the descriptions of
    /// errors and responses mask their values. Empty by default.
    public var defaultQueryItems: [URLQueryItem] = []
    /// Which failures are retried and how often; three attempts in all by default.
    public var retryPolicy: RetryPolicy = .default
    /// Whether calls without a connection are stored and sent later; disabled by default.
    public var offlineQueuePolicy: OfflineQueuePolicy = .disabled
    /// The pinned public keys of servers; disabled by default.
    public var sslPinningPolicy: SSLPinningPolicy = .disabled
    /// Which redirects are followed; up to 10 by default.
    public var redirectPolicy: RedirectPolicy = .default
    /// Origins besides the base URL's that credentials may be sent to. Only the scheme, host and port of each URL
    /// count. Empty by default.
    public var trustedOrigins: [URL] = []
    /// Header names that are secret in addition to the well-known ones. Like `Authorization`, they are sent only to the
    /// home origin, and masked in logs and recordings. Empty by default.
    public var secretHeaders: Set<String> = []
    /// How much the client writes to its log; nothing by default.
    public var logLevel: LogLevel = .none
    /// The encoder of request bodies; JSON by default.
    public var encoder: any RequestEncoder = .json
    /// The decoder of responses; JSON by default.
    public var decoder: any ResponseDecoder = .json
    /// The maximum size of a buffered body in bytes; 128 MiB by default. A larger body throws
    /// ``PulseError/responseTooLarge(limit:)``.
    public var maxBufferedBodySize = 128 << 20
    /// The maximum number of requests in progress to one host: 6 on Apple platforms and 64 on Linux by default. The
    /// others wait, see ``poolTimeout``. Streamed responses and open sockets do not count, downloads do. Over HTTP/1.1
    /// each request has a connection, over HTTP/2 they share one.
    public var maxConnectionsPerHost = Self.platformConnectionsPerHost
    /// How connections are secured; the system's authorities and TLS 1.2 or later by default.
    public var tls: TLSSettings = .default
    /// The versions of HTTP; the newest that transport and server have in common by default. Upgrades use HTTP/1.1.
    public var httpVersions = HTTPVersions.automatic
    /// The proxy that requests go through; that of the environment by default.
    public var proxy: ProxySettings = .environment
    /// How GraphQL operations are sent; to `/graphql` by default.
    public var graphQL = GraphQLSettings()
    /// The cookie store; nil, the default, sends and stores no cookies.
    public var cookieStore: (any CookieStore)?
    /// The monitor of the network path; nil, the default, is the system's, which is started on first use.
    public var connectivity: (any ConnectivityMonitor)?
    /// The clock for deadlines and waits; the system's by default. Tests pass their own.
    public var clock: any PulseClock = .system
    /// The source of jitter and identifiers; the system's by default. Tests pass a seeded source.
    public var randomness: any Randomness = .system

    /// Creates a configuration without a base URL: only absolute URLs can be called, and a relative path throws
    /// ``PulseError/invalidURL(_:)``.
    public init() {}

    /// Creates a configuration with the default settings for the server at a URL.
    ///
    /// - Parameter baseURL: an absolute http or https URL. With any other URL, the client warns when it is created, and
    ///   each call of a relative path throws ``PulseError/invalidURL(_:)``, whose text names the URL.
    public init(baseURL: URL) {
        self.baseURL = baseURL
    }

    /// Creates a configuration with the default settings for the server at a URL: `"https://api.example.com/v1"`.
    ///
    /// Text that is not an absolute http or https URL is treated as in ``init(baseURL:)-(URL)``: the client warns, and
    /// each call of a relative path throws ``PulseError/invalidURL(_:)``.
    public init(baseURL: String) {
        // Text that cannot be parsed may contain credentials anywhere: no error shows it.
        self.baseURL = URL(string: baseURL) ?? (baseURL.isEmpty ? Self.emptyBaseURL : Self.unreadableBaseURL)
    }

    /// Stands for an empty text, so that each call can report it.
    package static let emptyBaseURL = URL(string: "pulse-base-url:empty")
    /// Stands for a text that is not a URL.
    package static let unreadableBaseURL = URL(string: "pulse-base-url:unreadable")

    /// Returns a copy with one setting changed.
    public func with<Value>(_ setting: WritableKeyPath<PulseConfiguration, Value>, value: Value) -> PulseConfiguration {
        var copy = self
        copy[keyPath: setting] = value
        return copy
    }

    #if canImport(Darwin)
    private static let platformConnectionsPerHost = 6
    #else
    private static let platformConnectionsPerHost = 64
    #endif
}
