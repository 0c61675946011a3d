// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct SessionChallengeTests {
    typealias Kind = SessionChallenge.Kind
    typealias Reaction = SessionChallenge.Reaction

    private static let proxy = ProxySettings.http(host: "proxy.example.com", port: 3128)
    private static let account = proxy.credentials(username: "user", password: "secret")
    private static let pins = SSLPinningPolicy.PinSet(publicKeyHashes: ["sha256/AAAA"])
    private static let authorities = TLSSettings(certificateAuthorities: [Data([0x30])])
    private static let identity = TLSSettings(
        clientCertificate: TLSSettings.ClientCertificate(pkcs12: Data([0x30]), password: ""))

    private func request(
        pins: SSLPinningPolicy.PinSet? = nil, tls: TLSSettings = .default, proxy: ProxySettings = .environment
    ) throws -> TransportRequest {
        let url = try #require(URL(string: "https://api.example.com/"))
        return TransportRequest(urlRequest: URLRequest(url: url), pins: pins, tls: tls, proxy: proxy)
    }

    private func challenge(
        _ kind: Kind, byProxy isProxy: Bool = false, _ host: String? = nil, port: Int? = nil, failures: Int = 0
    ) -> SessionChallenge {
        SessionChallenge(
            kind: kind, host: host ?? (isProxy ? "proxy.example.com" : "api.example.com"),
            port: port ?? (isProxy ? 3128 : 443), isProxy: isProxy, previousFailureCount: failures)
    }

    /// Of each kind the reactions to the server and to the configured proxy, with all settings and with none.
    private static let table: [Kind: (server: Reaction, proxy: Reaction, bareServer: Reaction, bareProxy: Reaction)] = [
        .serverTrust: (
            .evaluateTrust, .performDefaultHandling, .performDefaultHandling, .performDefaultHandling
        ),
        .clientCertificate: (
            .presentCertificate, .performDefaultHandling, .continueWithoutCredential, .performDefaultHandling
        ),
        .basic: (.rejectProtectionSpace, .sendProxyCredentials, .rejectProtectionSpace, .performDefaultHandling),
        .digest: (.rejectProtectionSpace, .sendProxyCredentials, .rejectProtectionSpace, .performDefaultHandling),
        .ntlm: (.rejectProtectionSpace, .sendProxyCredentials, .rejectProtectionSpace, .performDefaultHandling),
        .unspecified: (.rejectProtectionSpace, .sendProxyCredentials, .rejectProtectionSpace, .performDefaultHandling),
        .negotiate: (.rejectProtectionSpace, .rejectProtectionSpace, .rejectProtectionSpace, .performDefaultHandling),
        .form: (.rejectProtectionSpace, .rejectProtectionSpace, .rejectProtectionSpace, .performDefaultHandling),
        .unknown: (
            .performDefaultHandling, .performDefaultHandling, .performDefaultHandling, .performDefaultHandling
        ),
    ]

    @Test(arguments: Kind.allCases)
    func everyKindHasItsReactions(_ kind: Kind) throws {
        let expected = try #require(Self.table[kind])
        var tls = Self.authorities
        tls.clientCertificate = Self.identity.clientCertificate
        let full = try request(pins: Self.pins, tls: tls, proxy: Self.account)
        let bare = try request()
        #expect(challenge(kind).reaction(for: full) == expected.server)
        #expect(challenge(kind, byProxy: true).reaction(for: full) == expected.proxy)
        #expect(challenge(kind).reaction(for: bare) == expected.bareServer)
        #expect(challenge(kind, byProxy: true).reaction(for: bare) == expected.bareProxy)
    }

    @Test(arguments: Kind.allCases, [1, 2, 1000])
    func nothingIsPresentedAfterItFailed(_ kind: Kind, failures: Int) throws {
        let full = try request(pins: Self.pins, tls: Self.identity, proxy: Self.account)
        for isProxy in [false, true] {
            let first = challenge(kind, byProxy: isProxy).reaction(for: full)
            let next = challenge(kind, byProxy: isProxy, failures: failures).reaction(for: full)
            let isPresented = [.presentCertificate, .sendProxyCredentials].contains(first)
            #expect(next == (isPresented ? .rejectProtectionSpace : first))
        }
    }

    @Test func trustIsEvaluatedForPinsAndForAuthorities() throws {
        let trust = challenge(.serverTrust)
        #expect(trust.reaction(for: try request(pins: Self.pins)) == .evaluateTrust)
        #expect(trust.reaction(for: try request(tls: Self.authorities)) == .evaluateTrust)
        var reported = Self.pins
        reported = SSLPinningPolicy.PinSet(publicKeyHashes: reported.publicKeyHashes, isReportOnly: true)
        #expect(trust.reaction(for: try request(pins: reported)) == .evaluateTrust)
        // The system may have resumed a session of another certificate.
        #expect(trust.reaction(for: try request(tls: Self.identity)) == .evaluateTrust)
        let version = TLSSettings(minimumVersion: .tls13)
        #expect(trust.reaction(for: try request(tls: version)) == .performDefaultHandling)
        // Whatever the host is called there: the pins are those of the request.
        #expect(
            challenge(.serverTrust, "other.example.com").reaction(for: try request(pins: Self.pins)) == .evaluateTrust)
    }

    @Test(
        arguments: [
            ("proxy.example.com", .performDefaultHandling), ("api.example.com", .evaluateTrust),
            ("API.example.com", .evaluateTrust),
        ] as [(String, Reaction)])
    func aProxysTrustIsLeftToTheSystemUnlessItHasTheServersName(_ host: String, _ expected: Reaction) throws {
        let trust = challenge(.serverTrust, byProxy: true, host)
        #expect(trust.reaction(for: try request(pins: Self.pins)) == expected)
        #expect(trust.reaction(for: try request()) == .performDefaultHandling)
    }

    @Test(arguments: [
        ("proxy.example.com", 3128, true), ("PROXY.example.com", 3128, true), ("proxy.example.com", 3129, false),
        ("other.example.com", 3128, false), ("api.example.com", 443, false), ("", 0, false),
    ])
    func credentialsGoToTheConfiguredProxy(_ host: String, port: Int, isConfigured: Bool) throws {
        let asking = challenge(.basic, byProxy: true, host, port: port)
        let expected: Reaction = isConfigured ? .sendProxyCredentials : .performDefaultHandling
        #expect(asking.reaction(for: try request(proxy: Self.account)) == expected)
        // A server at the proxy's address is no proxy.
        let server = challenge(.basic, host, port: port)
        #expect(server.reaction(for: try request(proxy: Self.account)) == .rejectProtectionSpace)
    }

    @Test(arguments: [("[::1]", "::1"), ("::1", "[::1]"), ("::1", "::1"), ("[::1]", "[::1]")])
    func aProxysAddressMayHaveBrackets(configured: String, asking: String) throws {
        let proxy = ProxySettings.socks5(host: configured, port: 1080).credentials(username: "user", password: "")
        let challenge = challenge(.unspecified, byProxy: true, asking, port: 1080)
        #expect(challenge.reaction(for: try request(proxy: proxy)) == .sendProxyCredentials)
    }

    @Test func aProxyWithoutCredentialsGetsNoneOfTheSystems() throws {
        for kind in [Kind.basic, .digest, .ntlm, .unspecified, .negotiate, .form] {
            let challenge = challenge(kind, byProxy: true)
            #expect(challenge.reaction(for: try request(proxy: Self.proxy)) == .rejectProtectionSpace)
            // The system's own proxies are its affair.
            for proxy in [ProxySettings.environment, .direct] {
                #expect(challenge.reaction(for: try request(proxy: proxy)) == .performDefaultHandling)
            }
        }
        var named = Self.proxy
        named.username = "user"
        #expect(challenge(.basic, byProxy: true).reaction(for: try request(proxy: named)) == .sendProxyCredentials)
    }

    @Test(
        arguments: [
            ("NSURLAuthenticationMethodServerTrust", .serverTrust),
            ("NSURLAuthenticationMethodClientCertificate", .clientCertificate),
            (NSURLAuthenticationMethodHTTPBasic, .basic), (NSURLAuthenticationMethodHTTPDigest, .digest),
            (NSURLAuthenticationMethodNTLM, .ntlm), (NSURLAuthenticationMethodNegotiate, .negotiate),
            (NSURLAuthenticationMethodHTMLForm, .form), (NSURLAuthenticationMethodDefault, .unspecified),
            ("NSURLAuthenticationMethodOAuth", .unknown), ("", .unknown),
        ] as [(String, Kind)])
    func kindsAreNamedByFoundation(_ method: String, _ kind: Kind) {
        #expect(Kind(method: method) == kind)
    }
}
