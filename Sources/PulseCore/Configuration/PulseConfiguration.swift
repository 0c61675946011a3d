// SPDX-License-Identifier: MIT

/// The settings of a client. Start from a base URL and change the settings that differ:
/// `PulseConfiguration(baseURL: url).with(\.timeout, value: 20)`.
public struct PulseConfiguration: Sendable {
    /// How much the client writes to the system's log by itself.
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
    /// The total time of a call in seconds; nil, the default, is no limit.
    public var deadline: TimeInterval?
    /// Header fields of every request, which an endpoint's own override. Empty by default. Secret ones are sent home
    /// only; a client that has no home sends them with the first hop of each call, wherever that goes.
    public var defaultHeaders: [String: String] = [:]
    /// Which failures are tried again and how often; three attempts in all by default.
    public var retryPolicy: RetryPolicy = .default
    /// Whether calls without a connection are kept and sent later; disabled by default.
    public var offlineQueuePolicy: OfflineQueuePolicy = .disabled
    /// Which public keys servers must prove; disabled by default.
    public var sslPinningPolicy: SSLPinningPolicy = .disabled
    /// Which redirects are followed; up to 10 by default.
    public var redirectPolicy: RedirectPolicy = .default
    /// Origins that credentials may be sent to besides the base URL's; of each URL only the scheme, host and port
    /// count. Empty by default.
    public var trustedOrigins: [URL] = []
    /// Header names that are secret in addition to the well-known ones: like `Authorization` they are sent home only,
    /// and masked in logs and recordings. Empty by default.
    public var secretHeaders: Set<String> = []
    /// How much the client writes to its log by itself; nothing by default.
    public var logLevel: LogLevel = .none
    /// The encoder of request bodies; JSON by default.
    public var encoder: any RequestEncoder = .json
    /// The decoder of responses; JSON by default.
    public var decoder: any ResponseDecoder = .json
    /// The most bytes that a buffered body may have; 128 MiB by default. More throw
    /// ``PulseError/responseTooLarge(limit:)``.
    public var maximumBufferedBodySize = 128 << 20
    /// The most connections to one host at a time: 6 on Apple platforms and 64 on Linux by default.
    public var maximumConnectionsPerHost = Self.platformConnectionsPerHost
    /// How connections are secured; the system's authorities and TLS 1.2 or later by default.
    public var tls: TLSSettings = .default
    /// Which proxy requests go through; that of the environment by default.
    public var proxy: ProxySettings = .environment
    /// The store of cookies; nil, the default, sends and keeps none.
    public var cookieStore: (any CookieStore)?
    /// The monitor of the way to the network; nil, the default, is the system's, which is started when it is first
    /// needed.
    public var connectivity: (any ConnectivityMonitor)?
    /// The clock of deadlines and waits; the system's by default. Tests pass one of their own.
    public var clock: any PulseClock = .system
    /// The source of jitter and identifiers; the system's by default. Tests pass a seeded one.
    public var randomness: any Randomness = .system

    /// Creates a configuration without a base URL: only absolute URLs can be called, and a relative path throws
    /// ``PulseError/invalidURL(_:)``.
    public init() {}

    /// Creates a configuration with the default settings for the server at that URL.
    ///
    /// - Parameter baseURL: an absolute http or https URL. Any other makes the client warn when it is created, and each
    ///   call of a relative path throw ``PulseError/invalidURL(_:)``, whose text names it.
    public init(baseURL: URL) {
        self.baseURL = baseURL
    }

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
