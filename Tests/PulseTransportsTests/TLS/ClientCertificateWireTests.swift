// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// A server that requires a client certificate.
@Suite(.tags(.threads), .throttled)
struct ClientCertificateWireTests {
    private static let versions: [TLSSettings.Version] = [.tls12, .tls13]

    /// With TLS 1.3 the alert crosses the request, and the server's reset follows immediately.
    @Test(.serialized, arguments: versions, [0, 10, 100_000, 3_000_000])
    func aMissingCertificateIsAlwaysReportedAndNeverRetried(_ version: TLSSettings.Version, bodySize: Int) async throws
    {
        let runs = 25
        try await run(version) { server, identity in
            let client = Self.client(of: server, identity.clientSettings)
            for _ in 0..<runs {
                let error = await Self.error(of: client, bodySize: bodySize)
                #expect(error.transportCode == .clientCertificateRequired, "\(error)")
                #expect(!error.isRetryable)
            }
            await client.shutdown()
            #expect(server.connectionCount == runs)
            #expect(server.requests.isEmpty)
        }
    }

    @Test(.serialized, arguments: versions, [0, 3_000_000])
    func aForeignCertificateIsAlwaysRejected(_ version: TLSSettings.Version, bodySize: Int) async throws {
        let runs = 10
        let stranger = try MockServer.TLSIdentity.generated()
        try await run(version) { server, identity in
            var settings = identity.clientSettings
            settings.clientCertificate = stranger.clientCertificate
            let client = Self.client(of: server, settings)
            for _ in 0..<runs {
                let error = await Self.error(of: client, bodySize: bodySize)
                #expect(error.transportCode == .clientCertificateRejected, "\(error)")
            }
            await client.shutdown()
            #expect(server.connectionCount == runs)
        }
    }

    @Test(arguments: versions)
    func callsWithAndWithoutACertificateDoNotShareConnections(_ version: TLSSettings.Version) async throws {
        try await run(version) { server, identity in
            server.on(.get, "/") { _ in .text("known") }
            var settings = identity.clientSettings
            settings.clientCertificate = identity.clientCertificate
            let transport = SocketTransport()
            let known = Self.client(of: server, settings, transport)
            let unknown = Self.client(of: server, identity.clientSettings, transport)
            for _ in 0..<3 {
                let text: String = try await known.get("/")
                #expect(text == "known")
                let error = await Self.error(of: unknown, bodySize: 0)
                #expect(error.transportCode == .clientCertificateRequired)
            }
            await known.shutdown()
            await unknown.shutdown()
        }
    }

    // MARK: Invalid settings

    @Test func aWrongCertificatePasswordFailsBeforeAnythingIsSent() async throws {
        let other = try MockServer.TLSIdentity.generated()
        let right = try #require(other.clientCertificate)
        let unreadable: [(TLSSettings.ClientCertificate, String)] = [
            (.init(pkcs12: right.data, password: "hunter2"), "the password is wrong"),
            (.init(pkcs12: right.data, password: ""), "the password is wrong"),
            (.init(pkcs12: Data("no certificate".utf8), password: right.password), "it is not PKCS #12"),
            (.init(pkcs12: Data(), password: right.password), "it is not PKCS #12"),
            (.init(pkcs12: right.data.prefix(400), password: right.password), "it is not PKCS #12"),
        ]
        try await run(.tls13) { server, identity in
            for (certificate, problem) in unreadable {
                var settings = identity.clientSettings
                settings.clientCertificate = certificate
                let client = Self.client(of: server, settings)
                let error = await Self.error(of: client, bodySize: 10)
                #expect(error.kind == .invalidRequest && !error.isRetryable && error.phase == .beforeSend)
                #expect("\(error)".contains("`clientCertificate` of the TLS settings cannot be used: \(problem)"))
                #expect(!"\(error)".contains("hunter2"))
                await client.shutdown()
            }
            #expect(server.connectionCount == 0)
        }
    }

    @Test func unreadableAuthoritiesAreAnInvalidSetting() async throws {
        let text = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n"
        try await run(.tls13) { server, _ in
            let client = Self.client(of: server, TLSSettings(certificateAuthorities: [Data(text.utf8)]))
            let error = await Self.error(of: client, bodySize: 0)
            #expect(error.kind == .invalidRequest && !error.isRetryable, "\(error)")
            await client.shutdown()
            #expect(server.requests.isEmpty)
        }
    }

    /// RFC 8446, section 6.2.
    @Test(
        arguments: [
            (116, false, URLError.Code.clientCertificateRequired), (116, true, .clientCertificateRequired),
            (40, true, .clientCertificateRequired), (40, false, nil), (41, true, .clientCertificateRequired),
            (42, true, .clientCertificateRequired), (42, false, .clientCertificateRejected),
            (46, false, .clientCertificateRejected), (48, false, .clientCertificateRejected),
            (49, true, .clientCertificateRequired), (47, true, nil), (70, true, nil), (0, true, nil),
        ] as [(Int, Bool, URLError.Code?)])
    func anAlertMeansThatACertificateIsMissingOrRejected(
        alert: Int, lacksCertificate: Bool, code: URLError.Code?
    ) {
        #expect(TLSFailure.refusal(alert: alert, lacksCertificate: lacksCertificate) == code)
    }

    // MARK: Support

    private func run(
        _ version: TLSSettings.Version, _ body: (MockServer, MockServer.TLSIdentity) async throws -> Void
    ) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        let configuration = MockServer.Configuration(
            tls: identity, tlsVersions: version...version, clientCertificates: .required)
        try await MockServer.run(configuration) { try await body($0, identity) }
    }

    /// With the default policy, and no wait between attempts.
    private static func client(
        of server: MockServer, _ settings: TLSSettings, _ transport: SocketTransport = SocketTransport()
    ) -> PulseClient {
        ClientStage.client(of: server, retry: .immediate(), over: transport, with: { $0.tls = settings })
    }

    /// The error of a request that may be resent.
    private static func error(of client: PulseClient, bodySize: Int) async -> PulseError {
        var request = Request<String>(bodySize == 0 ? .get : .put, "/")
        if bodySize > 0 { request = request.body(.data(Data(repeating: 0x61, count: bodySize))) }
        switch await client.result(of: request) {
        case .success(let text): return .custom(Unexpected(text: text))
        case .failure(let error): return error
        }
    }

    private struct Unexpected: Error {
        let text: String
    }
}

extension PulseError {
    fileprivate var transportCode: URLError.Code? {
        if case .transport(let code, _) = self { code } else { nil }
    }
}
#endif
