// SPDX-License-Identifier: MIT

/// The proxy that requests go through.
///
/// ```swift
/// configuration.proxy = .http(host: "proxy.example.com", port: 3128).excluding(".internal.example.com")
/// ```
public struct ProxySettings: Sendable, Hashable {
    /// The protocol of a proxy.
    package enum Kind: Sendable, Hashable {
        /// HTTP with CONNECT for https (RFC 9110, section 9.3.6), or SOCKS version 5 (RFC 1928).
        case http, socks5
    }

    package enum Route: Sendable, Hashable {
        case environment
        case direct
        case proxy(Kind, host: String, port: Int)
    }

    package let route: Route
    /// The user name for the proxy itself; nil for none.
    public var username: String?
    /// The password for the proxy itself; nil for none.
    public var password: String?
    /// Hosts that are reached without the proxy; with a leading dot, a domain and all hosts in it. A port limits an
    /// entry to that port: `host:8080`, `[::1]:8080`. An IPv6 address may have brackets. Empty by default.
    public var exclusions: [String] = []

    private init(_ route: Route) {
        self.route = route
    }

    /// The proxy of the environment: the system's settings on Apple platforms; `http_proxy`, `https_proxy`, `all_proxy`
    /// and `no_proxy` on Linux. The default.
    public static let environment = ProxySettings(.environment)

    /// No proxy, whatever the environment says.
    public static let direct = ProxySettings(.direct)

    /// An HTTP proxy; https goes through it by CONNECT. A request throws ``PulseError/invalidRequest(reason:)`` if the
    /// host is empty or invalid, or the port is not from 1 to 65,535.
    public static func http(host: String, port: Int) -> ProxySettings {
        ProxySettings(.proxy(.http, host: host, port: port))
    }

    /// A SOCKS5 proxy, which resolves names itself. A request throws as for ``http(host:port:)``.
    public static func socks5(host: String, port: Int) -> ProxySettings {
        ProxySettings(.proxy(.socks5, host: host, port: port))
    }

    /// Returns the same proxy with credentials.
    public func credentials(username: String, password: String) -> ProxySettings {
        var copy = self
        (copy.username, copy.password) = (username, password)
        return copy
    }

    /// Returns the same settings with more hosts that are reached without the proxy.
    public func excluding(_ hosts: String...) -> ProxySettings {
        var copy = self
        copy.exclusions += hosts
        return copy
    }

    /// The reason why no request can use these settings; nil if they are valid.
    package var problem: String? {
        guard case .proxy(_, let host, let port) = route else {
            return username == nil && password == nil ? nil : "there are proxy credentials, but no proxy"
        }
        if host.isEmpty { return "the proxy's host is empty" }
        let isHost =
            host.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !Self.delimiters.contains($0) }
            && (PercentEncoding.decode(host) ?? host).hasLabel
        if !isHost { return "the proxy's host is not a host name or address" }
        return 1...65_535 ~= port ? nil : "the proxy's port is not from 1 to 65535"
    }

    /// The characters that end a host in a URL.
    private static let delimiters = Array("/?#@\\".utf8)

    /// Whether the server of a URL is reached without the proxy.
    package func excludes(_ url: URL?) -> Bool {
        guard !exclusions.isEmpty, let origin = url.flatMap({ Origin($0) }) else { return false }
        // An address without its zone, which names an interface of this machine.
        let server = IPv4Text.dottedQuad(origin.host) ?? String(origin.host.prefix { $0 != "%" })
        return exclusions.contains { exclusion in
            let (host, port) = Self.parts(exclusion.asciiLowercased)
            guard port.map({ Int($0) == origin.port }) ?? true else { return false }
            guard host.hasPrefix(".") else { return server == host || origin.host == host }
            return server.hasSuffix(host) || server == host.dropFirst()
        }
    }

    /// The host of an exclusion without brackets, and its port if it has one.
    private static func parts(_ exclusion: String) -> (host: Substring, port: Substring?) {
        if exclusion.hasPrefix("["), let end = exclusion.lastIndex(of: "]") {
            let rest = exclusion[end...].dropFirst()
            return (exclusion[..<end].dropFirst(), rest.isEmpty ? nil : rest.dropFirst())
        }
        let parts = exclusion.split(separator: ":", omittingEmptySubsequences: false)
        // More than one colon is an IPv6 address.
        return parts.count == 2 ? (parts[0], parts[1]) : (exclusion[...], nil)
    }
}

extension ProxySettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String {
        switch route {
        case .environment: "environment"
        case .direct: "direct"
        case .proxy(let kind, let host, let port): "\(kind) \(host):\(port)"
        }
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
