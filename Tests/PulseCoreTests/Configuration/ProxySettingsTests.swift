// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct ProxySettingsTests {
    @Test(arguments: [
        (ProxySettings.environment, "environment"), (.direct, "direct"),
        (.http(host: "proxy", port: 3128), "http proxy:3128"), (.socks5(host: "::1", port: 1080), "socks5 ::1:1080"),
    ])
    func theDescriptionNamesTheRoute(proxy: ProxySettings, text: String) {
        #expect(proxy.description == text)
    }

    @Test
    func theSettingsKeepCredentialsAndExclusions() {
        let proxy = ProxySettings.http(host: "p", port: 1).credentials(username: "u", password: "pw")
            .excluding("localhost", ".local").excluding("a")
        #expect(proxy.username == "u" && proxy.password == "pw")
        #expect(proxy.exclusions == ["localhost", ".local", "a"])
        #expect(proxy != .http(host: "p", port: 1))
        #expect(proxy.route == ProxySettings.http(host: "p", port: 1).route)
    }

    /// An engine may treat an empty host as no proxy, and replace the port 0.
    @Test(arguments: [
        (ProxySettings.environment, false), (.direct, false), (.http(host: "proxy", port: 1), false),
        (.socks5(host: "::1", port: 65_535), false), (.http(host: "[::1]", port: 80), false),
        (.http(host: "", port: 3128), true), (.http(host: "\0proxy", port: 3128), true),
        (.http(host: "user@proxy", port: 3128), true), (.http(host: "http://proxy", port: 3128), true),
        (.http(host: "..", port: 3128), true), (.socks5(host: "%2e%2e", port: 1080), true),
        (.http(host: "a b", port: 3128), true), (.socks5(host: "proxy", port: 0), true),
        (.socks5(host: "proxy", port: -1), true), (.socks5(host: "proxy", port: 65_536), true),
        (.direct.credentials(username: "u", password: "p"), true),
        (.environment.credentials(username: "u", password: "p"), true),
    ])
    func invalidProxySettingsHaveAProblem(proxy: ProxySettings, hasProblem: Bool) {
        #expect((proxy.problem != nil) == hasProblem)
        #expect(proxy.problem?.contains("proxy@") != true)
    }

    @Test
    func noTextShowsThePassword() {
        let proxy = ProxySettings.http(host: "p", port: 1).credentials(username: "u5er", password: "hunter2")
        let configuration = PulseConfiguration().with(\.proxy, value: proxy)
        for text in texts(of: proxy) + texts(of: configuration) + texts(of: [proxy]) {
            #expect(!text.contains("hunter2"))
        }
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", true), ("api.localhost", false), ("local", true), ("printer.local", true),
        ("notlocal", false), ("example.com", false), ("[::1]", true), ("[::1]:8080", true), ("[::2]", true),
        ("[::3]", false), ("[::3]:8443", true), ("port.test", false), ("port.test:8443", true),
        ("a.ports.test:8443", true), ("a.ports.test", false), ("tls.test", true), ("tls.test:8443", false),
        ("10.0.0.1", true), ("10.1", true), ("0x0a000001", true), ("167772161", true), ("10.2", false),
        ("[fe80::1%25eth0]", true), ("[fe80::2%25eth0]", false),
    ])
    func excludedHostsAndDomainsBypassTheProxy(authority: String, isExcluded: Bool) {
        let proxy = ProxySettings.http(host: "proxy", port: 1).excluding(
            "LocalHost", ".local", "[::1]", "::2", "[::3]:8443", "Port.test:8443", ".ports.test:8443", "tls.test:443",
            "10.0.0.1", "fe80::1")
        #expect(proxy.excludes(URL(string: "https://\(authority)/")) == isExcluded)
    }
}
