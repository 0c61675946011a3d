// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// The authorities of the system, which connections share: here those of a file in place of the system's.
@Suite(.tags(.threads, .addresses), .throttled)
struct SystemAuthoritiesWireTests {
    /// A file of authorities, taken for the system's.
    private struct Stage {
        let versions: PulseConfiguration.HTTPVersions
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        let authorities: TLSAuthorities
        var file: URL { folder.appendingPathComponent("authorities.pem") }

        init(_ versions: PulseConfiguration.HTTPVersions) throws {
            self.versions = versions
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            // The directory does not exist, as where it is optional.
            let (file, none) = (folder.appendingPathComponent("authorities.pem").path, folder.path + "/none")
            authorities = try #require(TLSAuthorities(file: file, directory: none))
        }

        func write(_ identity: MockServer.TLSIdentity) throws {
            let pem = try CertificateAuthorities(identity.clientSettings.certificateAuthorities).pem
            try pem.write(to: file, options: .atomic)
        }

        /// The response to another client: a connection or session that is resumed keeps the verdict of its handshake.
        func text(from server: MockServer, _ tls: TLSSettings = .default) async throws -> String {
            let transport = transport()
            let request = request(to: server, tls)
            let result = await Task { try await transport.send(request).data }.result
            await transport.shutdown()
            return String(decoding: try result.get(), as: UTF8.self)
        }

        func transport() -> SocketTransport {
            SocketTransport(8, authorities: authorities)
        }

        func request(to server: MockServer, _ tls: TLSSettings = .default) -> TransportRequest {
            TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), connectTimeout: 600, idleTimeout: 600, tls: tls,
                httpVersions: versions)
        }

        func end() throws {
            try FileManager.default.removeItem(at: folder)
        }
    }

    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func changedAuthoritiesApplyToTheNextConnection(_ versions: PulseConfiguration.HTTPVersions) async throws {
        let identities = try (0..<2).map { _ in try MockServer.TLSIdentity.generated() }
        try await MockServer.run(MockServer.Configuration(tls: identities[0])) { server in
            server.fallback { _ in .text("response") }
            let stage = try Stage(versions)
            for _ in 0..<2 {
                try stage.write(identities[0])
                #expect(try await stage.text(from: server) == "response")
                #expect(try await stage.text(from: server) == "response")
                try stage.write(identities[1])
                await #expect {
                    try await stage.text(from: server)
                } throws: {
                    let failure = $0 as? TransportFailure
                    return failure?.code == .serverCertificateHasUnknownRoot && failure?.phase == .beforeSend
                }
                // A request's own authorities replace them.
                #expect(try await stage.text(from: server, identities[0].clientSettings) == "response")
            }
            try stage.end()
        }
    }

    /// The sessions of earlier handshakes do not outlast a change.
    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func changedAuthoritiesApplyToAClientThatHasConnected(_ versions: PulseConfiguration.HTTPVersions) async throws {
        let identities = try (0..<2).map { _ in try MockServer.TLSIdentity.generated() }
        try await MockServer.run(MockServer.Configuration(tls: identities[0])) { first in
            try await MockServer.run(MockServer.Configuration(tls: identities[1])) { second in
                for server in [first, second] { server.fallback { _ in .text("response") } }
                let stage = try Stage(versions)
                let transport = stage.transport()
                func isTrusted(_ server: MockServer, pins: SSLPinningPolicy.PinSet? = nil) async throws -> Bool {
                    var request = stage.request(to: server)
                    (request.needsNewConnection, request.pins) = (true, pins)
                    do {
                        return try await transport.send(request).data == Data("response".utf8)
                    } catch let failure as TransportFailure where failure.code == .serverCertificateHasUnknownRoot {
                        return false
                    }
                }
                for round in 0..<4 {
                    let (now, before) = round % 2 == 0 ? (0, 1) : (1, 0)
                    let servers = [first, second]
                    try stage.write(identities[now])
                    // A connection with pins resumes no session, and compares them with a verified chain only.
                    let pins = SSLPinningPolicy.PinSet(publicKeyHashes: [
                        "sha256/" + Data(count: 32).base64EncodedString()
                    ])
                    #expect(try await !isTrusted(servers[before], pins: pins))
                    #expect(try await isTrusted(servers[now]))
                    #expect(try await !isTrusted(servers[before]))
                    #expect(try await isTrusted(servers[now]))
                }
                await transport.shutdown()
                try stage.end()
            }
        }
    }

    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func authoritiesThatCannotBeReadAreAnErrorBeforeAnythingIsSent(
        _ versions: PulseConfiguration.HTTPVersions
    ) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        try await MockServer.run(MockServer.Configuration(tls: identity)) { server in
            server.fallback { _ in .text("response") }
            let stage = try Stage(versions)
            for _ in 0..<2 {
                await #expect {
                    try await stage.text(from: server)
                } throws: {
                    let failure = $0 as? TransportFailure
                    return failure?.code == .secureConnectionFailed && failure?.phase == .beforeSend
                        && "\($0)".contains("authorities of the system cannot be read: \(stage.file.path)")
                }
                try Data("no certificate".utf8).write(to: stage.file, options: .atomic)
            }
            try stage.write(identity)
            #expect(try await stage.text(from: server) == "response")
            #expect(server.requests.count == 1)
            try stage.end()
        }
    }

    /// What makes connections cheap: a file with the same state is not read again.
    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func unchangedAuthoritiesAreReadOnce(_ versions: PulseConfiguration.HTTPVersions) async throws {
        let identity = try MockServer.TLSIdentity.generated()
        try await MockServer.run(MockServer.Configuration(tls: identity)) { server in
            server.fallback { _ in .text("response") }
            let stage = try Stage(versions)
            try stage.write(identity)
            #expect(try await stage.text(from: server) == "response")
            var state = stat()
            #expect(stat(stage.file.path, &state) == 0)
            let descriptor = open(stage.file.path, O_WRONLY)
            #expect(write(descriptor, "unreadable", 10) == 10)
            #expect(futimens(descriptor, [state.st_atim, state.st_mtim]) == 0)
            #expect(close(descriptor) == 0)
            #expect(try await stage.text(from: server) == "response")
            try stage.end()
        }
    }
}
#endif
