// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct RequestSigningPluginTests {
    private let clock = TestClock()
    private let plugin = RequestSigningPlugin(secret: "s3cret")

    private func sent(
        _ request: URLRequest, by plugin: RequestSigningPlugin? = nil, body: PluginContext.Body = .inRequest
    ) async throws -> URLRequest {
        try await (plugin ?? self.plugin).sent(request, in: .mock(for: request, body: body, clock: clock))
    }

    // The signatures are those of `printf '%s' TEXT | openssl dgst -sha256 -hmac s3cret`.
    @Test func theSignatureCoversMethodPathTimestampAndBodyHash() async throws {
        let request = URLRequest.mock(.post, "/v1/a%20b?x=1&y=%2F", body: Data(#"{"a":1}"#.utf8))
        let signed = try await sent(request)
        #expect(signed["X-Signature-256"] == "c669a2dc44962ff28f4641c8e5e5ca647da345065cbe1b0786c2419aa8948b2c")
        #expect(signed["X-Pulse-Timestamp"] == "1767225600")
        #expect(signed["X-Pulse-Nonce"] == nil)
        #expect(signed["X-Pulse-Key-ID"] == nil)
        #expect(signed.httpBody == request.httpBody)
        #expect(signed.url == request.url)
    }

    @Test func anInvalidKeyIDFailsTheCallUnsent() async throws {
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        let client = ClientStage.client(
            .root, plugins: [.signing(secret: "s3cret", keyID: "a\nX-B: c")], retry: .default, over: transport)
        let result = await client.result(of: Get(path: "/a"))
        guard case .failure(.invalidRequest) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func theHashOfNoBodyIsThatOfTheEmptyString() async throws {
        let code = "d8ab44f3f9f1b31357206b7f5ab5c7dade2375e767150ba12343f5d086cd921e"
        #expect(try await sent(.mock())["X-Signature-256"] == code)
        #expect(try await sent(.mock(body: Data()))["X-Signature-256"] == code)
    }

    @Test func theTimestampHasWholeSeconds() async throws {
        clock.setWallClock(to: Date(timeIntervalSince1970: 1_767_225_600.999))
        #expect(try await sent(.mock())["X-Pulse-Timestamp"] == "1767225600")
        clock.setWallClock(to: Date(timeIntervalSince1970: .infinity))
        await #expect { try await sent(.mock()) } throws: { PulseError(wrapping: $0).kind == .invalidRequest }
    }

    @Test func theSignatureHeaderIsConfigurable() async throws {
        let signed = try await sent(.mock(), by: .signing(secret: "s3cret", signatureHeader: "X-Seal"))
        #expect(signed["X-Seal"]?.count == 64)
        #expect(signed["X-Signature-256"] == nil)
    }

    @Test func aSignatureInAnyHeaderIsMarkedAsSecret() async throws {
        let context = PluginContext.mock(clock: clock)
        _ = try await RequestSigningPlugin(secret: "s3cret", signatureHeader: "X-Seal").sent(.mock(), in: context)
        #expect(context.call.markedSecrets == ["x-seal"])
        #expect(Redaction.standard.isSecret("X-Signature-256"))
    }

    @Test func eachRequestHasANewSignedNonce() async throws {
        let plugin = RequestSigningPlugin(secret: "s3cret", sendsNonce: true)
        let requests = [try await sent(.mock(), by: plugin), try await sent(.mock(), by: plugin)]
        let nonces = requests.compactMap { $0["X-Pulse-Nonce"] }
        #expect(nonces.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(nonces).count == 2)
        let verifier = SignatureVerifier(secret: "s3cret", clock: clock)
        #expect(requests.allSatisfy { verifier.verdict(on: $0) == .accepted })
        var stripped = requests[0]
        stripped.setValue(nil, forHTTPHeaderField: "X-Pulse-Nonce")
        #expect(verifier.verdict(on: stripped) == .refused(.mismatch))
        stripped.setValue(nonces[1], forHTTPHeaderField: "X-Pulse-Nonce")
        #expect(verifier.verdict(on: stripped) == .refused(.mismatch))
    }

    @Test func theNonceComesFromTheClientsRandomness() async throws {
        let plugin = RequestSigningPlugin(secret: "s3cret", sendsNonce: true)
        let nonces = try await [SeededRandomness(seed: 1), SeededRandomness(seed: 1)].asyncMap {
            try await plugin.sent(.mock(), in: .mock(randomness: $0))["X-Pulse-Nonce"]
        }
        #expect(nonces[0] == nonces[1])
    }

    @Test func theKeyIDIsSent() async throws {
        let signed = try await sent(.mock(), by: RequestSigningPlugin(secret: "s3cret", keyID: "2026-01"))
        #expect(signed["X-Pulse-Key-ID"] == "2026-01")
    }

    @Test(arguments: [false, true])
    func aKeyIDIsACredentialOnlyIfItNamesTheUser(namesUser: Bool) async throws {
        let context = PluginContext.mock(clock: clock)
        let plugin = RequestSigningPlugin(secret: "s3cret", keyID: "ada", keyIDNamesUser: namesUser)
        let signed = try await plugin.sent(.mock(), in: context)
        #expect(signed["X-Pulse-Key-ID"] == "ada")
        #expect(context.call.isCredential(header: "X-Pulse-Key-ID") == namesUser)
        #expect(!context.call.isCredential(header: "X-Pulse-Timestamp"))
    }

    @Test func aSecretOfBytesSignsLikeItsText() async throws {
        let signed = try await sent(.mock(), by: .signing(secret: Data("s3cret".utf8)))
        #expect(signed["X-Signature-256"] == (try await sent(.mock()))["X-Signature-256"])
    }

    @Test func aRequestToAForeignOriginPassesUnchanged() async throws {
        let home = PluginContext.mock(for: .mock(), clock: clock)
        let foreign = URLRequest.mock(
            .post, "https://elsewhere.example/v1", headers: ["X-A": "1"], body: Data("b".utf8))
        let sent = try await plugin.sent(foreign, in: home)
        #expect(sent.allHTTPHeaderFields == ["X-A": "1"])
    }

    @Test func aTrustedOriginIsSignedLikeHome() async throws {
        let other = try #require(URL(string: "https://elsewhere.example"))
        let context = PluginContext.mock(for: .mock(), trustedOrigins: [other], clock: clock)
        #expect(
            try await plugin.sent(.mock(.get, "https://elsewhere.example/v1"), in: context)["X-Signature-256"] != nil)
    }

    @Test func withoutHomeOriginsNothingIsSignedAndOneWarningIsEmitted() async throws {
        let stage = ClientStage(PulseConfiguration(), plugins: [plugin])
        for _ in 0..<3 {
            _ = try await stage.client.rawRequest(Request<Data>(.get, "https://api.example.com/a"))
        }
        #expect(stage.requests.allSatisfy { $0["X-Signature-256"] == nil && $0["X-Pulse-Timestamp"] == nil })
        #expect(stage.sink.warnings.filter { $0.contains("RequestSigningPlugin") }.count == 1)
        await stage.client.shutdown()
    }

    @Test func aFileIsHashedInPieces() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let bytes = Data((0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: file)
        let ofFile = try await sent(.mock(.put, "/f"), body: .file(file))
        #expect(ofFile["X-Signature-256"] == (try await sent(.mock(.put, "/f", body: bytes)))["X-Signature-256"])
        #expect(ofFile.httpBody == nil)
        try FileManager.default.removeItem(at: file)
        await #expect { try await sent(.mock(.put, "/f"), body: .file(file)) } throws: { error in
            let error = PulseError(wrapping: error)
            return error.kind == .transport && error.phase == .beforeSend
        }
    }

    @Test func aStreamIsCreatedOnceMoreForItsHash() async throws {
        let made = Locked(0)
        let stream = RequestBody.Stream(length: nil) {
            made.withLock { $0 += 1 }
            return ByteStream([Data("he".utf8), Data("llo".utf8)])
        }
        let ofStream = try await sent(.mock(.put, "/f"), body: .stream(stream))
        let ofBytes = try await sent(.mock(.put, "/f", body: Data("hello".utf8)))
        #expect(ofStream["X-Signature-256"] == ofBytes["X-Signature-256"])
        #expect(made.withLock { $0 } == 1)
    }

    @Test func aFailingStreamFailsTheCall() async {
        struct Failure: Error {}
        let stream = RequestBody.Stream(length: nil) { ByteStream(next: { throw Failure() }) }
        await #expect { try await sent(.mock(.put, "/f"), body: .stream(stream)) } throws: {
            PulseError(wrapping: $0).kind == .custom
        }
    }

    @Test func aOneShotStreamIsRejectedUnread() async {
        let stream = RequestBody.Stream(length: 5, isOneShot: true) {
            Issue.record("made")
            return ByteStream([])
        }
        await #expect { try await sent(.mock(.put, "/f"), body: .stream(stream)) } throws: { error in
            PulseError(wrapping: error).kind == .unsupported && "\(error)".contains("one-shot")
        }
    }

    @Test func cancellingTheCallEndsTheHashingOfAStream() async throws {
        let (begun, began) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let stream = RequestBody.Stream(length: nil) {
            ByteStream(
                next: {
                    began.yield()
                    try await clock.sleep(1000)
                    return nil
                },
                cancel: { end.yield() })
        }
        let task = Task { try await sent(.mock(.put, "/f"), body: .stream(stream)) }
        for await _ in begun { break }
        task.cancel()
        await #expect { try await task.value } throws: { PulseError(wrapping: $0).kind == .cancelled }
        for await _ in ended { break }
    }

    @Test func everyAttemptHasANewSignature() async throws {
        let clock = TestClock(autoAdvances: true)
        let transport = MockTransport { PulseResponse(statusCode: 503, request: $0) }
        let client = ClientStage.client(
            .root,
            plugins: [.signing(secret: "s3cret", sendsNonce: true), .retry(maxAttempts: 3, strategy: .constant(10))],
            retry: .default, clock: clock, over: transport)
        _ = await client.result(of: Request<Data>(.get, "/a"))
        let verifier = SignatureVerifier(secret: "s3cret", clock: clock)
        #expect(transport.requests.count == 3)
        #expect(Set(transport.requests.map { $0["X-Pulse-Timestamp"] }).count == 3)
        #expect(Set(transport.requests.map { $0["X-Signature-256"] }).count == 3)
        #expect(transport.requests.allSatisfy { verifier.verdict(on: $0) == .accepted })
        await client.shutdown()
    }

    @Test func withoutHashFunctionsACallIsUnsupportedBeforeItIsSent() async {
        let pretending = RequestSigningPlugin(
            secret: Data("s3cret".utf8), signatureHeader: "X-Signature-256", keyID: nil, sendsNonce: false, hashes: nil)
        await #expect {
            try await pretending.run(.mock()) { _ in
                Issue.record("sent")
                throw PulseError.cancelled
            }
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
    }

    @Test(arguments: ["", "a b", "X:Y", "x-pulse-timestamp", "X-Pulse-Nonce"])
    func anInvalidHeaderNameIsRejected(name: String) async {
        await #expect { try await sent(.mock(), by: .signing(secret: "s3cret", signatureHeader: name)) } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
    }

    @Test func anEmptySecretIsRejected() async {
        await #expect { try await sent(.mock(), by: .signing(secret: "")) } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
    }

    @Test func descriptionsHideTheSecret() {
        let verifier = SignatureVerifier(secrets: ["a": Data("hunter2".utf8)])
        for value in [RequestSigningPlugin(secret: "hunter2"), SignatureVerifier(secret: "hunter2"), verifier] as [Any]
        {
            var text = "\(value) \(String(reflecting: value)) \(value as Any)"
            dump(value, to: &text)
            #expect(!text.contains("hunter2"))
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
