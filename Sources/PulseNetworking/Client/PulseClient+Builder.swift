// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability

extension PulseClient {
    /// Makes a client step by step; every method gives a changed copy:
    /// `PulseClient.Builder().baseURL(url).timeout(20).plugin(.headers(["X-A": "1"])).build()`.
    public struct Builder: Sendable {
        private var configuration: PulseConfiguration
        private var plugins: [any PulsePlugin] = []
        private var transport: (any Transport)?
        private var events: PulseEventBus = .shared

        /// A builder that starts from these settings, by default those of a new ``PulseConfiguration``.
        public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
            self.configuration = configuration
        }

        /// Where relative paths start. Its origin is the client's home, to which credentials may go. None by default.
        public func baseURL(_ url: URL) -> Builder { with(\.baseURL, value: url) }
        /// The idle timeout in seconds: how long no byte is sent or received, once connected. 30 by default.
        public func timeout(_ seconds: TimeInterval) -> Builder { with(\.timeout, value: seconds) }
        /// Seconds for resolving the name, TCP and TLS together. 10 by default.
        public func connectTimeout(_ seconds: TimeInterval) -> Builder { with(\.connectTimeout, value: seconds) }
        /// Seconds for a whole call, with its redirects, attempts, waits and token refreshes. No limit by default.
        public func deadline(_ seconds: TimeInterval) -> Builder { with(\.deadline, value: seconds) }
        /// Which failures are tried again, how often, and after which waits. ``RetryPolicy/default`` unless set.
        public func retry(_ policy: RetryPolicy) -> Builder { with(\.retryPolicy, value: policy) }
        /// Whether and how calls that find no connection are kept and sent later. Disabled by default.
        public func offlineQueue(_ policy: OfflineQueuePolicy) -> Builder { with(\.offlineQueuePolicy, value: policy) }
        /// The public keys or certificates that servers are held to. Disabled by default.
        public func pinning(_ policy: SSLPinningPolicy) -> Builder { with(\.sslPinningPolicy, value: policy) }
        /// Which redirects are followed. ``RedirectPolicy/default``, at most 10 hops, unless set.
        public func redirects(_ policy: RedirectPolicy) -> Builder { with(\.redirectPolicy, value: policy) }
        /// Origins besides the base URL's that credentials may go to; of each URL its scheme, host and port count. None
        /// by default.
        public func trustedOrigins(_ origins: [URL]) -> Builder { with(\.trustedOrigins, value: origins) }
        /// Names of headers that are secret besides the well-known ones: they go home only, and are masked in texts.
        public func secretHeaders(_ names: Set<String>) -> Builder { with(\.secretHeaders, value: names) }
        /// What the client writes to its log by itself. Nothing by default.
        public func logLevel(_ level: PulseConfiguration.LogLevel) -> Builder { with(\.logLevel, value: level) }
        /// What encodes the values of bodies. JSON by default.
        public func encoder(_ encoder: any RequestEncoder) -> Builder { with(\.encoder, value: encoder) }
        /// What decodes answers. JSON by default.
        public func decoder(_ decoder: any ResponseDecoder) -> Builder { with(\.decoder, value: decoder) }
        /// The most bytes of a buffered body; a longer one is ``PulseError/responseTooLarge(limit:)``. 128 MiB by
        /// default.
        public func maximumBufferedBodySize(_ bytes: Int) -> Builder { with(\.maximumBufferedBodySize, value: bytes) }
        /// Connections to one host at a time; further requests wait. 6 by default on Apple platforms, 64 on Linux. It
        /// is for the transport that the client makes itself.
        public func maximumConnectionsPerHost(_ count: Int) -> Builder {
            with(\.maximumConnectionsPerHost, value: count)
        }
        /// Certificate authorities, client certificate and lowest TLS version. ``TLSSettings/default`` unless set.
        public func tls(_ settings: TLSSettings) -> Builder { with(\.tls, value: settings) }
        /// The proxy that requests take. ``ProxySettings/environment`` unless set.
        public func proxy(_ settings: ProxySettings) -> Builder { with(\.proxy, value: settings) }
        /// Where cookies are kept. Nil, the default, sends and keeps none.
        public func cookieStore(_ store: (any CookieStore)?) -> Builder { with(\.cookieStore, value: store) }
        /// What tells whether there is a connection. The system's monitor by default.
        public func connectivity(_ monitor: any ConnectivityMonitor) -> Builder { with(\.connectivity, value: monitor) }
        /// What the client reads time from and sleeps by. The system's clock by default.
        public func clock(_ clock: any PulseClock) -> Builder { with(\.clock, value: clock) }
        /// Where jitter, keys and ids come from. The system's by default.
        public func randomness(_ randomness: any Randomness) -> Builder { with(\.randomness, value: randomness) }

        /// Adds a default header, over one of that name in any case.
        public func header(_ name: String, _ value: String) -> Builder {
            changed { $0.configuration.defaultHeaders.setHeader(name, to: value) }
        }

        /// Adds a plugin after those already there.
        public func plugin(_ plugin: any PulsePlugin) -> Builder {
            changed { $0.plugins.append(plugin) }
        }

        /// What sends the requests. It belongs to the caller, who shuts it down; by default the client makes the
        /// platform's own.
        public func transport(_ transport: any Transport) -> Builder {
            changed { $0.transport = transport }
        }

        /// Where the client tells what happens to its calls. ``PulseEventBus/shared`` by default.
        public func events(_ bus: PulseEventBus) -> Builder {
            changed { $0.events = bus }
        }

        /// Changes any setting of the configuration.
        public func with<Value>(_ setting: WritableKeyPath<PulseConfiguration, Value>, value: Value) -> Builder {
            changed { $0.configuration[keyPath: setting] = value }
        }

        /// Makes the client. Nothing is started before its first call, unless the offline queue has something to send.
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
