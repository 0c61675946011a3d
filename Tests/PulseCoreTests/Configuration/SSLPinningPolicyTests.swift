// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct SSLPinningPolicyTests {
    private static let pin = "sha256/" + Data(repeating: 1, count: 32).base64EncodedString()
    private static let spare = "sha256/" + Data(repeating: 2, count: 32).base64EncodedString()
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    private func pins(_ policy: SSLPinningPolicy, _ host: String = "api.example.com") throws -> SSLPinningPolicy.PinSet?
    {
        try policy.pinSet(forHost: host, now: now)
    }

    @Test
    func aPolicyPinsTheGivenHashesAndCertificates() throws {
        let hashes = SSLPinningPolicy.publicKeyHashes([Self.pin, Self.spare])
        #expect(try pins(hashes) == SSLPinningPolicy.PinSet(publicKeyHashes: [Self.pin, Self.spare]))
        let certificates = SSLPinningPolicy.certificates([Data([1]), Data([2])])
        #expect(
            try pins(certificates)
                == SSLPinningPolicy.PinSet(publicKeyHashes: [], certificates: [Data([1]), Data([2])]))
        #expect(try pins(hashes.reportOnly())?.isReportOnly == true)
        #expect(try pins(hashes)?.isReportOnly == false)
    }

    @Test
    func pinsAreComparedByTheirBytes() throws {
        // The last digit before the padding has unused bits.
        let spelled = Self.pin.dropLast(2) + "F="
        #expect(spelled != Self.pin)
        #expect(try pins(.publicKeyHashes([String(spelled)]))?.publicKeyHashes == [Self.pin])
    }

    @Test
    func theDisabledPolicyPinsNothing() throws {
        #expect(try pins(.disabled) == nil)
        #expect(SSLPinningPolicy.disabled.problems(now: now).isEmpty)
    }

    @Test(arguments: [
        ("api.example.com", "api.example.com", true), ("api.example.com", "API.Example.COM", true),
        ("API.example.com", "api.example.com", true), ("api.example.com.", "api.example.com", true),
        ("api.example.com", "example.com", false), ("api.example.com", "*.example.com", true),
        ("api.example.com.", "*.example.com", true), ("example.com", "*.example.com", false),
        ("a.b.example.com", "*.example.com", false), (".example.com", "*.example.com", false),
        ("evilexample.com", "*.example.com", false), ("example.com", "**.example.com", true),
        ("api.example.com", "**.example.com", true), ("a.b.example.com", "**.example.com", true),
        ("evilexample.com", "**.example.com", false), ("example.com.evil.org", "**.example.com", false),
        ("127.0.0.1", "127.0.0.1", true), ("::1", "::1", true), ("localhost", "localhost", true),
    ])
    func hostPatternsMatchByLabels(host: String, pattern: String, matches: Bool) throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.pin]).hosts(pattern)
        #expect((try pins(policy, host) != nil) == matches)
        #expect((try pins(policy.hosts("other.org", pattern), host) != nil) == matches)
    }

    @Test
    func aPolicyWithoutPatternsPinsEveryHost() throws {
        #expect(try pins(.publicKeyHashes([Self.pin]), "anything.example") != nil)
    }

    private func namesTheSetting(_ error: PulseError?) -> Bool {
        guard case .invalidRequest(let reason)? = error else { return false }
        return reason.contains("`sslPinningPolicy`")
    }

    @Test(arguments: [
        "", "sha256/", "sha256/AAAA", "sha1/" + Data(repeating: 1, count: 32).base64EncodedString(),
        Data(repeating: 1, count: 32).base64EncodedString(),
        "sha256/" + Data(repeating: 1, count: 31).base64EncodedString(),
        "sha256/" + Data(repeating: 1, count: 33).base64EncodedString(), "SHA256/" + pin.dropFirst(7), pin + " ",
        " " + pin,
        "sha256/" + pin, "sha256/…", "sha256//" + pin.dropFirst(7), pin.replacingOccurrences(of: "=", with: ""),
    ])
    func aMalformedPinFailsRequests(text: String) throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.pin, text])
        let error = #expect(throws: PulseError.self) { try pins(policy) }
        #expect(namesTheSetting(error))
    }

    @Test
    func aPolicyWithoutAPinFailsRequests() throws {
        var emptied = SSLPinningPolicy.publicKeyHashes([Self.pin])
        emptied.publicKeyHashes = []
        for policy in [SSLPinningPolicy.publicKeyHashes([]), .certificates([]), emptied] {
            #expect(policy != .disabled)
            let error = #expect(throws: PulseError.self) { try pins(policy) }
            #expect(namesTheSetting(error))
            #expect(!policy.problems(now: now).isEmpty)
        }
    }

    @Test
    func pinsSetAfterCreationCount() throws {
        var policy = SSLPinningPolicy.disabled
        policy.publicKeyHashes = [Self.pin]
        #expect(policy != .disabled)
        #expect(try pins(policy) == SSLPinningPolicy.PinSet(publicKeyHashes: [Self.pin]))
    }

    @Test(arguments: [
        "", "*", "**", "*.", "**.", "https://api.example.com", "api.example.com/", "api.example.com:443", "api.*.com",
        "a*.example.com", "*.*.example.com", "api example.com", "***.example.com",
    ])
    func aMalformedHostPatternFailsRequests(pattern: String) throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.pin]).hosts("other.org", pattern)
        let error = #expect(throws: PulseError.self) { try pins(policy) }
        #expect(namesTheSetting(error))
    }

    @Test
    func expiredPinsAreNotEnforcedAndWarn() throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.pin, Self.spare])
        #expect(try pins(policy.expires(now)) == nil)
        #expect(try pins(policy.expires(now.addingTimeInterval(1))) != nil)
        #expect(policy.expires(now).problems(now: now).count == 1)
        #expect(policy.expires(now.addingTimeInterval(1)).problems(now: now).isEmpty)
    }

    @Test
    func fewerThanTwoPinsAreAProblem() {
        #expect(SSLPinningPolicy.publicKeyHashes([Self.pin]).problems(now: now).count == 1)
        #expect(SSLPinningPolicy.certificates([Data([1])]).problems(now: now).count == 1)
        #expect(SSLPinningPolicy.publicKeyHashes([Self.pin, Self.spare]).problems(now: now).isEmpty)
        #expect(SSLPinningPolicy.publicKeyHashes([Self.pin, Self.pin]).problems(now: now).count == 1)
    }
}
