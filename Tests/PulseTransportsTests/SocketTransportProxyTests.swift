// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads), .throttled)
struct SocketTransportProxyTests {
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
        let transport = SocketTransport()
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
            let clock = TestClock()
            let transport = SocketTransport(64, clock: clock)
            let url = try #require(URL(string: "https://pulse.test/"))
            let request = TransportRequest(
                urlRequest: URLRequest(url: url), connectTimeout: 3,
                proxy: .http(host: "127.0.0.1", port: server.port))
            let call = Task { try await transport.send(request) }
            await clock.sleepers(atLeast: 1, for: .timeout)
            try await server.wait { $0.openConnectionCount == 1 }
            await clock.advance(by: 3)
            let error = await #expect(throws: TransportFailure.self) { try await call.value }
            await transport.shutdown()
            #expect(error?.code == .timedOut)
            #expect(error?.description.contains("by the proxy 127.0.0.1:\(server.port)") == true)
        }
    }
}
#endif
