// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct SignatureVerifierTests {
    /// The parts of a request as a server receives them.
    private struct Received {
        var method = HTTPMethod.post
        var target = "/v1/a%20b?x=1"
        var headers: HTTPHeaders = [:]
        var body = Data(#"{"a":1}"#.utf8)

        func verdict(_ verifier: SignatureVerifier) -> SignatureVerifier.Verdict {
            verifier.verdict(method: method, target: target, headers: headers, body: body)
        }
    }

    private let clock = TestClock()
    private let plugin = RequestSigningPlugin(secret: "s3cret")
    private var verifier: SignatureVerifier { SignatureVerifier(secret: "s3cret", clock: clock) }

    private func received(_ plugin: RequestSigningPlugin? = nil) async throws -> Received {
        var received = Received()
        let request = URLRequest.mock(received.method, received.target, body: received.body)
        let sent = try await (plugin ?? self.plugin).sent(request, in: .mock(for: request, clock: clock))
        received.headers = HTTPHeaders(sent.allHTTPHeaderFields ?? [:])
        return received
    }

    @Test func aRequestSignedByThePluginIsAccepted() async throws {
        #expect(try await received().verdict(verifier) == .accepted)
        #expect(try await received().verdict(verifier).isAccepted)
    }

    @Test func aRequestOfAMockTransportIsVerified() async throws {
        let sent = try await plugin.sent(.mock(.get, "/a?b"), in: .mock(clock: clock))
        #expect(verifier.verdict(on: sent) == .accepted)
        #expect(verifier.verdict(on: .mock(.get, "/a?b")) == .refused(.missing))
    }

    /// Clients send no fragment, and the signature does not cover one.
    @Test func aTargetWithAFragmentIsRejected() async throws {
        var received = try await received()
        received.target += "#x"
        #expect(received.verdict(verifier) == .refused(.malformed))
        let sent = try await plugin.sent(.mock(.get, "/a?b#c"), in: .mock(clock: clock))
        #expect(verifier.verdict(on: sent) == .accepted)
    }

    @Test func aRepeatedKeyIDIsRejected() async throws {
        var received = try await received(.signing(secret: "s3cret", keyID: "a"))
        #expect(received.verdict(verifier) == .accepted)
        received.headers.add(name: "X-Pulse-Key-ID", value: "b")
        #expect(received.verdict(verifier) == .refused(.malformed))
    }

    @Test func theAbsoluteFormOfATargetIsAccepted() async throws {
        var received = try await received()
        received.target = "http://api.example.com" + received.target
        #expect(received.verdict(verifier) == .accepted)
    }

    @Test func aChangedByteInMethodPathQueryBodyOrTimestampIsRejected() async throws {
        let original = try await received()
        let timestamp = try #require(original.headers["X-Pulse-Timestamp"])
        var verdicts: [SignatureVerifier.Verdict] = []
        for (text, change) in [
            (original.method.rawValue, { $0.method = HTTPMethod(rawValue: $1) ?? .get }),
            (original.target, { $0.target = $1 }),
            (timestamp, { $0.headers["X-Pulse-Timestamp"] = $1 }),
        ] as [(String, (inout Received, String) -> Void)] {
            for index in text.utf8.indices {
                for other in ["0", "9", "a", "Z", "%", "/", "?", "&", "|"] where other != String(text[index]) {
                    var changed = original
                    change(&changed, text.replacingCharacters(in: index...index, with: other))
                    verdicts.append(changed.verdict(verifier))
                }
                var shortened = original
                change(&shortened, text.replacingCharacters(in: index...index, with: ""))
                verdicts.append(shortened.verdict(verifier))
            }
        }
        for index in original.body.indices {
            for bit in 0..<8 {
                var changed = original
                changed.body[index] ^= 1 << UInt8(bit)
                verdicts.append(changed.verdict(verifier))
            }
        }
        #expect(verdicts.count > 300)
        #expect(verdicts.allSatisfy { !$0.isAccepted })
        #expect(verdicts.contains(.refused(.mismatch)))
    }

    @Test func aChangedDigitInTheSignatureIsRejected() async throws {
        let original = try await received()
        let signature = try #require(original.headers["X-Signature-256"])
        for index in signature.indices {
            var changed = original
            let other = signature[index] == "0" ? "1" : "0"
            changed.headers["X-Signature-256"] = signature.replacingCharacters(in: index...index, with: other)
            #expect(changed.verdict(verifier) == .refused(.mismatch))
        }
    }

    @Test func anotherSecretIsRejected() async throws {
        let other = SignatureVerifier(secret: "S3cret", clock: clock)
        #expect(try await received().verdict(other) == .refused(.mismatch))
        #expect(try await received().verdict(SignatureVerifier(secret: "", clock: clock)) == .refused(.unknownKey))
    }

    @Test func oldAndFutureTimestampsAreRejected() async throws {
        let received = try await received()
        let signedAt = clock.now
        for (seconds, verdict) in [
            (0, .accepted), (299, .accepted), (300, .accepted), (300.9, .accepted), (301, .refused(.tooOld)),
            (1e9, .refused(.tooOld)), (-300, .accepted), (-301, .refused(.tooNew)), (-1e9, .refused(.tooNew)),
        ] as [(TimeInterval, SignatureVerifier.Verdict)] {
            clock.setWallClock(to: signedAt.addingTimeInterval(seconds))
            #expect(received.verdict(verifier) == verdict, "\(seconds)")
        }
    }

    @Test func anInvalidToleranceAcceptsNothing() async throws {
        let received = try await received()
        for tolerance in [TimeInterval.nan, -1] {
            #expect(
                !received.verdict(SignatureVerifier(secret: "s3cret", tolerance: tolerance, clock: clock)).isAccepted)
        }
        let exact = SignatureVerifier(secret: "s3cret", tolerance: 0, clock: clock)
        #expect(received.verdict(exact) == .accepted)
    }

    @Test(arguments: ["X-Signature-256", "X-Pulse-Timestamp"])
    func missingMalformedAndRepeatedHeadersAreRejected(name: String) async throws {
        var received = try await received()
        let value = try #require(received.headers[name])
        received.headers[name] = nil
        #expect(received.verdict(verifier) == .refused(.missing))
        for text in ["", "x", value + "x", " " + value, "-1", "+1", "1e9", "1.5", String(repeating: "9", count: 99)] {
            received.headers[name] = text
            #expect(received.verdict(verifier) == .refused(.malformed), "\(text)")
        }
        received.headers[name] = value
        received.headers.add(name: name, value: value)
        #expect(received.verdict(verifier) == .refused(.malformed))
    }

    @Test(arguments: ["", "a|b", "a b", "é", String(repeating: "a", count: 129)])
    func anInvalidNonceIsRejected(nonce: String) async throws {
        var received = try await received()
        received.headers["X-Pulse-Nonce"] = nonce
        #expect(received.verdict(verifier) == .refused(.malformed))
    }

    @Test func theSecretIsSelectedByKeyID() async throws {
        let verifier = SignatureVerifier(
            secrets: ["old": Data("1".utf8), "new": Data("2".utf8), "": Data()], clock: clock)
        #expect(try await received(.signing(secret: "1", keyID: "old")).verdict(verifier) == .accepted)
        #expect(try await received(.signing(secret: "2", keyID: "new")).verdict(verifier) == .accepted)
        #expect(try await received(.signing(secret: "2", keyID: "old")).verdict(verifier) == .refused(.mismatch))
        #expect(try await received(.signing(secret: "1", keyID: "other")).verdict(verifier) == .refused(.unknownKey))
        #expect(try await received(.signing(secret: "1")).verdict(verifier) == .refused(.unknownKey))
    }

    @Test func aNonceIsAcceptedOnceWithinTheWindow() async throws {
        let verifier = SignatureVerifier(secret: "s3cret", rejectsReplays: true, clock: clock)
        let signing = RequestSigningPlugin(secret: "s3cret", sendsNonce: true)
        let received = try await received(signing)
        #expect(received.verdict(verifier) == .accepted)
        let copy = verifier
        #expect(received.verdict(copy) == .refused(.replayed))
        #expect(try await self.received(signing).verdict(verifier) == .accepted)
        #expect(try await self.received().verdict(verifier) == .refused(.missing))
        clock.shiftWallClock(by: 300)
        #expect(received.verdict(verifier) == .refused(.replayed))
        clock.shiftWallClock(by: 1)
        #expect(received.verdict(verifier) == .refused(.tooOld))
    }

    @Test func aForgedRequestUsesUpNoNonce() async throws {
        let verifier = SignatureVerifier(secret: "s3cret", rejectsReplays: true, clock: clock)
        let received = try await received(.signing(secret: "s3cret", sendsNonce: true))
        var forged = received
        forged.body = Data("other".utf8)
        #expect(forged.verdict(verifier) == .refused(.mismatch))
        #expect(received.verdict(verifier) == .accepted)
    }
}
