// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// A server that verifies requests, over real sockets.
@Suite(.tags(.threads), .throttled)
struct RequestSigningWireTests {
    private static let verifier = SignatureVerifier(secret: "s3cret", rejectsReplays: true)

    private static func client(
        _ server: MockServer, _ plugins: [any PulsePlugin] = [], trusting: [URL] = []
    ) -> PulseClient {
        ClientStage.client(
            of: server, plugins: plugins + [.signing(secret: "s3cret", sendsNonce: true)], retry: .immediate(),
            with: { $0.trustedOrigins = trusting })
    }

    private static func open(_ server: MockServer, _ methods: [HTTPMethod] = [.get, .post, .put]) {
        for method in methods {
            server.on(method, "/{path...}") { request in
                let verdict = verifier.verdict(on: request)
                return verdict.isAccepted ? .data(request.body) : .text("\(verdict)", status: 401)
            }
        }
    }

    @Test func aServerVerifiesSignedRequests() async throws {
        try await MockServer.run { server in
            Self.open(server)
            let client = Self.client(server)
            for path in ["/", "/a", "/a%20b/é?x=1&y=a+b&z=%2F", "/a/?", "//a", "/a;v=1,2?q=[1]", "/?next=http://b/c"] {
                let echoed: Data = try await client.get(path)
                #expect(echoed.isEmpty)
            }
            let text = "{\"name\": \"Ada\"}"
            let echoed: String = try await client.request(Request<String>(.post, "/a").body(.text(text)))
            #expect(echoed == text)
            let query = Request<Data>(.get, "/a").query("q", "a b+c&d=é|f")
            #expect(try await client.rawRequest(query).statusCode == 200)
            await client.shutdown()
        }
    }

    @Test func aReadyRequestWithoutAPathIsSignedAsSent() async throws {
        try await MockServer.run { server in
            Self.open(server)
            let client = Self.client(server)
            for suffix in ["", "?a=b", "#top", "/x?y#z", "/a/../b"] {
                let url = try #require(URL(string: server.baseURL.absoluteString + suffix))
                #expect(try await client.rawRequest(URLRequest(url: url)).statusCode == 200, "\(suffix)")
            }
            await client.shutdown()
        }
    }

    @Test func aServerVerifiesFilesAndStreams() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let bytes = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: file)
        try await MockServer.run { server in
            Self.open(server)
            let client = Self.client(server)
            let form = MultipartFormData(parts: [.init(name: "f", file: file)])
            let stream = RequestBody.stream { ByteStream([Data("one".utf8), Data("two".utf8)]) }
            for body in [.file(file), stream, .multipart(form)] {
                let sent = try await client.rawRequest(Request<Data>(.put, "/f").body(body))
                #expect(sent.statusCode == 200)
            }
            #expect(server.requests[0].body == bytes)
            await client.shutdown()
        }
    }

    @Test func aRetryHasANewValidSignature() async throws {
        try await MockServer.run { server in
            let count = Locked(0)
            server.on(.put, "/flaky") { request in
                guard Self.verifier.verdict(on: request).isAccepted else { return .status(401) }
                return .status(
                    count.withLock {
                        $0 += 1; return $0
                    } < 3 ? 503 : 200)
            }
            let client = Self.client(server)
            let response = try await client.rawRequest(Request<Data>(.put, "/flaky").body(.text("body")))
            #expect(response.statusCode == 200)
            #expect(Set(server.requests.compactMap { $0.headers["X-Pulse-Nonce"] }).count == 3)
            await client.shutdown()
        }
    }

    @Test func aRedirectHopAtHomeIsSignedForItsOwnPath() async throws {
        try await MockServer.run { server in
            Self.open(server)
            server.on(.post, "/from") { request in
                guard Self.verifier.verdict(on: request).isAccepted else { return .status(401) }
                return .status(307, headers: ["Location": "/to?a=b"])
            }
            let client = Self.client(server)
            let response = try await client.rawRequest(Request<Data>(.post, "/from").body(.text("body")))
            #expect(response.statusCode == 200)
            #expect(server.requests.map(\.target) == ["/from", "/to?a=b"])
            await client.shutdown()
        }
    }

    @Test func aRedirectHopToAForeignOriginIsNotSigned() async throws {
        try await MockServer.run { server in
            try await MockServer.run { foreign in
                let target = foreign.baseURL.absoluteString + "/to"
                server.on(.get, "/from") { request in
                    guard Self.verifier.verdict(on: request).isAccepted else { return .status(401) }
                    return .status(302, headers: ["Location": target])
                }
                foreign.on(.get, "/to") { _ in .text("here") }
                let client = Self.client(server)
                _ = try await client.rawRequest(Request<Data>(.get, "/from"))
                let names = foreign.requests[0].headers.dictionary.keys
                #expect(!names.contains { $0.hasPrefix("X-") })
                await client.shutdown()
                // The same hop, to a trusted origin.
                let trusting = Self.client(server, trusting: [foreign.baseURL])
                _ = try await trusting.rawRequest(Request<Data>(.get, "/from"))
                #expect(Self.verifier.verdict(on: foreign.requests[1]) == .accepted)
                await trusting.shutdown()
            }
        }
    }

    @Test func theSignatureCoversTheCompressedBytes() async throws {
        try await MockServer.run { server in
            Self.open(server)
            let client = Self.client(server, [.compression()])
            let text = String(repeating: "all work and no play ", count: 500)
            _ = try await client.rawRequest(Request<Data>(.post, "/a").body(.text(text)))
            #expect(server.requests[0].headers["Content-Encoding"] == "gzip")
            #expect(server.requests[0].body.count < 1000)
            await client.shutdown()
        }
    }
}
