// SPDX-License-Identifier: MIT

#if os(Linux)
import Foundation
import FoundationNetworking
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Pins, authorities and certificates of upgrades over `https`. The channel is in cleartext: the chain that it verifies
/// is a given one.
@Suite(.tags(.threads), .throttled)
struct UpgradeTrustTests {
    private static let fixtures = Array(CertificateFixture.all.prefix(3))
    private static let security = SessionSecurity(
        evaluateTrust: { _, _ in throw CancellationError() },
        identity: { _ in URLCredential(user: "identity", password: "", persistence: .forSession) },
        countReadable: { $0.count })

    private struct Outcome {
        var result: Result<PulseResponse, any Error>
        var settings: ChannelSettings?
        var requestCount: Int
        var events: [NetworkEvent]
    }

    private final class Sink: EventSink {
        let isActive = true
        let emitted = Locked<[NetworkEvent]>([])

        func emit(_ event: NetworkEvent) {
            emitted.withLock { $0.append(event) }
        }
    }

    /// Sends an upgrade to a server whose verified chain has the keys of the first two fixtures.
    private func send(
        pins: SSLPinningPolicy.PinSet? = nil, tls: TLSSettings = .default, proxy: ProxySettings = .environment
    ) async throws -> Outcome {
        try await MockServer.run { server in
            server.fallback { _ in .text("no", status: 403) }
            let made = Locked<ChannelSettings?>(nil)
            let transport = URLSessionTransport(
                6, appliesBackpressure: false,
                makeChannel: { settings in
                    made.withLock { $0 = settings }
                    return SocketCallbackChannel(settings, chain: Self.fixtures.prefix(2).map(\.der))
                }, security: Self.security)
            let port = try #require(server.baseURL.port)
            var urlRequest = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(port)/")))
            urlRequest.allHTTPHeaderFields = UpgradeStage.offer
            let sink = Sink()
            let request = TransportRequest(
                urlRequest: urlRequest, delivery: .upgrade, connectTimeout: 600, idleTimeout: 600, pins: pins, tls: tls,
                proxy: proxy, events: sink)
            let result: Result<PulseResponse, any Error>
            do {
                result = .success(try await transport.send(request))
            } catch {
                result = .failure(error)
            }
            await transport.shutdown()
            return Outcome(
                result: result, settings: made.withLock { $0 }, requestCount: server.requests.count,
                events: sink.emitted.withLock { $0 })
        }
    }

    private func pins(_ fixture: CertificateFixture, isReportOnly: Bool = false) -> SSLPinningPolicy.PinSet {
        SSLPinningPolicy.PinSet(publicKeyHashes: [fixture.pin], isReportOnly: isReportOnly)
    }

    @Test func aPinnedServerGetsTheUpgrade() async throws {
        let outcome = try await send(pins: pins(Self.fixtures[1]))
        #expect(try outcome.result.get().statusCode == 403)
        #expect(outcome.settings?.evaluatesTrust == true)
        #expect(outcome.events.isEmpty)
    }

    @Test func anotherServerGetsNothing() async throws {
        let outcome = try await send(pins: pins(Self.fixtures[2]))
        #expect { try outcome.result.get() } throws: { PulseError(wrapping: $0).kind == .sslPinningFailed }
        #expect(outcome.requestCount == 0)
        #expect(outcome.events.count == 1)
    }

    @Test func aReportedServerGetsTheUpgrade() async throws {
        let outcome = try await send(pins: pins(Self.fixtures[2], isReportOnly: true))
        #expect(try outcome.result.get().statusCode == 403)
        #expect(outcome.events.count == 1)
    }

    @Test func withoutSettingsTheSystemDecides() async throws {
        let outcome = try await send()
        #expect(try outcome.result.get().statusCode == 403)
        let settings = try #require(outcome.settings)
        #expect(!settings.evaluatesTrust && settings.authorities.isEmpty && settings.identity == nil)
        #expect(settings.isSecure && settings.minimumVersion == .tls12 && settings.proxy == .environment)
    }

    @Test func theChannelGetsTheSettings() async throws {
        let client = TLSSettings.ClientCertificate(pkcs12: Data([1]), password: "")
        let tls = TLSSettings(
            certificateAuthorities: [Self.fixtures[2].der], clientCertificate: client, minimumVersion: .tls13)
        let proxy = ProxySettings.http(host: "127.0.0.2", port: 3128)
        let settings = try #require(try await send(tls: tls, proxy: proxy).settings)
        #expect(settings.evaluatesTrust)
        #expect(settings.authorities == [Self.fixtures[2].der])
        #expect(settings.identity?.user == "identity")
        #expect(settings.minimumVersion == .tls13)
        #expect(settings.proxy == proxy)
        let direct = try #require(try await send(proxy: proxy.excluding("127.0.0.1")).settings)
        #expect(direct.proxy == .direct)
    }
}
#endif
