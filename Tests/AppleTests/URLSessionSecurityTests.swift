// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import Security
import Testing

/// The trust that `URLSessionTransport` evaluates on Apple platforms: authorities, pins and client certificates.
@Suite(.serialized, .enabled(if: TestIdentities.folder != nil, TestIdentities.missing), .timeLimit(.minutes(15)))
struct URLSessionSecurityTests {
    // MARK: Authorities

    @Test func aServerIsTrustedByTheAuthorityOfTheSettingsAndByNoOther() async throws {
        try await TLSListener.run(TestIdentities.server("server")) { server, url in
            #expect(try await Self.failure(at: url, tls: TestIdentities.trusting()) == nil)
            let stranger = TLSSettings(certificateAuthorities: [try TestIdentities.data("stranger.der")])
            for settings in [.default, stranger] { try await Self.expectUntrusted(url, settings) }
            #expect(server.targets == ["/a"])
        }
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        try await TLSListener.run(TestIdentities.server("other-name")) { server, url in
            try await Self.expectUntrusted(url, TestIdentities.trusting())
            #expect(server.targets.isEmpty)
        }
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        try await TLSListener.run(TestIdentities.server("expired")) { server, url in
            let error = try await Self.failure(at: url, tls: TestIdentities.trusting())
            guard case .transport(.serverCertificateHasBadDate, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(server.targets.isEmpty)
        }
    }

    // MARK: Pins

    @Test(arguments: ["server.der", "authority.der"])
    func aServerThatProvesAPinnedKeyGetsTheRequest(name: String) async throws {
        let pins = SSLPinningPolicy.certificates([
            try TestIdentities.data("stranger.der"), try TestIdentities.data(name),
        ])
        try await TLSListener.run(TestIdentities.server("server")) { server, url in
            let error = try await Self.failure(at: url, tls: TestIdentities.trusting(), pins: pins)
            #expect(error == nil)
            #expect(server.targets == ["/a"])
        }
    }

    @Test func aServerThatProvesNoPinnedKeyGetsNothing() async throws {
        let pins = SSLPinningPolicy.certificates([try TestIdentities.data("stranger.der")])
        try await TLSListener.run(TestIdentities.server("server")) { server, url in
            let error = try await Self.failure(at: url, tls: TestIdentities.trusting(), pins: pins)
            #expect(error?.kind == .sslPinningFailed)
            #expect(server.targets.isEmpty)
            #expect(try await Self.failure(at: url, tls: TestIdentities.trusting(), pins: pins.reportOnly()) == nil)
            #expect(server.targets == ["/a"])
        }
    }

    @Test func aPinnedCertificateThatTheServerAppendsDoesNotCount() async throws {
        let pins = SSLPinningPolicy.certificates([try TestIdentities.data("stranger.der")])
        let identity = try TestIdentities.server("server", appending: [TestIdentities.certificate("stranger")])
        try await TLSListener.run(identity) { server, url in
            #expect(try await Self.failure(at: url, tls: TestIdentities.trusting()) == nil)
            let error = try await Self.failure(at: url, tls: TestIdentities.trusting(), pins: pins)
            #expect(error?.kind == .sslPinningFailed)
            #expect(server.targets == ["/a"])
        }
    }

    @Test func aPinnedKeyDoesNotReplaceTrust() async throws {
        let pins = SSLPinningPolicy.certificates([try TestIdentities.data("server.der")])
        try await TLSListener.run(TestIdentities.server("server")) { server, url in
            try await Self.expectUntrusted(url, .default, pins)
            #expect(server.targets.isEmpty)
        }
    }

    // MARK: Client certificates

    @Test func aServerThatRequiresAClientCertificateGetsTheOneOfTheSettings() async throws {
        try await withClients { server, url in
            let settings = try TestIdentities.trusting {
                $0.clientCertificate = try? TestIdentities.clientCertificate("client")
            }
            #expect(await Self.failure(at: url, tls: settings) == nil)
            #expect(server.targets == ["/a"])
        }
    }

    @Test func aMissingOrForeignClientCertificateIsAnErrorAndNothingIsReceived() async throws {
        try await withClients { server, url in
            let foreign = try TestIdentities.trusting {
                $0.clientCertificate = try? TestIdentities.clientCertificate("stranger-client")
            }
            for settings in [try TestIdentities.trusting(), foreign] {
                #expect(await Self.failure(at: url, tls: settings)?.kind == .transport)
            }
            #expect(server.targets.isEmpty)
        }
    }

    @Test func aWrongPasswordIsAnInvalidRequestBeforeAConnection() async throws {
        try await withClients { server, url in
            let data = try TestIdentities.data("client.p12")
            for certificate in [
                TLSSettings.ClientCertificate(pkcs12: data, password: "wrong"),
                TLSSettings.ClientCertificate(pkcs12: data.prefix(100), password: TestIdentities.password),
                TLSSettings.ClientCertificate(pkcs12: Data(), password: ""),
            ] {
                let settings = try TestIdentities.trusting { $0.clientCertificate = certificate }
                #expect(await Self.failure(at: url, tls: settings)?.kind == .invalidRequest)
            }
            #expect(server.connectionCount == 0)
        }
    }

    // MARK: Support

    private func withClients(_ body: (TLSListener, URL) async throws -> Void) async throws {
        try await TLSListener.run(
            TestIdentities.server("server"), clients: TestIdentities.certificate("authority"), body)
    }

    /// The failure of a call with a client of its own; nil if it succeeds.
    private static func failure(
        at url: URL, tls: TLSSettings, pins: SSLPinningPolicy = .disabled
    ) async -> PulseError? {
        let configuration = PulseConfiguration(baseURL: url).with(\.tls, value: tls)
            .with(\.sslPinningPolicy, value: pins).with(\.retryPolicy, value: .none)
        let client = PulseClient(
            configuration: configuration, transport: URLSessionTransport(), events: PulseEventBus())
        let result = await client.result(of: Request<String>(.get, "/a"))
        await client.shutdown()
        switch result {
        case .success: return nil
        case .failure(let error): return error
        }
    }

    private static func expectUntrusted(
        _ url: URL, _ tls: TLSSettings, _ pins: SSLPinningPolicy = .disabled
    ) async throws {
        let error = await failure(at: url, tls: tls, pins: pins)
        guard case .transport(let code, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect([.serverCertificateUntrusted, .serverCertificateHasUnknownRoot].contains(code))
        #expect(error?.phase == .beforeSend)
    }
}
