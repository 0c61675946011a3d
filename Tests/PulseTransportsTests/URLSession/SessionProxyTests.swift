// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct SessionProxyTests {
    private static let http = ProxySettings.http(host: "proxy.example.com", port: 3128)
    private static let socks = ProxySettings.socks5(host: "[::1]", port: 1080)
    private static let account = SessionProxy.Account(username: "user", password: "secret")
    private static var off: [String: AnyHashable] {
        [
            "HTTPEnable": 0, "HTTPSEnable": 0, "SOCKSEnable": 0, "ProxyAutoConfigEnable": 0,
            "ProxyAutoDiscoveryEnable": 0,
        ]
    }

    private func session(
        _ settings: ProxySettings, isSecure: Bool = true, hasConfigurations: Bool = true
    ) throws -> SessionProxy {
        try SessionProxy(ofSession: settings, isSecure: isSecure, hasConfigurations: hasConfigurations)
    }

    private func connection(_ settings: ProxySettings, hasConfigurations: Bool = true) throws -> SessionProxy {
        try SessionProxy(ofConnection: settings, hasConfigurations: hasConfigurations)
    }

    @Test(arguments: [false, true])
    func aDictionaryHasAllKeys(hasConfigurations: Bool) throws {
        #expect(try session(.environment, hasConfigurations: hasConfigurations).dictionary == nil)
        #expect(try session(.direct, hasConfigurations: hasConfigurations).dictionary == Self.off)
        let http: [String: AnyHashable] = [
            "HTTPEnable": 1, "HTTPProxy": "proxy.example.com", "HTTPPort": 3128, "HTTPSEnable": 1,
            "HTTPSProxy": "proxy.example.com", "HTTPSPort": 3128,
        ]
        for settings in [Self.http, Self.http.credentials(username: "user", password: "secret")] {
            let proxy = try session(settings, isSecure: false, hasConfigurations: hasConfigurations)
            #expect(proxy == .dictionary(.http, host: "proxy.example.com", port: 3128))
            #expect(proxy.dictionary == Self.off.merging(http) { $1 })
        }
        let socks: [String: AnyHashable] = ["SOCKSEnable": 1, "SOCKSProxy": "::1", "SOCKSPort": 1080]
        for isSecure in [false, true] {
            let proxy = try session(Self.socks, isSecure: isSecure, hasConfigurations: false)
            #expect(proxy.dictionary == Self.off.merging(socks) { $1 })
        }
    }

    /// A configuration is strict. It is the only setting then: which of two wins is not documented.
    @Test func aTunnelGoesThroughAConfigurationWhereThereAreSome() throws {
        let expected: [(ProxySettings, Bool, SessionProxy)] = [
            (Self.http, true, .configuration(.http, host: "proxy.example.com", port: 3128, account: nil)),
            (Self.socks, true, .configuration(.socks5, host: "::1", port: 1080, account: nil)),
            (Self.socks, false, .configuration(.socks5, host: "::1", port: 1080, account: nil)),
        ]
        for (settings, isSecure, proxy) in expected {
            #expect(try session(settings, isSecure: isSecure) == proxy)
            #expect(proxy.dictionary == nil)
        }
        #expect(
            try session(Self.http, hasConfigurations: false)
                == .dictionary(.http, host: "proxy.example.com", port: 3128))
    }

    @Test func credentialsOfSOCKSNeedAConfiguration() throws {
        let settings = Self.socks.credentials(username: "user", password: "secret")
        for isSecure in [false, true] {
            #expect(
                try session(settings, isSecure: isSecure)
                    == .configuration(.socks5, host: "::1", port: 1080, account: Self.account))
            #expect { try session(settings, isSecure: isSecure, hasConfigurations: false) } throws: {
                PulseError(wrapping: $0).kind == .unsupported
            }
        }
    }

    @Test(arguments: [false, true])
    func aMeasuredRouteMayContradictTheSettings(isProxied: Bool) throws {
        #expect(!SessionProxy.system.isContradicted(byProxy: isProxied))
        #expect(SessionProxy.direct.isContradicted(byProxy: isProxied) == isProxied)
        for proxy in [try session(Self.http), try session(Self.http, isSecure: false)] {
            #expect(proxy.isContradicted(byProxy: isProxied) == !isProxied)
        }
    }

    @Test func anEscapedHostIsDecoded() throws {
        let proxy = try session(.http(host: "pr%6Fxy", port: 1), isSecure: false)
        #expect(proxy == .dictionary(.http, host: "proxy", port: 1))
    }

    @Test func aConnectionGoesThroughAConfiguration() throws {
        #expect(try connection(.environment, hasConfigurations: false) == .system)
        #expect(try connection(.direct, hasConfigurations: false) == .direct)
        #expect(
            try connection(Self.http)
                == .configuration(.http, host: "proxy.example.com", port: 3128, account: nil))
        #expect(
            try connection(Self.socks.credentials(username: "user", password: "secret"))
                == .configuration(.socks5, host: "::1", port: 1080, account: Self.account))
        for settings in [Self.http, Self.socks] {
            #expect { try connection(settings, hasConfigurations: false) } throws: {
                PulseError(wrapping: $0).kind == .unsupported
            }
        }
    }

    @Test func aMissingPartOfTheCredentialsIsEmpty() throws {
        var settings = Self.socks
        settings.password = "secret"
        #expect(
            try session(settings)
                == .configuration(
                    .socks5, host: "::1", port: 1080, account: .init(username: "", password: "secret")))
    }

    @Test(arguments: [
        ProxySettings.http(host: "", port: 1), .http(host: "a b", port: 1), .socks5(host: "proxy", port: 0),
        .socks5(host: "proxy", port: 65_536), .direct.credentials(username: "user", password: ""),
    ])
    func invalidSettingsAreRefused(_ settings: ProxySettings) throws {
        #expect { try session(settings) } throws: { PulseError(wrapping: $0).kind == .invalidRequest }
        #expect { try connection(settings) } throws: { PulseError(wrapping: $0).kind == .invalidRequest }
    }
}
