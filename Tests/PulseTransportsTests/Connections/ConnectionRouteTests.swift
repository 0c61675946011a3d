// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ConnectionRouteTests {
    private static func route(
        _ address: String, _ proxy: ProxySettings = .environment, _ variables: [String: String] = [:]
    ) throws -> ConnectionRoute {
        let url = try #require(URL(string: address))
        let isSecure = address.hasPrefix("https")
        return try ConnectionRoute(
            TransportRequest(urlRequest: URLRequest(url: url), proxy: proxy),
            to: ServerAddress(address, isSecure: isSecure), isSecure: isSecure
        ) { variables[$0] }
    }

    /// The name of the proxy; nil for a direct way.
    private static func name(_ address: String, _ variables: [String: String]) throws -> String? {
        if case .proxy(let proxy) = try route(address, .environment, variables) { proxy.name } else { nil }
    }

    // MARK: Variables

    @Test(
        arguments: [
            ("https://a.test/", ["https_proxy": "p:1", "HTTPS_PROXY": "q:1", "all_proxy": "r:1"], "p:1"),
            ("https://a.test/", ["https_proxy": "", "HTTPS_PROXY": "q:1", "all_proxy": "r:1"], "q:1"),
            ("https://a.test/", ["http_proxy": "p:1", "all_proxy": "r:1", "ALL_PROXY": "s:1"], "r:1"),
            ("https://a.test/", ["http_proxy": "p:1", "ALL_PROXY": "s:1"], "s:1"),
            ("https://a.test/", ["http_proxy": "p:1"], nil), ("http://a.test/", ["http_proxy": "p:1"], "p:1"),
            ("http://a.test/", ["HTTP_PROXY": "p:1", "https_proxy": "q:1"], nil),
            ("http://a.test/", ["all_proxy": "r:1"], "r:1"), ("http://a.test/", [:], nil),
        ] as [(String, [String: String], String?)])
    func theSchemeSelectsTheVariable(address: String, variables: [String: String], name: String?) throws {
        #expect(try Self.name(address, variables) == name)
    }

    @Test(
        arguments: [
            ("proxy.test:3128", .http, "proxy.test", 3128, nil), ("proxy.test", .http, "proxy.test", 1080, nil),
            ("HTTP://proxy.test:", .http, "proxy.test", 1080, nil),
            ("http://ada:h%40x:y@proxy.test:3128/a?b#c", .http, "proxy.test", 3128, ("ada", "h@x:y")),
            ("http://ada@proxy.test", .http, "proxy.test", 1080, ("ada", "")),
            ("http://a@b:c@[::1]:3128", .http, "::1", 3128, ("a@b", "c")), ("[::1]", .http, "::1", 1080, nil),
            ("socks5://proxy.test", .socks5(resolvesNames: false), "proxy.test", 1080, nil),
            ("socks5h://proxy.test:9", .socks5(resolvesNames: true), "proxy.test", 9, nil),
        ] as [(String, ConnectionRoute.Proxy.Kind, String, UInt16, (String, String)?)])
    func aVariableIsAURL(
        text: String, kind: ConnectionRoute.Proxy.Kind, host: String, port: UInt16, credentials: (String, String)?
    ) throws {
        let expected = ConnectionRoute.Proxy(
            kind: kind, host: host, port: port,
            credentials: credentials.map { .init(username: $0.0, password: $0.1) })
        #expect(try Self.route("http://a.test/", .environment, ["http_proxy": text]) == .proxy(expected))
    }

    /// A request that avoided the proxy because of a slip would be worse.
    @Test(
        arguments: [
            "http://", "http://:80", "proxy.test:x", "proxy.test:0", "proxy.test:65536", "ada@",
            "ada:hunter2://@proxy.test",
        ])
    func aVariableThatNamesNoProxyIsRefused(text: String) {
        #expect {
            try Self.route("http://a.test/", .environment, ["http_proxy": text])
        } throws: {
            let description = "\($0)"
            return PulseError(wrapping: $0).kind == .invalidRequest && !description.contains(text)
                && !description.contains("hunter2")
        }
    }

    @Test(arguments: ["https://proxy.test", "socks4://proxy.test", "SOCKS4A://proxy.test:1", "ftp://proxy.test"])
    func aVariableWithAnotherSchemeIsUnsupported(text: String) throws {
        #expect {
            try Self.route("http://a.test/", .environment, ["http_proxy": text])
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
        #expect(try Self.route("http://a.test/", .direct, ["http_proxy": text]) == .direct)
    }

    @Test(
        arguments: [
            ("a.test", "*", true), ("a.test", "*,", false), ("a.test", "a.test", true), ("A.TEST", "a.test", true),
            ("a.test.", "a.test", true), ("a.test", "A.test.", true), ("b.a.test", "a.test", true),
            ("ba.test", "a.test", false), ("a.test", ".a.test", true), ("b.a.test", ".a.test", true),
            ("a.test", "x,\ty , a.test", true), ("a.test", "test", true), ("a.test", "", false),
            ("a.test", ",", false), ("a.test", ".", false), ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.0.0/16", true), ("10.2.2.3", "10.1.0.0/16", false), ("10.1.2.3", "10.1.2.0/30", true),
            ("10.1.2.4", "10.1.2.0/30", false), ("10.1.2.3", "0.0.0.0/0", true), ("10.1.2.3", "10.1.2.3/33", false),
            ("10.1.2.3", "10.1.2.3/x", false),
            ("10.1", "10.0.0.1", true), ("0x0a000001", "10.0.0.0/8", true), ("167772161", "10.0.0.1", true),
            ("10.0.0.1", "10.1", false), ("10.1", "1", false),
            ("10.1.2.3", "2.3", false), ("10.1.2.3", "::/0", false),
            ("[2001:db8::1]", "2001:DB8:0::1", true), ("[2001:db8::1]", "2001:db8::/32", true),
            ("[2001:db9::1]", "2001:db8::/32", false), ("[fe80::1%25lo]", "fe80::1", true),
            ("[::1]", "[::1]", true), ("a.test:80", "a.test:80", true), ("a.test:80", "a.test:81", false),
        ] as [(String, String, Bool)])
    func excludedHostsAreReachedDirectly(host: String, list: String, isDirect: Bool) throws {
        for variable in ["no_proxy", "NO_PROXY"] {
            let name = try Self.name("http://\(host)/", ["http_proxy": "p:1", variable: list])
            #expect((name == nil) == isDirect)
        }
        // The lower-case name comes first, unless it is empty.
        let one = try Self.name("http://\(host)/", ["http_proxy": "p:1", "no_proxy": "", "NO_PROXY": list])
        #expect((one == nil) == isDirect)
        let both = ["http_proxy": "p:1", "no_proxy": "other.test", "NO_PROXY": list]
        #expect(try Self.name("http://\(host)/", both) == "p:1")
    }

    @Test(arguments: [
        ("[::1]:80", true), ("[::1]:81", true), ("[::2]:80", true), ("[::2]:81", false), ("a.test:80", true),
        ("b.a.test:80", true), ("a.test:81", false), ("c.test:80", true), ("ba.test:80", false), ("d.test:80", false),
    ])
    func theEnvironmentsListMayHaveBracketsAndPorts(authority: String, isDirect: Bool) {
        // `ProxyVariables.proxy` reads the entry without a port.
        let variables = ["no_proxy": "[::1], [::2]:80,a.test:80 .c.test:80,d.test", "NO_PROXY": "*"]
        for proxy in [ProxySettings.environment, .http(host: "proxy", port: 1)] {
            let settings = ProxyVariables.settings(proxy, for: URL(string: "http://\(authority)/")) { variables[$0] }
            #expect((settings == .direct) == (isDirect && proxy == .environment))
        }
    }

    // MARK: Settings

    @Test func settingsComeBeforeVariables() throws {
        let variables = ["http_proxy": "p:1", "no_proxy": "a.test"]
        #expect(try Self.route("http://b.test/", .direct, variables) == .direct)
        let socks = ProxySettings.socks5(host: "q", port: 2)
        var expected = ConnectionRoute.Proxy(kind: .socks5(resolvesNames: true), host: "q", port: 2)
        #expect(try Self.route("http://a.test/", socks, variables) == .proxy(expected))
        expected.credentials = .init(username: "ada", password: "x:y%")
        let known = socks.credentials(username: "ada", password: "x:y%")
        #expect(try Self.route("http://a.test/", known, variables) == .proxy(expected))
        #expect(try Self.route("http://a.test/", known.excluding("a.test:80"), variables) == .direct)
        #expect(try Self.route("http://a.test:81/", known.excluding("a.test:80"), variables) == .proxy(expected))
    }

    @Test(arguments: ["::1", "[::1]"]) func anAddressHasBracketsInTexts(host: String) throws {
        let route = try Self.route("https://a.test/", .http(host: host, port: 3128))
        #expect(route == .proxy(ConnectionRoute.Proxy(kind: .http, host: "::1", port: 3128)))
        guard case .proxy(let proxy) = route else { return }
        #expect(proxy.name == "[::1]:3128")
    }

    @Test(arguments: ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"])
    func aVariableMayNameAProxy(name: String) {
        #expect(!ProxyVariables { $0 == name ? "socks4://p" : nil }.isEmpty)
        #expect(ProxyVariables { $0 == "no_proxy" ? "*" : nil }.isEmpty)
    }
}
#endif
