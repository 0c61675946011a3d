// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulseTesting
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// Servers that a client must refuse before it sends anything, and their neighbors that it accepts. Revocation is not
/// checked: neither lists nor OCSP.
@Suite(.tags(.addresses), .throttled)
struct TLSTrustTests {
    struct Server: Sendable, CustomTestStringConvertible {
        var names = "DNS:localhost"
        var host = "localhost"
        var validity = -3600...3600
        var oddity = PULSE_TLS_USUAL
        /// Nil for a server that is accepted.
        let code: URLError.Code?

        var testDescription: String { "\(names) for \(host), \(validity), oddity \(oddity.rawValue)" }
    }

    private static let names: [Server] = [
        Server(code: nil),
        Server(names: "DNS:example.com", code: .serverCertificateUntrusted),
        Server(names: "DNS:LocalHost", code: nil),
        Server(names: "DNS:*.example.com", host: "a.example.com", code: nil),
        Server(names: "DNS:*.example.com", host: "a.example.com.", code: nil),
        Server(names: "DNS:*.example.com", host: "example.com", code: .serverCertificateUntrusted),
        Server(names: "DNS:*.example.com", host: "a.b.example.com", code: .serverCertificateUntrusted),
        Server(names: "DNS:a.*.com", host: "a.example.com", code: .serverCertificateUntrusted),
        Server(names: "DNS:f*.example.com", host: "foo.example.com", code: .serverCertificateUntrusted),
        Server(names: "DNS:*.com", host: "example.com", code: .serverCertificateUntrusted),
        // The subject is no name (RFC 9525, section 2): it is "PulseTesting server" here.
        Server(names: "IP:127.0.0.1", host: "PulseTesting server", code: .serverCertificateUntrusted),
        Server(names: "IP:127.0.0.1", host: "127.0.0.1", code: nil),
        Server(names: "IP:127.0.0.1", host: "127.1", code: nil),
        Server(names: "IP:127.0.0.1", host: "0x7f000001", code: nil),
        Server(names: "DNS:127.1", host: "127.1", code: .serverCertificateUntrusted),
        Server(names: "IP:127.0.0.2", host: "127.0.0.1", code: .serverCertificateUntrusted),
        Server(names: "DNS:127.0.0.1", host: "127.0.0.1", code: .serverCertificateUntrusted),
        Server(names: "IP:::1", host: "[::1]", code: nil),
        Server(names: "IP:fe80::1", host: "fe80::1%eth0", code: nil),
    ]

    private static let chains: [Server] = [
        Server(validity: -7200...(-3600), code: .serverCertificateHasBadDate),
        Server(validity: 3600...7200, code: .serverCertificateNotYetValid),
        Server(oddity: PULSE_TLS_INTERMEDIATE, code: nil),
        Server(oddity: PULSE_TLS_NO_AUTHORITY, code: .serverCertificateUntrusted),
        Server(oddity: PULSE_TLS_CONSTRAINED, code: .serverCertificateUntrusted),
        Server(names: "DNS:a.example.com", host: "a.example.com", oddity: PULSE_TLS_CONSTRAINED, code: nil),
        Server(oddity: PULSE_TLS_FOR_CLIENTS, code: .serverCertificateUntrusted),
        // At the security level 2 of distributions.
        Server(oddity: PULSE_TLS_SHA1, code: .serverCertificateUntrusted),
        Server(oddity: PULSE_TLS_SHORT_KEY, code: .serverCertificateUntrusted),
    ]

    @Test(arguments: names + chains, [2, 3] as [Int32])
    func aServerIsTrustedForItsNamesAndItsChain(_ server: Server, minor: Int32) throws {
        let identity = try TestIdentity(server.names, validity: server.validity, server.oddity)
        let peer = try TLSTestServer(identity, minor: minor).connection()
        try Self.expect(server.code, of: peer, try identity.context(), host: server.host)
    }

    @Test func anUnknownAuthorityIsRefused() throws {
        let (identity, stranger) = (try TestIdentity(), try TestIdentity())
        for context in [
            try stranger.context(), try TLSContext(.default, pins: nil, offersHTTP2: true),
        ] {
            let peer = try TLSTestServer(identity).connection()
            try Self.expect(.serverCertificateHasUnknownRoot, of: peer, context)
        }
    }

    @Test func aMissingIntermediateIsRefusedAndTheOrderOfOthersDoesNotMatter() throws {
        let identity = try TestIdentity("DNS:localhost", PULSE_TLS_INTERMEDIATE)
        let leaf = identity.certificates[0]
        let missing = try TLSTestServer(identity, chain: leaf).connection()
        try Self.expect(.serverCertificateHasUnknownRoot, of: missing, try identity.context())
        let reordered = leaf + identity.authority + identity.certificates[1]
        let other = try TLSTestServer(identity, chain: reordered).connection()
        try Self.expect(nil, of: other, try identity.context())
    }

