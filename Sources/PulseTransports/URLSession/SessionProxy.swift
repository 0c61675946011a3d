// SPDX-License-Identifier: MIT

import PulseCore

/// How a session or a connection of Apple's gets to the server.
enum SessionProxy: Sendable, Hashable {
    /// By the proxies of the system.
    case system
    case direct
    /// By a dictionary of CFNetwork's, which a session understands.
    case dictionary(ProxySettings.Kind, host: String, port: UInt16)
    /// By a `ProxyConfiguration` of Network.framework's.
    case configuration(ProxySettings.Kind, host: String, port: UInt16, account: Account?)

    struct Account: Sendable, Hashable {
        let username: String
        let password: String
    }

    /// The way of a session. Throws ``PulseError/unsupported(_:)`` for settings that it cannot enforce.
    ///
    /// An HTTP proxy is in a dictionary: with a configuration, http would go through a tunnel, too. Its credentials are
    /// given when it asks for them. A SOCKS proxy does not ask, so that its credentials need a configuration.
    ///
    /// - Parameter hasConfigurations: whether the system has `ProxyConfiguration`.
    init(ofSession settings: ProxySettings, hasConfigurations: Bool) throws(PulseError) {
        self = try Self.way(settings)
        guard case .configuration(let kind, let host, let port, let account) = self else { return }
        if kind == .http || account == nil {
            self = .dictionary(kind, host: host, port: port)
        } else if !hasConfigurations {
            throw .unsupported("URLSessionTransport has no credentials for a SOCKS proxy before iOS 17 and macOS 14")
        }
    }

    /// The way of an upgrade's connection. Throws ``PulseError/unsupported(_:)`` for settings that it cannot enforce.
    init(ofConnection settings: ProxySettings, hasConfigurations: Bool) throws(PulseError) {
        self = try Self.way(settings)
        if case .configuration = self, !hasConfigurations {
            throw .unsupported("URLSessionTransport makes no upgrades through a proxy before iOS 17 and macOS 14")
        }
    }

    private static func way(_ settings: ProxySettings) throws(PulseError) -> SessionProxy {
        if let problem = settings.problem { throw .invalidRequest(reason: problem) }
        switch settings.route {
        case .environment: return .system
        case .direct: return .direct
        case .proxy(let kind, let host, let port):
            let account = settings.hasCredentials ? Account(settings) : nil
            return .configuration(
                kind, host: host.withoutBrackets, port: UInt16(clamping: port), account: account)
        }
    }

    /// The dictionary of a session's configuration; nil leaves it unchanged.
    ///
    /// The keys are CFNetwork's, by their values: the constants of some are on macOS only, and the values work on all
    /// platforms. Every proxy of the system is off.
    var dictionary: [String: AnyHashable]? {
        var dictionary: [String: AnyHashable] = [
            "HTTPEnable": 0, "HTTPSEnable": 0, "SOCKSEnable": 0, "ProxyAutoConfigEnable": 0,
            "ProxyAutoDiscoveryEnable": 0,
        ]
        switch self {
        case .system: return nil
        case .direct, .configuration: break
        case .dictionary(let kind, let host, let port):
            for name in kind == .http ? ["HTTP", "HTTPS"] : ["SOCKS"] {
                dictionary["\(name)Enable"] = 1
                dictionary["\(name)Proxy"] = host
                dictionary["\(name)Port"] = Int(port)
            }
        }
        return dictionary
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
