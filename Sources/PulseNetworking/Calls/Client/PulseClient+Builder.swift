// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability

extension PulseClient {
    /// Creates a client step by step; every method returns a changed copy:
    /// `PulseClient.Builder().baseURL(url).timeout(20).plugin(.headers(["X-A": "1"])).build()`.
    public struct Builder: Sendable {
        private var configuration: PulseConfiguration
        private var plugins: [any PulsePlugin] = []
        private var transport: (any Transport)?
        private var events: PulseEventBus = .shared

        /// Creates a builder with these settings, by default those of a new ``PulseConfiguration``.
        public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
            self.configuration = configuration
        }

        /// The base of relative paths. Its origin is the client's home: credentials may be sent to it. Nil by default.
        public func baseURL(_ url: URL) -> Builder { with(\.baseURL, value: url) }
        /// The base of relative paths, as text: `"https://api.example.com"`.
        public func baseURL(_ text: String) -> Builder {
            with(\.baseURL, value: PulseConfiguration(baseURL: text).baseURL)
        }
        /// The idle timeout: seconds without a byte sent or received, once connected. 30 by default.
        public func timeout(_ seconds: TimeInterval) -> Builder { with(\.timeout, value: seconds) }
        /// The connect timeout: seconds for name resolution, TCP and TLS together. 10 by default.
        public func connectTimeout(_ seconds: TimeInterval) -> Builder { with(\.connectTimeout, value: seconds) }
        /// The pool timeout: the maximum time in seconds that an attempt waits for a connection slot of the host. 60 by
        /// default.
        public func poolTimeout(_ seconds: TimeInterval) -> Builder { with(\.poolTimeout, value: seconds) }
        /// Seconds for a whole call, including redirects, attempts, waits and token refreshes. No limit by default.
        public func deadline(_ seconds: TimeInterval) -> Builder { with(\.deadline, value: seconds) }
        /// Which failures are retried, how often, and after which delays. ``RetryPolicy/default`` by default.
        public func retry(_ policy: RetryPolicy) -> Builder { with(\.retryPolicy, value: policy) }
        /// Whether and how calls without a connection are stored and sent later. Disabled by default.
        public func offlineQueue(_ policy: OfflineQueuePolicy) -> Builder { with(\.offlineQueuePolicy, value: policy) }
        /// The pinned public keys or certificates of servers. Disabled by default.
        public func pinning(_ policy: SSLPinningPolicy) -> Builder { with(\.sslPinningPolicy, value: policy) }
        /// Which redirects are followed. By default ``RedirectPolicy/default``, at most 10 hops.
        public func redirects(_ policy: RedirectPolicy) -> Builder { with(\.redirectPolicy, value: policy) }
        /// Origins besides the base URL's that credentials may be sent to. Of each URL only the scheme, host and port
        /// count. Empty by default.
        public func trustedOrigins(_ origins: [URL]) -> Builder { with(\.trustedOrigins, value: origins) }
        /// Names of headers that are secret besides the well-known ones. They are sent only to home origins, and masked
        /// in logs and recordings.
        public func secretHeaders(_ names: Set<String>) -> Builder { with(\.secretHeaders, value: names) }
        /// The log level of the client. Logs nothing by default.
        public func logLevel(_ level: PulseConfiguration.LogLevel) -> Builder { with(\.logLevel, value: level) }
        /// The encoder of request bodies. JSON by default.
        public func encoder(_ encoder: any RequestEncoder) -> Builder { with(\.encoder, value: encoder) }
        /// The decoder of responses. JSON by default.
        public func decoder(_ decoder: any ResponseDecoder) -> Builder { with(\.decoder, value: decoder) }
        /// The maximum size of a buffered body in bytes. A larger body throws
        /// ``PulseError/responseTooLarge(limit:)``. 128 MiB by default.
        public func maxBufferedBodySize(_ bytes: Int) -> Builder { with(\.maxBufferedBodySize, value: bytes) }
        /// The maximum number of requests in progress to one host; further requests wait, streamed ones never. 6 by
        /// default on Apple platforms, 64 on Linux. It applies only to the transport that the client creates itself.
        public func maxConnectionsPerHost(_ count: Int) -> Builder {
            with(\.maxConnectionsPerHost, value: count)
        }
        /// Certificate authorities, client certificate and minimum TLS version. ``TLSSettings/default`` by default.
        public func tls(_ settings: TLSSettings) -> Builder { with(\.tls, value: settings) }
        /// The allowed HTTP versions. ``PulseConfiguration/HTTPVersions/automatic`` by default.
        public func httpVersions(_ versions: PulseConfiguration.HTTPVersions) -> Builder {
            with(\.httpVersions, value: versions)
        }
        /// The proxy that requests go through. ``ProxySettings/environment`` by default.
        public func proxy(_ settings: ProxySettings) -> Builder { with(\.proxy, value: settings) }
        /// The cookie store. Nil, the default, sends and stores no cookies.
        public func cookieStore(_ store: (any CookieStore)?) -> Builder { with(\.cookieStore, value: store) }
        /// The monitor of the network path. The system's by default.
        public func connectivity(_ monitor: any ConnectivityMonitor) -> Builder { with(\.connectivity, value: monitor) }
        /// The clock for timestamps, deadlines and waits. The system's by default.
        public func clock(_ clock: any PulseClock) -> Builder { with(\.clock, value: clock) }
        /// The source of jitter, keys and ids. The system's by default.
        public func randomness(_ randomness: any Randomness) -> Builder { with(\.randomness, value: randomness) }

        /// Adds a default header field. It replaces a field of that name, compared without case.
        public func header(_ name: String, _ value: String) -> Builder {
            changed { $0.configuration.defaultHeaders.setHeader(name, to: value) }
        }

        /// Adds a plugin after the plugins added so far.
        public func plugin(_ plugin: any PulsePlugin) -> Builder {
            changed { $0.plugins.append(plugin) }
        }

        /// The transport that sends the requests. The caller owns it and shuts it down. By default the client creates
        /// the platform's transport.
        public func transport(_ transport: any Transport) -> Builder {
            changed { $0.transport = transport }
        }

        /// The bus for the events of the client's calls. ``PulseEventBus/shared`` by default.
        public func events(_ bus: PulseEventBus) -> Builder {
            changed { $0.events = bus }
        }

        /// Changes any setting of the configuration.
        public func with<Value>(_ setting: WritableKeyPath<PulseConfiguration, Value>, value: Value) -> Builder {
            changed { $0.configuration[keyPath: setting] = value }
        }

        /// Creates the client. It starts no work before its first call, unless the offline queue has entries to send.
        public func build() -> PulseClient {
            PulseClient(configuration: configuration, plugins: plugins, transport: transport, events: events)
        }

        private func changed(_ change: (inout Builder) -> Void) -> Builder {
            var copy = self
            change(&copy)
            return copy
        }
    }
}
