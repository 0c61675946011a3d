// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct PinnedKeysTests {
    private static let chain = Array(CertificateFixture.all.prefix(3))
    private static let other = CertificateFixture.all[3]
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    /// The verdict of a transport on a chain, under the pins that the client gives it for the host.
    private func verdict(
        on chain: [Data] = Self.chain.map(\.der), of policy: SSLPinningPolicy, host: String = "api.example.com"
    ) throws -> PinnedKeys.Verdict? {
        try policy.pinSet(forHost: host, now: Self.now).map { try PinnedKeys($0).verdict(onChain: chain) }
    }

    @Test(arguments: CertificateFixture.all)
    func aPinnedKeyAnywhereInTheChainIsAccepted(_ pinned: CertificateFixture) throws {
        let chain = CertificateFixture.all.map(\.der)
        for policy in [SSLPinningPolicy.publicKeyHashes([pinned.pin]), .certificates([pinned.der])] {
            #expect(try verdict(on: chain, of: policy) == .accepted)
            #expect(try verdict(on: chain, of: policy.reportOnly()) == .accepted)
            let others = CertificateFixture.all.filter { $0.keyHash != pinned.keyHash }
            #expect(try verdict(on: others.map(\.der), of: policy) == .refused(seen: others.map(\.key)))
        }
    }

    @Test func aChainWithoutAPinnedKeyIsRefusedOrReported() throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.other.pin])
        #expect(try verdict(of: policy) == .refused(seen: Self.chain.map(\.key)))
        #expect(try verdict(of: policy.reportOnly()) == .reported(seen: Self.chain.map(\.key)))
        #expect(try verdict(on: [], of: policy) == .refused(seen: []))
        #expect(try verdict(on: [], of: policy.reportOnly()) == .reported(seen: []))
    }

    @Test func oneOfSeveralPinsIsEnough() throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.other.pin, Self.chain[2].pin])
        #expect(try verdict(of: policy) == .accepted)
        var mixed = SSLPinningPolicy.publicKeyHashes([Self.other.pin])
        mixed.certificates = [Self.chain[1].der]
        #expect(try verdict(of: mixed) == .accepted)
        #expect(try verdict(on: [Self.other.der], of: mixed) == .accepted)
    }

    @Test func anUnreadableCertificateMatchesNothingAndHidesNothing() throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.chain[0].pin])
        let junk = [Data(), Data("junk".utf8), Self.chain[0].der.dropLast()]
        #expect(try verdict(on: junk, of: policy) == .refused(seen: []))
        #expect(try verdict(on: junk + [Self.other.der], of: policy) == .refused(seen: [Self.other.key]))
        #expect(try verdict(on: junk + [Self.chain[0].der], of: policy) == .accepted)
    }

    @Test(arguments: [
        Data(), Data("-----BEGIN CERTIFICATE-----".utf8), Self.other.der.dropLast(), Self.other.der + Data([0x0A]),
    ])
    func anUnreadablePinnedCertificateFailsRequests(_ certificate: Data) {
        let policy = SSLPinningPolicy.certificates([Self.chain[0].der, certificate])
        let error = #expect(throws: PulseError.self) { try verdict(of: policy) }
        guard case .invalidRequest(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("pinned certificate") && reason.contains("(byte "))
    }

    @Test(arguments: [
        ("api.example.com", true), ("API.example.com.", true), ("example.com", false), ("a.api.example.com", false),
    ])
    func pinsAreForTheHostsOfTheirPolicy(host: String, isPinned: Bool) throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.other.pin]).hosts("*.example.com")
        #expect(try verdict(of: policy, host: host) == (isPinned ? .refused(seen: Self.chain.map(\.key)) : nil))
    }

    @Test func pinsApplyUntilTheyExpire() throws {
        let policy = SSLPinningPolicy.publicKeyHashes([Self.other.pin])
        #expect(try verdict(of: policy.expires(Self.now)) == nil)
        let later = policy.expires(Self.now.addingTimeInterval(1))
        #expect(try verdict(of: later) == .refused(seen: Self.chain.map(\.key)))
        #expect(try verdict(of: .disabled) == nil)
    }

    /// A client's policy has valid pins; a set of pins may be made without one.
    @Test(arguments: ["", "sha256/", "sha256/AAAA", "short", "sha256/?"])
    func aMalformedPinMatchesNothing(_ pin: String) throws {
        let keys = try PinnedKeys(SSLPinningPolicy.PinSet(publicKeyHashes: [pin]))
        #expect(keys.verdict(onChain: Self.chain.map(\.der)) == .refused(seen: Self.chain.map(\.key)))
    }

    @Test func aFailureNamesTheHostAndItsEventTheKeys() throws {
        let sink = Sink()
        let url = try #require(URL(string: "https://api.example.com/path"))
        let request = TransportRequest(urlRequest: URLRequest(url: url), events: sink)
        guard case .sslPinningFailed("api.example.com") = request.pinningFailure(Self.chain.map(\.key)) else {
            Issue.record("another error")
            return
        }
        #expect(sink.seen == [["api.example.com"] + Self.chain.map(\.pin)])
    }

    private final class Sink: EventSink {
        let isActive = true
        private let events = Locked<[[String]]>([])
        var seen: [[String]] { events.withLock { $0 } }

        func emit(_ event: NetworkEvent) {
            if case .pinningFailed(let host, let seen) = event { events.withLock { $0.append([host] + seen) } }
        }
    }
}
