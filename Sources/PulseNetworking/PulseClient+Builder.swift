// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability

extension PulseClient {
    /// A client made step by step:
    /// `PulseClient.Builder().baseURL(url).timeout(20).plugin(.headers(["X-A": "1"])).build()`.
    public struct Builder: Sendable {
        private var configuration: PulseConfiguration
        private var plugins: [any PulsePlugin] = []
        private var transport: (any Transport)?
        private var events: PulseEventBus = .shared

        public init(_ configuration: PulseConfiguration = PulseConfiguration()) {
            self.configuration = configuration
        }

        public func baseURL(_ url: URL) -> Builder { with(\.baseURL, value: url) }
        /// Idle seconds: without a byte sent or received.
        public func timeout(_ seconds: TimeInterval) -> Builder { with(\.timeout, value: seconds) }
        /// Seconds for name, TCP and TLS.
        public func connectTimeout(_ seconds: TimeInterval) -> Builder { with(\.connectTimeout, value: seconds) }
        /// Seconds for a whole call.
        public func deadline(_ seconds: TimeInterval) -> Builder { with(\.deadline, value: seconds) }
        public func retry(_ policy: RetryPolicy) -> Builder { with(\.retryPolicy, value: policy) }
        public func offlineQueue(_ policy: OfflineQueuePolicy) -> Builder { with(\.offlineQueuePolicy, value: policy) }
        public func pinning(_ policy: SSLPinningPolicy) -> Builder { with(\.sslPinningPolicy, value: policy) }
        public func redirects(_ policy: RedirectPolicy) -> Builder { with(\.redirectPolicy, value: policy) }
        public func trustedOrigins(_ origins: [URL]) -> Builder { with(\.trustedOrigins, value: origins) }
        public func secretHeaders(_ names: Set<String>) -> Builder { with(\.secretHeaders, value: names) }
        public func logLevel(_ level: PulseConfiguration.LogLevel) -> Builder { with(\.logLevel, value: level) }
        public func encoder(_ encoder: any RequestEncoder) -> Builder { with(\.encoder, value: encoder) }
        public func decoder(_ decoder: any ResponseDecoder) -> Builder { with(\.decoder, value: decoder) }
        /// Bytes of a buffered body at most.
        public func maximumBufferedBodySize(_ bytes: Int) -> Builder { with(\.maximumBufferedBodySize, value: bytes) }
        public func maximumConnectionsPerHost(_ count: Int) -> Builder {
            with(\.maximumConnectionsPerHost, value: count)
        }
        public func tls(_ settings: TLSSettings) -> Builder { with(\.tls, value: settings) }
        public func proxy(_ settings: ProxySettings) -> Builder { with(\.proxy, value: settings) }
        public func cookieStore(_ store: (any CookieStore)?) -> Builder { with(\.cookieStore, value: store) }
        public func connectivity(_ monitor: any ConnectivityMonitor) -> Builder { with(\.connectivity, value: monitor) }
        public func clock(_ clock: any PulseClock) -> Builder { with(\.clock, value: clock) }
        public func randomness(_ randomness: any Randomness) -> Builder { with(\.randomness, value: randomness) }

        /// Adds a default header, over one of that name in any case.
        public func header(_ name: String, _ value: String) -> Builder {
            changed { $0.configuration.defaultHeaders.setHeader(name, to: value) }
        }

        /// Adds a plugin after those already there.
        public func plugin(_ plugin: any PulsePlugin) -> Builder {
            changed { $0.plugins.append(plugin) }
        }

        public func transport(_ transport: any Transport) -> Builder {
            changed { $0.transport = transport }
        }

        public func events(_ bus: PulseEventBus) -> Builder {
            changed { $0.events = bus }
        }

        /// Changes any setting of the configuration.
        public func with<Value>(_ setting: WritableKeyPath<PulseConfiguration, Value>, value: Value) -> Builder {
            changed { $0.configuration[keyPath: setting] = value }
        }

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
