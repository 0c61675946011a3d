// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@Suite(.servers, .timeLimit(.minutes(5)))
struct TLSTests {
    @Test
    func theSystemsTrustRefusesAPrivateAuthority() async throws {
        let url = try Servers.url(.tls)
        let error = await #expect(throws: PulseError.self) {
            try await withClient(tls: .default) {
                try await $0.rawRequest(URLRequest(url: url))
            }
        }
        guard case .transport(let code, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(code == .serverCertificateHasUnknownRoot)
        #expect(error?.phase == .beforeSend)
    }

    @Test(arguments: ["root.pem", "root.der"])
    func acceptsACustomAuthority(file: String) async throws {
        let url = try Servers.url(.tls)
        let response = try await withTransport { transport in
            try await transport.send(
                .to(url) { $0.tls = TLSSettings(certificateAuthorities: [try Servers.data(file)]) })
        }
        #expect(response.text == "GET /")
    }

    /// The system has a file and a directory of authorities; the settings replace both.
    @Test(.enabled(if: Servers.canReplaceSystemTrust))
    func customAuthoritiesReplaceTheSystems() throws {
        let url = try Servers.url(.tls, host: "public.localhost")
        let trusted = try Probe.run(url, trust: Servers.path("system"))
        #expect(trusted.status == "200")
        let refused = try Probe.run(url, authorities: Servers.path("root.pem"), trust: Servers.path("system"))
        #expect(refused.code == "\(URLError.Code.serverCertificateHasUnknownRoot.rawValue)")
    }

    @Test(arguments: [
        ("expired.localhost", URLError.Code.serverCertificateHasBadDate),
        ("future.localhost", .serverCertificateNotYetValid),
        ("elsewhere.localhost", .serverCertificateUntrusted),
    ])
    func refusesAWrongCertificate(host: String, code: URLError.Code) async throws {
        let url = try Servers.url(.tls, host: host)
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { try await $0.send(.to(url)) }
        }
        #expect(error?.code == code)
        #expect(error?.phase == .beforeSend)
    }

    @Test
    func trustAppliesToARequestAndNotToAConnection() async throws {
        let url = try Servers.url(.tls)
        try await withTransport { transport in
            _ = try await transport.send(.to(url))
            let error = await #expect(throws: TransportFailure.self) {
                try await transport.send(.to(url) { $0.tls = .default })
            }
            #expect(error?.code == .serverCertificateHasUnknownRoot)
        }
    }

    @Test
    func refusesAServerBelowTheMinimumVersion() async throws {
        let url = try Servers.url(.tls12)
        try await withTransport { transport in
            let response = try await transport.send(.to(url))
            #expect(response.statusCode == 200)
            let error = await #expect(throws: TransportFailure.self) {
                try await transport.send(.to(url) { $0.tls.minimumVersion = .tls13 })
            }
            #expect(error?.code == .secureConnectionFailed)
            #expect(error?.phase == .beforeSend)
        }
    }

    @Test
    func aServerWithoutTLSIsASecureConnectionFailure() async throws {
        let url = try #require(URL(string: "https://localhost:\(Servers.port(.plain))/"))
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { try await $0.send(.to(url)) }
        }
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.phase == .beforeSend)
    }

    @Test
    func aHangingHandshakeIsAConnectTimeout() async throws {
        let url = try Servers.url(.hangingProxy, host: "127.0.0.1")
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { transport in
                try await transport.send(.to(url) { $0.connectTimeout = 0.3 })
            }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.phase == .beforeSend)
    }

    // MARK: Client certificates

    @Test(arguments: [Servers.Name.client12, .client13])
    func presentsTheClientCertificate(to server: Servers.Name) async throws {
        let url = try Servers.url(server)
        let response = try await withTransport { transport in
            try await transport.send(.to(url) { $0.tls.clientCertificate = try Self.certificate("client.p12") })
        }
        #expect(response.text.contains("Client certificate"))
    }

    /// With TLS 1.3 the server reports it after the handshake, when the request has been sent.
    @Test(arguments: [
        (Servers.Name.client12, PulseError.Phase.beforeSend), (.client13, .maybeSent),
    ])
    func reportsAMissingClientCertificate(server: Servers.Name, phase: PulseError.Phase) async throws {
        let url = try Servers.url(server)
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { try await $0.send(.to(url)) }
        }
        #expect(error?.code == .clientCertificateRequired)
        #expect(error?.phase == phase)
    }

    @Test(arguments: [(Servers.Name.client12, PulseError.Phase.beforeSend), (.client13, .maybeSent)])
    func reportsARefusedClientCertificate(server: Servers.Name, phase: PulseError.Phase) async throws {
        let url = try Servers.url(server)
        let error = await #expect(throws: TransportFailure.self) {
            try await withTransport { transport in
                try await transport.send(.to(url) { $0.tls.clientCertificate = try Self.certificate("stranger.p12") })
            }
        }
        #expect(error?.code == .clientCertificateRejected)
        #expect(error?.phase == phase)
    }

    @Test
    func reportsAWrongPassword() async throws {
        let url = try Servers.url(.client13)
        let error = await #expect(throws: PulseError.self) {
            try await withTransport { transport in
                try await transport.send(
                    .to(url) { $0.tls.clientCertificate = try Self.certificate("client.p12", "wrong") })
            }
        }
        #expect(error?.kind == .invalidRequest)
    }

    /// A session that was made with the certificate would present it again.
    @Test
    func aClientCertificateAppliesToARequestAndNotToASession() async throws {
        let url = try Servers.url(.client13)
        try await withTransport { transport in
            let shown = try TransportRequest.to(url) { $0.tls.clientCertificate = try Self.certificate("client.p12") }
            _ = try await transport.send(shown)
            let resumed = try await transport.send(shown)
            #expect(resumed.text.contains("Reused, TLSv1.3"))
            let error = await #expect(throws: TransportFailure.self) { try await transport.send(.to(url)) }
            #expect(error?.code == .clientCertificateRequired)
        }
    }

    private static func certificate(
        _ name: String, _ password: String = "correct"
    ) throws -> TLSSettings.ClientCertificate {
        TLSSettings.ClientCertificate(pkcs12: try Servers.data(name), password: password)
    }
}
