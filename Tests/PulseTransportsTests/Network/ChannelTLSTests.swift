// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

/// What a channel of Network.framework's tells TLS, which no test on Linux can ask it.
@Suite(.throttled)
struct ChannelTLSTests {
    private static let (tls12, tls13) = (0x0303 as UInt16, 0x0304 as UInt16)

    private func plan(
        _ url: String = "https://api.example.com/", _ minimum: TLSSettings.Version = .tls12,
        from configured: UInt16 = tls12, upTo maximum: UInt16 = tls13, evaluatesTrust: Bool = false
    ) throws -> ChannelTLS {
        let settings = ChannelSettings(
            address: try ServerAddress(url, isSecure: true), isSecure: true,
            urlRequest: URLRequest(url: try #require(URL(string: url))), configuration: .ephemeral,
            minimumVersion: minimum, proxy: .environment, authorities: [], identity: nil, check: { _ in },
            evaluatesTrust: evaluatesTrust)
        return try ChannelTLS(settings, from: configured, upTo: maximum)
    }

    @Test func aNameIsAskedForAndAnAddressIsOnlyVerified() throws {
        let names: [(String, String?, String)] = [
            ("https://api.example.com./a", "api.example.com", "api.example.com"),
            ("https://127.0.0.1:8443/", nil, "127.0.0.1"), ("https://[::1]/", nil, "::1"),
            ("https://[fe80::1%25en0]/", nil, "fe80::1"),
        ]
        for (url, serverName, certifiedName) in names {
            let plan = try plan(url)
            #expect(plan.serverName == serverName)
            #expect(plan.certifiedName == certifiedName)
        }
    }

    @Test func theLaterOfBothMinimumsCounts() throws {
        let cases: [(TLSSettings.Version, UInt16, UInt16)] = [
            // TLS 1.0 of a configuration is below what the settings can name.
            (.tls12, 0x0301, Self.tls12), (.tls12, Self.tls12, Self.tls12), (.tls12, Self.tls13, Self.tls13),
            (.tls13, 0x0301, Self.tls13), (.tls13, Self.tls13, Self.tls13),
        ]
        for (minimum, configured, expected) in cases {
            let plan = try plan("https://a/", minimum, from: configured)
            #expect(plan.minimumVersion == expected)
            #expect(plan.maxVersion == Self.tls13)
        }
    }

    @Test func aMaximumBelowTheMinimumIsAnErrorThatNamesTheSetting() throws {
        let error = #expect(throws: PulseError.self) { try plan("https://a/", .tls13, upTo: Self.tls12) }
        guard case .invalidRequest(let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("`minimumVersion`"))
    }

    /// A resumed session shows no chain, and HTTP/2 has no upgrade.
    @Test func anEvaluatedConnectionIsNotResumed() throws {
        for evaluatesTrust in [false, true] {
            let plan = try plan(evaluatesTrust: evaluatesTrust)
            #expect(plan.evaluatesTrust == evaluatesTrust)
            #expect(plan.resumesSessions == !evaluatesTrust)
            #expect(plan.applicationProtocol == "http/1.1")
        }
    }
}
