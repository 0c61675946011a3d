// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct DigestPluginTests {
    private struct Get: Endpoint {
        typealias Response = EmptyResponse

        var path = "/dir/index.html"
        var method = HTTPMethod.get
        var body = RequestBody.none
    }

    /// A server that accepts each nonce for a number of requests, and checks digests with code of its own.
    private final class Server: Sendable {
        struct State {
            var nonce = 1
            var uses = 0
            var fields: [String] = []
        }

        let state = Locked(State())
        let usesOfNonce: Int
        let knows: String

        init(usesOfNonce: Int = .max, knows: String = "Mufasa") {
            self.usesOfNonce = usesOfNonce
            self.knows = knows
        }

        /// The `Authorization` of each request; empty for none.
        var fields: [String] { state.withLock { $0.fields } }

        func respond(_ request: URLRequest) -> PulseResponse {
            state.withLock { state in
                let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
                state.fields.append(field)
                let parameters = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))
                if parameters["nonce"] == "n\(state.nonce)", parameters["username"] == knows, state.uses < usesOfNonce,
                    Int(parameters["nc"] ?? "", radix: 16) == state.uses + 1
                {
                    state.uses += 1
                    return PulseResponse(statusCode: 200, request: request)
                }
                let isStale = parameters["nonce"] == "n\(state.nonce)" && state.uses >= usesOfNonce
                if state.uses > 0 { (state.nonce, state.uses) = (state.nonce + 1, 0) }
                return PulseResponse(
                    statusCode: 401,
                    headers: [
                        "WWW-Authenticate": """
                        Basic realm="x, y", Digest realm="r", nonce="n\(state.nonce)", qop="auth-int,auth", \
                        algorithm=SHA-256\(isStale ? ", stale=true" : "")
                        """
                    ], request: request)
            }
        }

        func client(_ plugins: [any PulsePlugin] = [.digest(username: "Mufasa", password: "p")]) -> PulseClient {
            ClientStage.client(.root, plugins: plugins) { [self] in respond($0) }
        }
    }

    private static func digest(_ challenge: String, _ password: String, _ clientNonce: String) throws -> String {
        let (_, parameters) = try #require(AuthenticationField.challenges(in: challenge).first)
        let read = try #require(DigestChallenge(parameters))
        var session = try #require(
            DigestSession(read, username: "Mufasa", password: password, clientNonce: clientNonce))
        let authorization = session.authorization(method: "GET", target: "/dir/index.html")
        let field = try #require(authorization)
        let fields = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))
        #expect(fields["uri"] == "/dir/index.html")
        #expect(fields["nonce"] == parameters["nonce"])
        #expect(fields["opaque"] == parameters["opaque"])
        return fields["response"] ?? ""
    }

    /// A server that accepts each of its nonces once. Calls that wait for each other each get a nonce of their own.
    @Test func callsBesideEachOtherResendWithTheirOwnNonces() async throws {
        struct Nonces {
            var open: Set<String> = []
            var count = 0
        }
        let nonces = Locked(Nonces())
        let transport = MockTransport { request in
            let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
            let used = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))["nonce"]
            await Task.yield()
            return nonces.withLock { nonces in
                if let used, nonces.open.remove(used) != nil { return PulseResponse(statusCode: 200, request: request) }
                nonces.count += 1
                nonces.open.insert("n\(nonces.count)")
                let challenge = #"Digest realm="r", nonce="n\#(nonces.count)", qop="auth", stale=\#(used != nil)"#
                return PulseResponse(
                    statusCode: 401, headers: ["WWW-Authenticate": challenge], request: request)
            }
        }
        let client = ClientStage.client(.root, plugins: [.digest(username: "Mufasa", password: "p")], over: transport)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<60 {
                        await #expect(throws: Never.self) { try await client.request(Get()) }
                    }
                }
            }
        }
        // Each call leaves at most the nonce of its own challenge behind.
        #expect(nonces.withLock { $0.open }.isEmpty)
    }

    /// The nonce of the challenge may become stale before the resend arrives.
    @Test(arguments: [(stale: 2, sent: 4, succeeds: true), (3, 4, false)])
    func aStaleChallengeIsNoRefusal(stale: Int, sent: Int, succeeds: Bool) async throws {
        let count = Locked(0)
        let transport = MockTransport { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let isAccepted = request.value(forHTTPHeaderField: "Authorization") != nil && number > stale + 1
            let challenge = #"Digest realm="r", nonce="n\#(number)", qop="auth", stale=\#(number > 1)"#
            return PulseResponse(
                statusCode: isAccepted ? 200 : 401, headers: ["WWW-Authenticate": challenge], request: request)
        }
        let client = ClientStage.client(.root, plugins: [.digest(username: "Mufasa", password: "p")], over: transport)
        let isSuccess = (try? await client.request(Get())) != nil
        #expect(isSuccess == succeeds)
        #expect(count.withLock { $0 } == sent)
    }

    /// The examples of RFC 7616, section 3.9.1, and of RFC 2617, section 3.5.
    @Test func digestsMatchTheExamplesOfTheRFCs() throws {
        let newer = """
            realm="http-auth@example.org", qop="auth, auth-int", \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        #expect(
            try Self.digest("Digest algorithm=SHA-256, " + newer, "Circle of Life", clientNonce)
                == "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1")
        #expect(
            try Self.digest("Digest algorithm=MD5, " + newer, "Circle of Life", clientNonce)
                == "8ca523f5e9506fed4657c9700eebdbec")
        let older = """
            Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """
        #expect(
            try Self.digest(older, "Circle Of Life", "0a4f113b") == "6629fae49393a05397450978507c4ef1")
    }

    /// Computed with Python's hashlib, from the values of RFC 7616.
    @Test func digestsSupportSessionHashesAndTheFormOfRFC2069() throws {
        let rest = #"realm="http-auth@example.org", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v""#
        let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        #expect(
            try Self.digest("Digest algorithm=SHA-256-sess, qop=auth, " + rest, "Circle of Life", clientNonce)
                == "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7")
        #expect(
            try Self.digest("Digest " + rest, "Circle of Life", clientNonce) == "7b2cc3b30e75b4777ea31027084363fd")
    }

    @Test func theFirstSupportedChallengeIsUsed() {
        func hash(_ fields: String...) -> DigestChallenge.Hash? {
            var headers = HTTPHeaders()
            for field in fields { headers.add(name: "WWW-Authenticate", value: field) }
            return DigestChallenge.first(in: headers)?.hash
        }
        let rest = #"realm="a \"b\", Digest", nonce=n"#
        #expect(hash("Digest algorithm=SHA-512-256, \(rest), digest algorithm=sha-256, \(rest)") == .sha256)
        #expect(hash("Negotiate YII==", "Digest \(rest)") == .md5)
        #expect(hash("Digest \(rest), algorithm=MD5-sess, qop=\"auth-int\"") == nil)
        #expect(hash("Basic \(rest)", "Digest realm=\"r\"", "Digest nonce=\"n\"", "Digest", "") == nil)
        #expect(hash("Digest realm=\"r\", nonce=\"open") == .md5)
    }

    @Test func laterCallsCarryADigestWithoutAnotherChallenge() async throws {
        let server = Server()
        let client = server.client()
        for _ in 0..<3 { _ = try await client.request(Get()) }
        #expect(server.fields.count == 4)
        #expect(server.fields.first == "")
        #expect(server.fields.dropFirst().allSatisfy { $0.hasPrefix("Digest username=\"Mufasa\"") })
        await client.shutdown()
    }

    @Test func aStaleNonceIsReplacedWithinTheCall() async throws {
        let server = Server(usesOfNonce: 2)
        let client = server.client()
        for _ in 0..<5 { _ = try await client.request(Get()) }
        // Rejected: the first request, and each third use of a nonce.
        #expect(server.fields.count == 8)
        await client.shutdown()
    }

    /// Servers that track nonce counts reject a repeated one (RFC 7616, section 3.4).
    private static func counting(failing number: Int) -> (MockTransport, PulseClient) {
        let (last, count) = (Locked(0), Locked(0))
        let transport = MockTransport { request in
            let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
            let uses = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))["nc"]
            let isNew = last.withLock { last in
                guard let uses = uses.flatMap({ Int($0, radix: 16) }), uses > last else { return false }
                last = uses
                return true
            }
            let index = count.withLock { count in
                count += 1
                return count
            }
            guard !isNew else { return PulseResponse(statusCode: index == number ? 503 : 200, request: request) }
            return PulseResponse(
                statusCode: 401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#],
                request: request)
        }
        let plugin = DigestPlugin(username: "Mufasa", password: "Circle of Life")
        return (transport, ClientStage.client(.root, plugins: [plugin], retry: .immediate(2), over: transport))
    }

    @Test func aNonceCountReusedByARetryLeadsToAnotherChallenge() async throws {
        // The challenge, the first digest, the failed request, its retry with the same count, and a request with the
        // next count.
        let (transport, client) = Self.counting(failing: 3)
        for _ in 0..<2 { _ = try await client.request(Get()) }
        #expect(transport.requests.count == 5)
        await client.shutdown()
    }

    @Test func callsChallengedTogetherShareOneNonceCount() async throws {
        let gate = Gate()
        let counts = Locked<[String]>([])
        let transport = MockTransport { request in
            let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
            guard !field.isEmpty else {
                // Both calls are challenged before one of them sends a digest.
                if gate.arrivals == 1 { gate.open() }
                await gate.pass()
                return PulseResponse(
                    statusCode: 401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#],
                    request: request)
            }
            let parameters = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))
            counts.withLock { $0.append((parameters["nc"] ?? "") + (parameters["cnonce"] ?? "")) }
            return PulseResponse(statusCode: 200, request: request)
        }
        let client = ClientStage.client(
            .root, plugins: [DigestPlugin(username: "Mufasa", password: "Circle of Life")], retry: .default,
            over: transport)
        async let first = client.request(Get())
        async let second = client.request(Get())
        _ = try await (first, second)
        let prefixes = Set(counts.withLock { $0 }.map { $0.prefix(8) })
        #expect(prefixes == ["00000001", "00000002"])
        #expect(Set(counts.withLock { $0 }.map { $0.dropFirst(8) }).count == 1)
        await client.shutdown()
    }

    /// Meanwhile another call has used the nonce of its challenge.
    @Test func aCallThatIsNotResentLeavesTheNonceCountOfOthers() async throws {
        let (gate, counts) = (Gate(), Locked<[String]>([]))
        let transport = MockTransport { request in
            if request.httpMethod == "POST" { await gate.pass() }
            let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
            guard !field.isEmpty else {
                return PulseResponse(
                    statusCode: 401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#],
                    request: request)
            }
            counts.withLock { $0.append(AuthenticationField.parameters(in: field)["nc"] ?? "") }
            return PulseResponse(statusCode: 200, request: request)
        }
        let client = ClientStage.client(
            .root, plugins: [DigestPlugin(username: "Mufasa", password: "Circle of Life")], retry: .default,
            over: transport)
        let body = RequestBody.stream(isOneShot: true) { ByteStream([Data("x".utf8)]) }
        async let post = client.result(of: Get(method: .post, body: body))
        await gate.arrivals(atLeast: 1)
        _ = try await client.request(Get())
        gate.open()
        guard case .failure(let error) = await post, error.kind == .unauthorized else {
            Issue.record("the call was resent")
            return
        }
        _ = try await client.request(Get())
        #expect(counts.withLock { $0 } == ["00000001", "00000002"])
        await client.shutdown()
    }

    @Test func aSecond401IsTheOutcome() async throws {
        let server = Server(knows: "Scar")
        let client = server.client()
        for count in [2, 4] {
            let error = await #expect(throws: PulseError.self) { try await client.request(Get()) }
            #expect(error?.kind == .unauthorized)
            #expect(server.fields.count == count)
        }
        #expect(server.fields.map(\.isEmpty) == [true, false, true, false])
        await client.shutdown()
    }

    @Test func aDeadlineErrorAfterTheChallengeDoesNotHaveThe401() async throws {
        let (server, clock, replay) = (Server(), TestClock(), Gate(isOpen: true))
        let transport = MockTransport { request in
            guard request.value(forHTTPHeaderField: "Authorization") != nil else { return server.respond(request) }
            await replay.pass()
            // Until it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw CancellationError()
        }
        let client = ClientStage.client(
            .root, plugins: [.digest(username: "Mufasa", password: "p")], clock: clock, over: transport)
        async let result = client.result(of: Get(), options: RequestOptions().with(\.deadline, value: 5))
        await replay.arrivals(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 5)
        guard case .failure(let error) = await result else {
            Issue.record("the deadline did not end the call")
            return
        }
        #expect(error.kind == .deadlineExceeded)
        #expect(error.statusCode == nil)
        await client.shutdown()
    }

    @Test func aOneShotBodyIsNotResent() async throws {
        let server = Server()
        let client = server.client()
        let body = RequestBody.stream(isOneShot: true) { ByteStream([Data("x".utf8)]) }
        await #expect(throws: PulseError.self) { try await client.request(Get(method: .post, body: body)) }
        #expect(server.fields == [""])
        // The next call knows the challenge.
        _ = try await client.request(Get())
        #expect(server.fields.count == 2)
        await client.shutdown()
    }

    @Test func theNextCallUsesTheServersNextNonce() async throws {
        let nonces = Locked<[String]>([])
        let transport = MockTransport { request in
            let field = request.value(forHTTPHeaderField: "Authorization") ?? ""
            let fields = AuthenticationField.parameters(in: String(field.dropFirst("Digest ".count)))
            nonces.withLock { $0.append((fields["nonce"] ?? "") + (fields["nc"] ?? "")) }
            guard !field.isEmpty else {
                return PulseResponse(
                    statusCode: 401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="a", qop="auth""#],
                    request: request)
            }
            return PulseResponse(
                statusCode: 200, headers: ["Authentication-Info": #"nextnonce="b", qop=auth"#], request: request)
        }
        let client = ClientStage.client(
            .root, plugins: [.digest(username: "u", password: "p")], retry: .default, over: transport)
        for _ in 0..<3 { _ = try await client.request(Get()) }
        #expect(nonces.withLock { $0 } == ["", "a00000001", "b00000001", "b00000002"])
        await client.shutdown()
    }

    @Test func digestsAreSentToHomeOriginsOnlyAndNotOverACallsOwnAuthorization() async throws {
        let server = Server()
        let client = server.client()
        _ = try await client.request(Get())
        await #expect(throws: PulseError.self) { try await client.request(Get(path: "https://elsewhere.example/a")) }
        #expect(server.fields.last == "")
        _ = try? await client.request(Get(), options: RequestOptions().with(\.auth, value: .anonymous))
        #expect(server.fields.last == "")
        await client.shutdown()
    }

    @Test func theUserNameIsTheAccountAndCallsForAnotherAccountAreNotSent() async throws {
        let plugin = DigestPlugin(username: "Mufasa", password: "p")
        let context = PluginContext.mock()
        _ = try await plugin.run(in: context) { PulseResponse(statusCode: 200, request: $0) }
        #expect(context.account == .known("Mufasa"))
        for options in [RequestOptions(), RequestOptions().with(\.auth, value: .anonymous)] {
            let context = PluginContext.mock(options: options)
            context.store[ExpectedAccount.self] = "Scar"
            let error = await #expect(throws: PulseError.self) {
                try await plugin.run(in: context) { request in
                    Issue.record("the request was sent")
                    return PulseResponse(statusCode: 200, request: request)
                }
            }
            guard case .custom(let mismatch) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(mismatch is PulseError.AccountMismatch)
        }
    }

    @Test(arguments: ["a:b", "a\r\nb"])
    func aUserNameThatCannotBeSentFailsEveryCall(name: String) async {
        let client = Server().client([.digest(username: name, password: "p")])
        let error = await #expect(throws: PulseError.self) { try await client.request(Get()) }
        #expect(error?.kind == .invalidRequest)
        await client.shutdown()
    }

    @Test func nonASCIIAndHashedUserNamesAreEncodedByTheRFC() throws {
        func field(_ extra: String) throws -> String {
            let (_, parameters) = try #require(
                AuthenticationField.challenges(in: "Digest realm=r, nonce=n, algorithm=SHA-256\(extra)").first)
            let challenge = try #require(DigestChallenge(parameters))
            var session = try #require(
                DigestSession(challenge, username: "Jäsøn Doe", password: "p", clientNonce: "c"))
            let authorization = session.authorization(method: "GET", target: "/")
            return try #require(authorization)
        }
        #expect(try field(", charset=UTF-8").contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, "))
        // Servers of RFC 2617 know only the plain parameter.
        #expect(try field("").contains("username=\"Jäsøn Doe\", "))
        #expect(try !field(", charset=UTF-8, userhash=true").contains("username*"))
        #expect(try field(", userhash=true").contains("userhash=true"))
    }

    /// An empty list is none (RFC 2069's form), but a list without `auth` is unsupported.
    @Test(
        arguments: [("\"\"", false), ("\" , \"", false), ("\"auth\"", true), ("\"auth-int\"", nil)] as [(String, Bool?)]
    )
    func anEmptyListOfQualitiesCountsAsNone(list: String, hasQuality: Bool?) throws {
        let (_, parameters) = try #require(
            AuthenticationField.challenges(in: "Digest realm=r, qop=\(list), nonce=n").first)
        #expect(DigestChallenge(parameters)?.hasQuality == hasQuality)
    }

    @Test func digestDescriptionsHideNameAndPassword() {
        let plugin = DigestPlugin(username: "Mufasa", password: "Circle of Life")
        var dumped = ""
        dump(plugin, to: &dumped)
        for text in ["\(plugin)", String(reflecting: plugin), dumped] {
            #expect(!text.contains("Mufasa") && !text.contains("Circle"))
        }
    }
}
