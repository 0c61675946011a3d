// SPDX-License-Identifier: MIT

import PulseCore

/// The route of a session or a connection of Apple's to the server.
enum SessionProxy: Sendable, Hashable {
    /// By the proxies of the system.
    case system
    case direct
    /// By a dictionary of CFNetwork's, which a session understands.
    case dictionary(ProxySettings.Kind, host: String, port: UInt16)
    /// By a `ProxyConfiguration` of Network.framework's, always in a tunnel.
    case configuration(ProxySettings.Kind, host: String, port: UInt16, account: Account?)

    struct Account: Sendable, Hashable {
        let username: String
        let password: String
    }

    /// The route of a session. Throws ``PulseError/unsupported(_:)`` for settings that it cannot enforce.
    ///
    /// A configuration is strict where a dictionary may be passed by, so it is preferred. In cleartext an HTTP proxy is
    /// in a dictionary all the same: with a configuration, such a request would go through a tunnel, too.
    ///
    /// - Parameter isSecure: whether its requests have `https`.
    /// - Parameter hasConfigurations: whether the system has `ProxyConfiguration`.
    init(ofSession settings: ProxySettings, isSecure: Bool, hasConfigurations: Bool) throws(PulseError) {
        self = try Self.route(settings)
        guard case .configuration(let kind, let host, let port, let account) = self else { return }
        if kind == .http, !isSecure || !hasConfigurations {
            self = .dictionary(kind, host: host, port: port)
        } else if !hasConfigurations {
            // Whether the system asks for them is not known.
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

    /// The dictionary of a session's configuration; nil for none, which leaves the system's proxies to it.
    ///
    /// The keys are CFNetwork's, by their values: the constants of some are on macOS only. Every other proxy is off.
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

    /// Whether a measured route is another one than this.
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