    /// As an authority of the settings, a server's own certificate vouches for itself.
    @Test func aServersOwnCertificateMayBeTheAuthority() throws {
        let identity = try TestIdentity()
        let settings = TLSSettings(certificateAuthorities: [Data(identity.certificates[0].utf8)])
        let context = try TLSContext(settings, pins: nil, offersHTTP2: true)
        try Self.expect(nil, of: try TLSTestServer(identity).connection(), context)
    }

    @Test func aVariableThatNamesOnePlaceOfAuthoritiesReplacesBoth() throws {
        try #require(TLSContext.isSupported)
        for (variables, file, directory) in [
            (["SSL_CERT_FILE": "f"], "f", nil), (["SSL_CERT_DIR": "d"], nil, "d"),
            (["SSL_CERT_FILE": "f", "SSL_CERT_DIR": "d"], "f", "d"),
        ] as [([String: String], String?, String?)] {
            let places = TLSAuthorities.locations { variables[$0] }
            #expect(places.file == file && places.directory == directory)
        }
        let usual = TLSAuthorities.locations { _ in nil }
        #expect(usual.file != nil || usual.directory != nil)
    }

    /// To OpenSSL an empty name matches every certificate, and a dot in front any name below.
    @Test(arguments: ["", ".", ".example.com", "local\0host"])
    func aHostThatNoCertificateCanHaveIsInvalid(host: String) throws {
        let context = try TestIdentity().context()
        #expect(throws: PulseError.self) { try TLSSession(context, host: host, descriptor: -1) }
    }

    @Test func theMinimumVersionHolds() throws {
        let identity = try TestIdentity()
        var settings = identity.settings
        settings.minimumVersion = .tls13
        let context = try TLSContext(settings, pins: nil, offersHTTP2: true)
        try Self.expect(.secureConnectionFailed, of: try TLSTestServer(identity, minor: 2).connection(), context)
        try Self.expect(nil, of: try TLSTestServer(identity, minor: 3).connection(), context)
    }

    /// Somebody on the way hides that the client speaks TLS 1.3. A server that does says that it was asked for TLS 1.2
    /// (RFC 8446, section 4.1.3).
    @Test func aDowngradeIsRefused() throws {
        let identity = try TestIdentity()
        let server = try TLSTestServer(identity, minor: 2, maximum: 3)
        try Self.expect(nil, of: try server.connection(), try identity.context())
        let peer = try server.connection()
        // The extension supported_versions with both becomes an unknown one.
        let versions = Data([0, 0x2B, 0, 5, 4, 3, 4, 3, 3])
        var count = 0
        peer.meddle = { bytes in
            guard let range = bytes.range(of: versions) else { return bytes }
            count += 1
            return bytes[..<range.lowerBound] + Data([0x0A, 0x0A]) + bytes[(range.lowerBound + 2)...]
        }
        try Self.expect(.secureConnectionFailed, of: peer, try identity.context())
        #expect(count == 1)
    }

    /// Whatever the client has offered: TLS 1.1, 1.0 and SSL 3.
    @Test(arguments: [2, 1, 0] as [UInt8])
    func aServerThatChoosesAnOldVersionIsRefused(minor: UInt8) throws {
        let identity = try TestIdentity()
        let peer = try TLSTestServer(identity).connection()
        let session = try peer.newSession(try identity.context())
        defer { peer.leave() }
        let isDone = try session.handshake()
        #expect(!isDone)
        // A ServerHello: version, random, no session, a suite of these versions, no compression.
        let hello = Data([3, minor]) + Data(count: 32) + Data([0, 0xC0, 0x13, 0])
        let count = UInt8(hello.count)
        peer.say(raw: Data([22, 3, minor, 0, count + 4, 2, 0, 0, count]) + hello)
        let failure = #expect(throws: TransportFailure.self) { try session.handshake() }
        #expect(failure?.code == .secureConnectionFailed && failure?.phase == .beforeSend)
    }

    /// - Parameter code: nil for a server that is accepted. A refused one gets an alert, and no byte.
    private static func expect(
        _ code: URLError.Code?, of peer: TLSPeer, _ context: TLSContext, host: String = "localhost"
    ) throws {
        let session = try peer.newSession(context, host: host)
        defer { peer.leave() }
        do {
            try peer.handshake(session)
            #expect(code == nil)
        } catch let failure as TransportFailure {
            #expect(failure.code == code && failure.phase == .beforeSend, "\(failure)")
            session.close()
            peer.turn()
            #expect(peer.received.isEmpty && peer.end != nil && peer.end != .closed)
        }
    }
}
#endif
