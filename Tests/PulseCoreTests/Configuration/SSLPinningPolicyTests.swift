// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SSLPinningPolicyTests {
    private static let first = "sha256/" + Data(repeating: 1, count: 32).base64EncodedString()
    private static let second = "sha256/" + Data(repeating: 2, count: 32).base64EncodedString()
    private static let certificate = Data([0x30, 0x82, 0x01])
    private static let now = Date(timeIntervalSince1970: 1_790_000_000)

    private static var pinned: SSLPinningPolicy { .publicKeyHashes([first, second]) }

    @Test
    func pinsEveryHostUnlessItNamesSome() throws {
        let pins = try Self.pinned.pinSet(forHost: "any.example", now: Self.now)
        #expect(pins == PinSet(publicKeyHashes: [Self.first, Self.second]))
        let certificates = try SSLPinningPolicy.certificates([Self.certificate]).pinSet(forHost: "h", now: Self.now)
        #expect(certificates == PinSet(publicKeyHashes: [], certificates: [Self.certificate]))
        #expect(try SSLPinningPolicy.disabled.pinSet(forHost: "h", now: Self.now) == nil)
    }

    @Test(arguments: [
        ("api.example.com", "api.example.com", true), ("API.example.com", "api.Example.COM", true),
        ("api.example.com", "api.example.com.", true), ("api.example.com.", "api.example.com", true),
        ("api.example.com", "xapi.example.com", false), ("api.example.com", "a.api.example.com", false),
        ("*.example.com", "api.example.com", true), ("*.example.com", "a.api.example.com", false),
        ("*.example.com", "example.com", false), ("*.example.com", ".example.com", false),
        ("*.example.com", "api.example.com.evil.com", false), ("*.example.com", "api.xexample.com", false),
        ("**.example.com", "example.com", true), ("**.example.com", "a.b.c.example.com", true),
        ("**.example.com", "notexample.com", false), ("**.example.com", "example.com.evil.com", false),
        ("::1", "::1", true), ("10.0.0.1", "10.0.0.1", true),
    ])
    func matchesHostsByPattern(pattern: String, host: String, isPinned: Bool) throws {
        let pins = try Self.pinned.hosts("other.example", pattern).pinSet(forHost: host, now: Self.now)
        #expect((pins != nil) == isPinned)
    }

    @Test(arguments: [
        "", "sha256/", "sha1/AAAA", "sha256", "SHA256/" + Data(repeating: 1, count: 32).base64EncodedString(),
        "sha256//" + Data(repeating: 1, count: 32).base64EncodedString(),
        "sha256/" + Data(count: 31).base64EncodedString(),
        "sha256/" + Data(count: 33).base64EncodedString(), "sha256/" + String(repeating: "A", count: 43),
        " sha256/" + Data(count: 32).base64EncodedString(), "sha256/" + Data(count: 32).base64EncodedString() + "\n",
        "sha256/" + String(repeating: "0", count: 64), "sha256/\u{2026}",
    ])
    func neverTakesATypingErrorForNoPin(hash: String) {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.first, hash])
        for policy in [policy, policy.hosts("h.example"), policy.reportOnly()] {
            #expect { _ = try policy.pinSet(forHost: "h.example", now: Self.now) } throws: { error in
                (error as? PulseError)?.kind == .invalidRequest
            }
            #expect(!policy.problems(now: Self.now).isEmpty)
        }
    }

    @Test
    func neverTakesAnEmptyOrMalformedPolicyForNone() {
        let policies: [SSLPinningPolicy] = [
            .publicKeyHashes([]), .certificates([]), .certificates([Data()]), .certificates([Data("-----BEGIN".utf8)]),
            Self.pinned.hosts(""), Self.pinned.hosts("*"), Self.pinned.hosts("*."),
            Self.pinned.hosts("https://h.example"),
            Self.pinned.hosts("h.example", "b\u{FC}cher.example"), Self.pinned.hosts("*h.example"),
            Self.pinned.hosts("a.*.b"),
            Self.pinned.hosts("**..example"),
        ]
        for policy in policies {
            #expect(policy != .disabled)
            #expect(throws: PulseError.self) { _ = try policy.pinSet(forHost: "h.example", now: Self.now) }
        }
    }

    @Test
    func comparesHashesByTheirBytes() throws {
        // The last digit before the padding has bits that stand for nothing.
        let spelled = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQF="
        let pins = try SSLPinningPolicy.publicKeyHashes([spelled]).pinSet(forHost: "h", now: Self.now)
        #expect(pins?.publicKeyHashes == [Self.first])
    }

    @Test
    func stopsEnforcingWhenItExpires() throws {
        let policy = Self.pinned.expires(Self.now)
        #expect(try policy.pinSet(forHost: "h", now: Self.now.addingTimeInterval(-1)) != nil)
        #expect(try policy.pinSet(forHost: "h", now: Self.now) == nil)
        #expect(policy.problems(now: Self.now.addingTimeInterval(-1)).isEmpty)
        #expect(policy.problems(now: Self.now).count == 1)
    }

    @Test
    func warnsOfFewerThanTwoPins() {
        #expect(SSLPinningPolicy.disabled.problems(now: Self.now).isEmpty)
        #expect(Self.pinned.problems(now: Self.now).isEmpty)
        #expect(SSLPinningPolicy.publicKeyHashes([Self.first]).problems(now: Self.now).count == 1)
        #expect(SSLPinningPolicy.publicKeyHashes([Self.first, Self.first]).problems(now: Self.now).count == 1)
        #expect(
            SSLPinningPolicy.certificates([Self.certificate, Self.certificate + [1]]).problems(now: Self.now).isEmpty)
    }

    @Test
    func readsAsInTheDocumentation() throws {
        let configuration = PulseConfiguration()
            .with(\.sslPinningPolicy, value: .publicKeyHashes([Self.first, Self.second]))
        #expect(configuration.sslPinningPolicy == Self.pinned)
        let reported = try Self.pinned.reportOnly().pinSet(forHost: "h", now: Self.now)
        #expect(reported?.isReportOnly == true)
    }
}
