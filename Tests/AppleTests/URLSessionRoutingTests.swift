// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import Testing

/// Proxies and timings of `URLSessionTransport` on Apple platforms.
@Suite(.serialized, .timeLimit(.minutes(15)))
struct URLSessionRoutingTests {
    // MARK: Proxies

    @Test func aRequestThroughAnHTTPProxyNamesItsServer() async throws {
        try await MockServer.run { proxy in
            proxy.fallback { _ in .text("by proxy") }
            let response = try await Self.response(
                at: "http://origin.example.com/a?b=1", through: try Self.settings(for: proxy))
            #expect(response.data == Data("by proxy".utf8))
            #expect(proxy.requests.map(\.target) == ["http://origin.example.com/a?b=1"])
        }
    }

    @Test func theCredentialsOfTheSettingsReachAProxyThatAsksForThem() async throws {
        try await MockServer.run { proxy in
            proxy.fallback { request in
                request.headers["Proxy-Authorization"] == "Basic YWRhOnNlY3JldA=="
                    ? .text("known") : .status(407, headers: ["Proxy-Authenticate": "Basic realm=\"tests\""])
            }
            let settings = try Self.settings(for: proxy).credentials(username: "ada", password: "secret")
            let response = try await Self.response(at: "http://origin.example.com/", through: settings)
            #expect(response.data == Data("known".utf8))
        }
    }

    @Test func anExcludedHostAndADirectRouteUseNoProxy() async throws {
        try await MockServer.run { proxy in
            try await MockServer.run { server in
                server.fallback { _ in .text("direct") }
                for settings in [try Self.settings(for: proxy).excluding("127.0.0.1"), .direct] {
                    let response = try await Self.response(at: server.baseURL.absoluteString, through: settings)
                    #expect(response.data == Data("direct".utf8))
                }
            }
            #expect(proxy.requests.isEmpty)
        }
    }

    // MARK: Timings

    @Test func theSecondRequestReusesTheConnectionAndItsTimesAreInOrder() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("timed") }
            let client = Self.client(.direct)
            let address = server.baseURL.absoluteString
            let first = try #require(try await client.rawRequest(Request<Data>(.get, address)).timings)
            let second = try #require(try await client.rawRequest(Request<Data>(.get, address)).timings)
            await client.shutdown()
            #expect(first.isConnectionReused == false && second.isConnectionReused == true)
            #expect(first.connected != nil && second.connected == nil && first.secured == nil)
            #expect(first.networkProtocol == "http/1.1")
            for timings in [first, second] {
                let times = [timings.connected, timings.requestSent, timings.firstByte, timings.lastByte]
                    .compactMap(\.self)
                #expect(times.count >= 3 && times == times.sorted())
                #expect(timings.bytesDecoded == 5)
            }
        }
    }

    @Test(.enabled(if: TestIdentities.folder != nil, TestIdentities.missing))
    func aConnectionOverTLSHasATimeForIt() async throws {
        try await TLSListener.run(TestIdentities.server("server")) { _, url in
            let client = Self.client(.direct, tls: try TestIdentities.trusting())
            let timings = try #require(try await client.rawRequest(Request<Data>(.get, url.absoluteString)).timings)
            await client.shutdown()
            let (connected, secured) = (try #require(timings.connected), try #require(timings.secured))
            #expect(connected <= secured)
        }
    }

    // MARK: Support

    private static func settings(for proxy: MockServer) throws -> ProxySettings {
        .http(host: "127.0.0.1", port: try #require(proxy.baseURL.port))
    }

    private static func client(_ proxy: ProxySettings, tls: TLSSettings = .default) -> PulseClient {
        let configuration = PulseConfiguration().with(\.proxy, value: proxy).with(\.tls, value: tls)
            .with(\.retryPolicy, value: .none)
        return PulseClient(configuration: configuration, transport: URLSessionTransport(), events: PulseEventBus())
    }

    private static func response(at address: String, through proxy: ProxySettings) async throws -> PulseResponse {
        let client = client(proxy)
        do {
            let response = try await client.rawRequest(Request<Data>(.get, address))
            await client.shutdown()
            return response
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
