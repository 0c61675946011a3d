// SPDX-License-Identifier: MIT

/// A client's settings. Start from a base URL and change what differs:
/// `PulseConfiguration(baseURL: url).with(\.timeout, value: 20)`.
public struct PulseConfiguration: Sendable {
    /// What the client writes to its log by itself.
    public enum LogLevel: Int, Sendable, Comparable {
        case none, error, warning, info, debug

        public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
    }

    /// Where relative paths start. Its origin is the client's home.
    public var baseURL: URL?
    /// Idle seconds: without a byte sent or received.
    public var timeout: TimeInterval = 30
    /// Seconds for name, TCP and TLS.
    public var connectTimeout: TimeInterval = 10
    /// Seconds for a whole call, nil for no limit.
    public var deadline: TimeInterval?
    /// On every request, under the endpoint's own.
    public var defaultHeaders: [String: String] = [:]
    public var retryPolicy: RetryPolicy = .default
    public var offlineQueuePolicy: OfflineQueuePolicy = .disabled
    public var sslPinningPolicy: SSLPinningPolicy = .disabled
    public var redirectPolicy: RedirectPolicy = .default
    /// Origins besides the base URL's that credentials may go to; of each URL its scheme, host and port count.
    public var trustedOrigins: [URL] = []
    /// Header names that are secret besides the well-known ones: they go home only, like `Authorization`.
    public var secretHeaders: Set<String> = []
    public var logLevel: LogLevel = .none
    public var encoder: any RequestEncoder = .json
    public var decoder: any ResponseDecoder = .json
    /// Bytes of a buffered body at most.
    public var maximumBufferedBodySize = 128 << 20
    /// Sockets to one host at most.
    public var maximumConnectionsPerHost = Self.platformConnectionsPerHost
    public var tls: TLSSettings = .default
    public var proxy: ProxySettings = .environment
    /// Nil sends and keeps no cookies.
    public var cookieStore: (any CookieStore)?
    /// Nil is the system's, which is started by what needs it first.
    public var connectivity: (any ConnectivityMonitor)?
    public var clock: any PulseClock = .system
    public var randomness: any Randomness = .system

    /// Without a base URL only absolute URLs can be called; a relative path fails with ``PulseError/invalidURL(_:)``.
    public init(baseURL: URL? = nil) {
        self.baseURL = baseURL
    }

    /// A copy with one setting changed.
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
