// SPDX-License-Identifier: MIT

#if canImport(Network)
import Network
import PulseCore
import Security

extension URLSessionConfiguration {
    /// Sets the minimum TLS version, and whichever of the two proxy settings the route needs.
    func apply(_ tls: TLSSettings, _ proxy: SessionProxy) throws {
        tlsMinimumSupportedProtocolVersion = tls_protocol_version_t(
            number: tls.minimumVersion.raising(tlsMinimumSupportedProtocolVersion.rawValue))
        guard proxy != .system else { return }
        connectionProxyDictionary = proxy.dictionary?.mapValues(\.base)
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {  // newer: routes without a dictionary
            let configurations = try proxy.configurations()
            if !configurations.isEmpty || !proxyConfigurations.isEmpty { proxyConfigurations = configurations }
        }
    }

    /// Whether the configuration itself names proxies, besides those in its dictionary.
    var hasProxyConfigurations: Bool {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) {  // newer: only there
            !proxyConfigurations.isEmpty
        } else {
            false
        }
    }
}

extension tls_protocol_version_t {
    /// The version with this number on the wire; the latest for an unknown one.
    init(number: UInt16) {
        self = tls_protocol_version_t(rawValue: number) ?? .TLSv13
    }
}

extension SessionProxy {
    static var hasConfigurations: Bool {
        if #available(iOS 17, macOS 14, tvOS 17, watchOS 10, *) { true } else { false }  // newer: only there
    }

    @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)  // newer: ProxyConfiguration
    func configurations() throws -> [ProxyConfiguration] {
        guard case .configuration(let kind, let host, let number, let account) = self else { return [] }
        // An empty list would bypass the proxy.
        guard let port = NWEndpoint.Port(rawValue: number) else { throw PulseError.unsupported("this proxy's port") }
        let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(host), port: port)
        var configuration =
            switch kind {
            case .http: ProxyConfiguration(httpCONNECTProxy: endpoint)
            case .socks5: ProxyConfiguration(socksv5Proxy: endpoint)
            }
        // Never bypasses the proxy.
        configuration.allowFailover = false
        if let account { configuration.applyCredential(username: account.username, password: account.password) }
        return [configuration]
    }
}
#endif
