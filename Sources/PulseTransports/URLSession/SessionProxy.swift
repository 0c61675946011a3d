// SPDX-License-Identifier: MIT

import PulseCore

/// The route of an Apple session or connection to the server.
enum SessionProxy: Sendable, Hashable {
    /// Through the system's proxies.
    case system
    case direct
    /// Through a dictionary of CFNetwork, which a session understands.
    case dictionary(ProxySettings.Kind, host: String, port: UInt16)
    /// Through a `ProxyConfiguration` of Network.framework, always in a tunnel.
    case configuration(ProxySettings.Kind, host: String, port: UInt16, account: Account?)

    struct Account: Sendable, Hashable {
        let username: String
        let password: String
    }

    /// The route of a session. Throws ``PulseError/unsupported(_:)`` for settings that it cannot enforce.
    ///
    /// A configuration is preferred: it is strict, while a dictionary may be bypassed. For cleartext an HTTP proxy is
    /// still set by a dictionary: with a configuration, such a request would be tunneled too.
    ///
    /// - Parameter isSecure: whether its requests use `https`.
    /// - Parameter hasConfigurations: whether the system has `ProxyConfiguration`.
    init(ofSession settings: ProxySettings, isSecure: Bool, hasConfigurations: Bool) throws(PulseError) {
        self = try Self.route(settings)
        guard case .configuration(let kind, let host, let port, let account) = self else { return }
        if kind == .http, !isSecure || !hasConfigurations {
            self = .dictionary(kind, host: host, port: port)
        } else if !hasConfigurations {
            // It is unknown whether the system asks for them.
            guard account == nil else {
                throw .unsupported("URLSessionTransport has no credentials for a SOCKS proxy before iOS 17, macOS 14")
            }
            self = .dictionary(kind, host: host, port: port)
        }
    }

    /// The route of an upgrade's connection. Throws ``PulseError/unsupported(_:)`` for settings that it cannot enforce.
    init(ofConnection settings: ProxySettings, hasConfigurations: Bool) throws(PulseError) {
        self = try Self.route(settings)
        if case .configuration = self, !hasConfigurations {
            throw .unsupported("URLSessionTransport makes no upgrades through a proxy before iOS 17, macOS 14")
        }
    }

    private static func route(_ settings: ProxySettings) throws(PulseError) -> SessionProxy {
        if let problem = settings.problem { throw .invalidRequest(reason: problem) }
        switch settings.route {
        case .environment: return .system
        case .direct: return .direct
        case .proxy(let kind, let host, let port):
            let host = (PercentEncoding.decode(host) ?? host).withoutBrackets
            let account = settings.hasCredentials ? Account(settings) : nil
            return .configuration(kind, host: host, port: UInt16(clamping: port), account: account)
        }
    }

    /// The dictionary of a session's configuration; nil for none, which leaves the system's proxies in effect.
    ///
    /// The keys are the values of CFNetwork's constants, some of which exist on macOS only. Every other proxy is off.
    var dictionary: [String: AnyHashable]? {
        var dictionary: [String: AnyHashable] = [
            "HTTPEnable": 0, "HTTPSEnable": 0, "SOCKSEnable": 0, "ProxyAutoConfigEnable": 0,
            "ProxyAutoDiscoveryEnable": 0,
        ]
        switch self {
        case .system, .configuration: return nil
        case .direct: break
        case .dictionary(let kind, let host, let port):
            for name in kind == .http ? ["HTTP", "HTTPS"] : ["SOCKS"] {
                dictionary["\(name)Enable"] = 1
                dictionary["\(name)Proxy"] = host
                dictionary["\(name)Port"] = Int(port)
            }
        }
        return dictionary
    }

    /// Whether a measured route differs from this one.
    func isContradicted(byProxy isProxied: Bool) -> Bool {
        switch self {
        case .system: false
        case .direct: isProxied
        case .dictionary, .configuration: !isProxied
        }
    }
}

extension SessionProxy.Account {
    /// The credentials of the settings; a missing part is empty.
    init(_ settings: ProxySettings) {
        (username, password) = (settings.username ?? "", settings.password ?? "")
    }
}

extension ProxySettings {
    var hasCredentials: Bool { username != nil || password != nil }
}

extension String {
    /// An IPv6 address without the brackets that it has in a URL.
    var withoutBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
