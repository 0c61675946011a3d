// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(15)))
struct CurlProxyWireTests {
    private static func client(by proxy: ProxySettings) -> PulseClient {
        // A tunnel counts as connecting, and the proxy is in this process.
        let configuration = PulseConfiguration()
            .with(\.connectTimeout, value: 600)
            .with(\.proxy, value: proxy.credentials(username: "ada", password: "hunter2"))
        return PulseClient(configuration: configuration, events: PulseEventBus())
    }

    /// Under the default policy, which retries most of these statuses.
    @Test(arguments: [300, 403, 407, 429, 502, 503])
    func aProxyThatRefusesATunnelIsNamedAndNotRetried(status: Int) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("no", status: status) }
            let client = Self.client(by: .http(host: "127.0.0.1", port: server.port))
            let url = try #require(URL(string: "https://pulse.test/a"))
            let error = await #expect(throws: PulseError.self) {
                try await client.rawRequest(URLRequest(url: url))
            }
            await client.shutdown()
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == PulseError.ProxyRefusal(proxy: "127.0.0.1:\(server.port)", reason: .status(status)))
            #expect(server.requests.map(\.method.rawValue) == ["CONNECT"])
        }
    }

    @Test(
        arguments: [
            ([5, 0xFF], .socksCredentials), ([5, 2, 1, 1], .socksCredentials),
            ([5, 2, 1, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0], .socksReply(2)),
            ([5, 2, 1, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0], .socksReply(5)),
            ([5, 2, 1, 0, 5, 8, 0, 1, 0, 0, 0, 0, 0, 0], .socksReply(8)),
        ] as [([UInt8], PulseError.ProxyRefusal.Reason)])
    func aSOCKSProxyThatRefusesIsNamed(replies: [UInt8], reason: PulseError.ProxyRefusal.Reason) async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.bytes(Data(replies)), .stall] }
            let client = Self.client(by: .socks5(host: "127.0.0.1", port: server.port))
            let url = try #require(URL(string: "https://pulse.test/a"))
            let error = await #expect(throws: PulseError.self) {
                try await client.rawRequest(URLRequest(url: url))
            }
            await client.shutdown()
            guard case .proxyRefused(let refusal) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refusal == PulseError.ProxyRefusal(proxy: "127.0.0.1:\(server.port)", reason: reason))
        }
    }

    @Test(
        arguments: ["https", "http"],
        [ProxySettings.http(host: "127.0.0.1", port: 1), .socks5(host: "127.0.0.1", port: 1)])
    func anUnreachableProxyIsNamed(scheme: String, proxy: ProxySettings) async throws {
        let transport = CurlTransport()
        let url = try #require(URL(string: "\(scheme)://pulse.test/"))
        let request = TransportRequest(
            urlRequest: URLRequest(url: url), proxy: proxy.credentials(username: "ada", password: "hunter2"))
        let error = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
        await transport.shutdown()
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.description.contains("by the proxy 127.0.0.1:1") == true)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func aSilentProxyIsNamed() async throws {
        try await MockServer.run { server in
            server.onAccept { _ in [.stall] }
            let transport = CurlTransport()
            let url = try #require(URL(string: "https://pulse.test/"))
            let request = TransportRequest(
                urlRequest: URLRequest(url: url), connectTimeout: 0.3,
                proxy: .http(host: "127.0.0.1", port: server.port))
            let error = await #expect(throws: TransportFailure.self) { try await transport.send(request) }
            await transport.shutdown()
            #expect(error?.code == .timedOut)
            #expect(error?.description.contains("by the proxy 127.0.0.1:\(server.port)") == true)
        }
    }

    @Test(arguments: [
        ("proxy.test:3128", "proxy.test:3128"), ("proxy.test", "proxy.test:1080"),
        ("http://ada:hunter2@proxy.test:3128/", "proxy.test:3128"), ("https://proxy.test", "proxy.test:443"),
        ("socks5h://ada:hunter2@proxy.test?x", "proxy.test:1080"), ("http://a@b:c@[::1]:3128", "[::1]:3128"),
        ("http://[::1]", "[::1]:1080"), ("http://", nil),
    ])
    func anEnvironmentProxyIsNamedWithoutItsCredentials(value: String, name: String?) {
        #expect(CurlProxy.address(value) == name)
    }

    @Test(arguments: [
        ("[::1]:80", true), ("[::1]:81", true), ("[::2]:80", true), ("[::2]:81", false), ("a.test:80", true),
        ("b.a.test:80", true), ("a.test:81", false), ("c.test:80", true), ("ba.test:80", false), ("d.test:80", false),
    ])
    func theEnvironmentsListMayHaveBracketsAndPorts(authority: String, isDirect: Bool) {
        // libcurl itself reads the entry without a port.
        let variables = ["no_proxy": "[::1], [::2]:80,a.test:80 .c.test:80,d.test", "NO_PROXY": "*"]
        for proxy in [ProxySettings.environment, .http(host: "proxy", port: 1)] {
            let settings = CurlProxy.settings(proxy, for: URL(string: "http://\(authority)/")) { variables[$0] }
            #expect((settings == .direct) == (isDirect && proxy == .environment))
        }
    }
}
#endif
