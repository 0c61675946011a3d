// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// No name below `pulse.test` can be resolved, so a request that reaches its server used a proxy.
@Suite(.servers, .timeLimit(.minutes(5)))
struct ProxyTests {
    private static func http(_ name: Servers.Name = .proxy) -> ProxySettings {
        .http(host: "127.0.0.1", port: Servers.port(name))
    }

    private static func socks(_ name: Servers.Name = .socks) -> ProxySettings {
        .socks5(host: "127.0.0.1", port: Servers.port(name))
    }

    private static func host() -> String { "\(UUID().uuidString.lowercased()).pulse.test" }

    private static func get(_ url: URL, by proxy: ProxySettings) async throws -> PulseResponse {
        try await withTransport { transport in try await transport.send(.to(url) { $0.proxy = proxy }) }
    }

    // MARK: Ways

    @Test
    func anHTTPRequestIsSentToTheProxyWithItsAbsoluteURL() async throws {
        let host = Self.host()
        let url = try Servers.url(.plain, host: host, "/a?b=c")
        #expect(try await Self.get(url, by: Self.http()).text == "GET /a?b=c")
        let heads = try await Servers.proxied(.proxy, containing: host)
        #expect(heads.count == 1)
        #expect(heads.first?.hasPrefix("GET \(url.absoluteString) HTTP/1.1\r\n") == true)
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1])
    func anHTTPSRequestUsesATunnel(server: Servers.Name) async throws {
        let host = Self.host()
        let url = try Servers.url(server, host: host, "/path")
        let secret = UUID().uuidString
        let response = try await withTransport { transport in
            try await transport.send(
                .to(url) {
                    $0.proxy = Self.http()
                    $0.urlRequest.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
                    $0.urlRequest.setValue(secret, forHTTPHeaderField: "X-API-Key")
                    $0.urlRequest.setValue("session=\(secret)", forHTTPHeaderField: "Cookie")
                })
        }
        #expect(response.text == "GET /path")
        let heads = try await Servers.proxied(.proxy, containing: host)
        #expect(heads.count == 1)
        #expect(heads.first?.hasPrefix("CONNECT \(host):\(Servers.port(server)) HTTP/1.1\r\n") == true)
        #expect(heads.first?.contains(secret) == false)
        #expect(heads.first?.contains("/path") == false)
        // The proxy's response to CONNECT is for the transport only.
        #expect(response.headers["X-Tunnel"] == nil)
        #expect(response.headers["Content-Encoding"] == nil)
        #expect(response.headers["X-Host"] == "\(host):\(Servers.port(server))")
    }

    @Test(arguments: [Servers.Name.plain, .tls])
    func socksResolvesTheName(server: Servers.Name) async throws {
        let host = Self.host()
        let url = try Servers.url(server, host: host, "/path")
        #expect(try await Self.get(url, by: Self.socks()).text == "GET /path")
        #expect(try await Servers.proxied(.socks, containing: host) == ["3 \(host):\(Servers.port(server))"])
    }

    // MARK: Credentials

    @Test(arguments: [Servers.Name.plain, .tls])
    func sendsProxyCredentialsToTheProxyOnly(server: Servers.Name) async throws {
        let host = Self.host()
        let url = try Servers.url(server, host: host)
        for proxy in [Self.http(.lockedProxy), Self.socks(.lockedSocks)] {
            let response = try await Self.get(
                url, by: proxy.credentials(username: "us%41er", password: "pass:wo%2Frd%"))
            #expect(response.statusCode == 200)
        }
        let heads = try await Servers.proxied(.lockedProxy, containing: host)
        #expect(heads.first?.contains("\r\nProxy-Authorization: Basic dXMlNDFlcjpwYXNzOndvJTJGcmQl\r\n") == true)
    }

    /// Without a tunnel the proxy's response is the response.
    @Test
    func wrongCredentialsForHTTPAreStatus407() async throws {
        let url = try Servers.url(.plain, host: Self.host())
        for proxy in [
            Self.http(.lockedProxy), Self.http(.lockedProxy).credentials(username: "user", password: "wrong"),
        ] {
            let response = try await Self.get(url, by: proxy)
            #expect(response.statusCode == 407)
            #expect(response.headers["Proxy-Authenticate"] == "Basic realm=\"proxy\"")
        }
    }

    @Test
    func wrongCredentialsForATunnelFailBeforeTheRequest() async throws {
        let url = try Servers.url(.tls, host: Self.host())
        let error = await #expect(throws: PulseError.self) {
            try await Self.get(url, by: Self.http(.lockedProxy).credentials(username: "user", password: "wrong"))
        }
        Self.expect(error, .lockedProxy, .status(407))
    }

    @Test
    func wrongCredentialsForSOCKSFailBeforeTheRequest() async throws {
        let url = try Servers.url(.plain, host: Self.host())
        for proxy in [
            Self.socks(.lockedSocks), Self.socks(.lockedSocks).credentials(username: "user", password: "wrong"),
        ] {
            let error = await #expect(throws: PulseError.self) { try await Self.get(url, by: proxy) }
            Self.expect(error, .lockedSocks, .socksCredentials)
        }
    }

    private static func expect(
        _ error: PulseError?, _ name: Servers.Name, _ reason: PulseError.ProxyRefusal.Reason
    ) {
        guard case .proxyRefused(let refusal) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(refusal == PulseError.ProxyRefusal(proxy: "127.0.0.1:\(Servers.port(name))", reason: reason))
        #expect(error?.phase == .beforeSend)
        #expect(error?.isRetryable == false)
    }

    // MARK: Exclusions and the environment

    @Test(arguments: ["localhost", "LOCALHOST", "api.localhost", ".localhost"])
    func excludedHostsBypassTheProxy(exclusion: String) async throws {
        let path = "/\(UUID().uuidString)"
        let url = try Servers.url(
            .plain, host: exclusion.hasPrefix("l") || exclusion.hasPrefix("L") ? "localhost" : "api.localhost", path)
        let response = try await Self.get(url, by: Self.http().excluding("other.test", exclusion))
        #expect(response.text == "GET \(path)")
        #expect(try await Servers.proxied(.proxy, containing: path) == [])
    }

    /// "Hosts, and with a leading dot domains."
    @Test
    func anExcludedHostDoesNotExcludeItsDomain() async throws {
        let path = "/\(UUID().uuidString)"
        let url = try Servers.url(.plain, host: "api.localhost", path)
        _ = try await Self.get(url, by: Self.http().excluding("localhost"))
        #expect(try await Servers.proxied(.proxy, containing: path).count == 1)
    }

    @Test(arguments: [Servers.Name.plain, .tls])
    func obeysTheEnvironment(server: Servers.Name) async throws {
        let host = Self.host()
        let url = try Servers.url(server, host: host)
        let proxy = "http://127.0.0.1:\(Servers.port(.proxy))"
        let outcome = try Probe.run(
            url, authorities: Servers.path("root.pem"),
            environment: ["http_proxy": proxy, "https_proxy": proxy, "no_proxy": "localhost,127.0.0.1"])
        #expect(outcome.status == "200")
        #expect(try await Servers.proxied(.proxy, containing: host).count == 1)
    }

    @Test
    func obeysNoProxy() async throws {
        let path = "/\(UUID().uuidString)"
        let proxy = "http://127.0.0.1:\(Servers.port(.proxy))"
        let outcome = try Probe.run(
            try Servers.url(.plain, host: "localhost", path),
            environment: ["http_proxy": proxy, "all_proxy": proxy, "no_proxy": "example.com,localhost"])
        #expect(outcome.body == "GET \(path)")
        #expect(try await Servers.proxied(.proxy, containing: path) == [])
    }

    // MARK: Proxies that fail

    @Test(arguments: [Servers.Name.plain, .tls])
    func aProxyThatRefusesItsConnectionIsAConnectFailure(server: Servers.Name) async throws {
        let url = try Servers.url(server, host: Self.host())
        for proxy in [Self.http(.refusing), Self.socks(.refusing)] {
            let error = await #expect(throws: TransportFailure.self) { try await Self.get(url, by: proxy) }
            #expect(error?.code == .cannotConnectToHost)
            #expect(error?.phase == .beforeSend)
            #expect(error?.description.contains("127.0.0.1:\(Servers.port(.refusing))") == true)
        }
    }

    /// From the environment, whose variable has its credentials.
    @Test
    func aRefusingProxyOfTheEnvironmentIsNamed() async throws {
        let proxy = "http://ada:hunter2@127.0.0.1:\(Servers.port(.lockedProxy))"
        let outcome = try Probe.run(
            try Servers.url(.tls, host: Self.host()), authorities: Servers.path("root.pem"),
            environment: ["https_proxy": proxy])
        #expect(
            outcome.error == "the proxy 127.0.0.1:\(Servers.port(.lockedProxy)) refused the connection: status 407")
    }

    @Test
    func aHangingProxyIsAConnectTimeout() async throws {
        let url = try Servers.url(.tls, host: Self.host())
        for proxy in [Self.http(.hangingProxy), Self.socks(.hangingProxy)] {
            let error = await #expect(throws: TransportFailure.self) {
                try await withTransport { transport in
                    try await transport.send(
                        .to(url) {
                            $0.proxy = proxy
                            $0.connectTimeout = 0.3
                        })
                }
            }
            #expect(error?.code == .timedOut)
            #expect(error?.phase == .beforeSend)
        }
    }

    /// The proxy of the tests responds with 502 if it finds no server.
    @Test
    func aProxyWithoutAServerIsAProxyRefusal() async throws {
        let host = Self.host()
        let (tunnelled, plain) = (
            try #require(URL(string: "https://\(host):\(Servers.port(.refusing))/")),
            try #require(URL(string: "http://\(host):\(Servers.port(.refusing))/"))
        )
        let byHTTP = await #expect(throws: PulseError.self) { try await Self.get(tunnelled, by: Self.http()) }
        Self.expect(byHTTP, .proxy, .status(502))
        let bySOCKS = await #expect(throws: PulseError.self) { try await Self.get(tunnelled, by: Self.socks()) }
        Self.expect(bySOCKS, .socks, .socksReply(5))
        #expect(try await Self.get(plain, by: Self.http()).statusCode == 502)
    }
}
