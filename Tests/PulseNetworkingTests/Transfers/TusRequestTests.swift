// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// What the requests of resumable uploads carry, and where they go.
@Suite(.tags(.threads), .throttled)
struct TusRequestTests {
    private typealias Put = TusFixture.Put

    // MARK: Idempotency keys

    @Test func onlyTheFirstCreationHasTheKeyOfTheCall() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(404))
            uploads.dropping(after: 1000)
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(
                    Put(file), resuming: resumption,
                    options: RequestOptions().with(\.idempotencyKey, value: .value("k")))
                #expect(uploads.uploads.contains { $0.data == data })
                let keys = server.requests.map { "\($0.method) \($0.headers["Idempotency-Key"] ?? "-")" }
                #expect(
                    keys == ["OPTIONS -", "POST k", "PATCH -", "POST -", "PATCH -", "HEAD -", "PATCH -"])
                await client.shutdown()
            }
        }
    }

    /// A server that knows the key would otherwise answer a part with the response to the creation.
    @Test func thePluginGivesEachRequestAKeyOfItsOwn() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(409))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server, plugins: [.idempotency()])
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data])
                let keys = server.requests.map { $0.headers["Idempotency-Key"] }
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH", "HEAD", "PATCH"])
                #expect(keys[0] == nil && keys[3] == nil)
                #expect(Set([keys[1], keys[2], keys[4]]).count == 3 && keys[1] != nil)
                await client.shutdown()
            }
        }
    }

    /// With a key the chain may repeat a part, at an offset of the past. The server refuses it, and is asked.
    @Test func aLostPartWithAKeyGoesOnAtTheServersOffset() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server, plugins: [.idempotency()])
                let heard = Heard()
                _ = try await client.upload(Put(file), resuming: resumption, progress: heard.take)
                #expect(uploads.uploads.map(\.data) == [data])
                #expect(server.requests.last?.headers["Upload-Offset"] == "300000")
                heard.expectToFallOnlyBetweenAttempts()
                await client.shutdown()
            }
        }
    }

    // MARK: Location

    /// Uploads to a mock whose creation has that `Location`; returns the requests.
    private static func requests(
        location: String, headers: [String: String] = [:], plugins: [any PulsePlugin] = [],
        _ configuration: PulseConfiguration = .test()
    ) async throws -> (requests: [URLRequest], error: PulseError?) {
        let transport = MockTransport { request in
            let tus: HTTPHeaders = ["Tus-Version": "1.0.0", "Tus-Extension": "creation"]
            return switch request.httpMethod {
            case "OPTIONS": PulseResponse(statusCode: 204, headers: tus, request: request)
            case "POST": PulseResponse(statusCode: 201, headers: ["Location": location], request: request)
            default: PulseResponse(statusCode: 204, headers: ["Upload-Offset": "\(1 << 20)"], request: request)
            }
        }
        let client = ClientStage.client(configuration, plugins: plugins, over: transport)
        var error: PulseError?
        try await TusFixture.withFile { file, _, resumption in
            var endpoint = Put(file)
            endpoint.headers = headers
            do {
                _ = try await client.upload(endpoint, resuming: resumption)
            } catch let failure {
                error = PulseError(wrapping: failure)
            }
        }
        await client.shutdown()
        return (transport.requests, error)
    }

    @Test(arguments: ["http://api.example.com/up/1", "ftp://api.example.com/up/1", "https://", ""])
    func noUploadGoesWhereNoRedirectWould(location: String) async throws {
        let (requests, error) = try await Self.requests(location: location)
        #expect(requests.map(\.httpMethod) == ["OPTIONS", "POST"])
        guard case .transport(.badServerResponse, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func theUserInfoOfALocationIsRemoved() async throws {
        let (requests, error) = try await Self.requests(location: "//user:pass@api.example.com/up/1")
        #expect(error == nil)
        #expect(requests.last?.url?.absoluteString == "https://api.example.com/up/1")
    }

    @Test func theLocationGetsNoDefaultQueryItems() async throws {
        let items = [URLQueryItem(name: "key", value: "1")]
        let (requests, error) = try await Self.requests(
            location: "/up/1?id=2", .test().with(\.defaultQueryItems, value: items))
        #expect(error == nil)
        #expect(requests.map(\.url?.query) == ["key=1", "key=1", "id=2"])
    }

    @Test(arguments: [("/up/1", true), ("https://other.example.com/up/1", false)])
    func theHostAndMarkedSecretsStayAtHome(location: String, isKept: Bool) async throws {
        let marking = ClosurePlugin(scope: .call) { request, context, next in
            context.markSecret(header: "X-Mine")
            return try await next(request)
        }
        let (requests, _) = try await Self.requests(
            location: location,
            headers: ["Host": "front.example.com", "X-Mine": "1", "X-Plain": "2", "Cookie": "a=b", "Origin": "o"],
            plugins: [marking])
        let patch = try #require(requests.last)
        #expect(patch.httpMethod == "PATCH" && patch.value(forHTTPHeaderField: "X-Plain") == "2")
        for name in ["Host", "X-Mine", "Cookie", "Origin"] {
            #expect((patch.value(forHTTPHeaderField: name) != nil) == isKept, "\(name)")
        }
    }

    // MARK: Accounts

    private struct Session: TokenProvider {
        let accountID: String?

        func accessToken() async -> String? { "t" }
        func refreshToken() async throws -> String { "t" }
    }

    @Test(arguments: [("a", "a"), ("a", "b"), ("a", nil), (nil, "b"), (nil, nil)])
    func anUploadOfAnotherAccountStartsAnew(first: String?, second: String?) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 400_000)
            try await TusFixture.withFile { file, data, resumption in
                let before = TusFixture.client(
                    server, plugins: [.auth(Session(accountID: first)), TusFixture.noHEAD])
                await #expect(throws: PulseError.self) { try await before.upload(Put(file), resuming: resumption) }
                await before.shutdown()
                let count = server.requests.count
                let client = TusFixture.client(server, plugins: [.auth(Session(accountID: second))])
                _ = try await client.upload(Put(file), resuming: resumption)
                await client.shutdown()
                #expect(
                    Array(TusFixture.methods(server).dropFirst(count))
                        == (first == second ? ["HEAD", "PATCH"] : ["HEAD", "POST", "PATCH"]))
                #expect(uploads.createdCount == (first == second ? 1 : 2))
                #expect(uploads.uploads.contains { $0.data == data })
            }
        }
    }

    /// No token goes to the other server, so the endpoint's own is asked before the upload there is used.
    @Test(arguments: ["a", "b"])
    func theAccountOfAnUploadElsewhereIsKnownToo(second: String) async throws {
        try await MockServer.run { other in
            let uploads = other.serveTus(at: "/up")
            uploads.dropping(after: 400_000)
            try await MockServer.run { server in
                _ = server.serveTus(at: "/up")
                server.on(.post, "/up") { request in
                    let creation = try await Request<Data>(.post, "/up").header("Tus-Resumable", "1.0.0")
                        .header("Upload-Length", request.headers["Upload-Length"] ?? "").created(at: other)
                    return .status(201, headers: ["Location": creation])
                }
                try await TusFixture.withFile { file, data, resumption in
                    let before = TusFixture.client(
                        server, plugins: [.auth(Session(accountID: "a")), TusFixture.noHEAD])
                    await #expect(throws: PulseError.self) { try await before.upload(Put(file), resuming: resumption) }
                    await before.shutdown()
                    let client = TusFixture.client(server, plugins: [.auth(Session(accountID: second))])
                    _ = try await client.upload(Put(file), resuming: resumption)
                    await client.shutdown()
                    #expect(uploads.createdCount == (second == "a" ? 1 : 2))
                    #expect(other.requests.contains { $0.method == .head } == (second == "a"))
                    #expect(uploads.uploads.contains { $0.data == data })
                }
            }
        }
    }

    // MARK: What the server has

    /// What `HEAD` tells of an upload that is not there, or is another one.
    @Test(arguments: [
        MockServer.Response.status(403), .status(200, headers: ["Upload-Offset": "5", "Upload-Length": "1048575"]),
    ])
    func anUploadThatIsNotThisOneIsCreatedAgain(_ response: MockServer.Response) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 400_000)
            uploads.answering(.head, with: response)
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.createdCount == 2 && uploads.uploads.contains { $0.data == data })
                await client.shutdown()
            }
        }
    }

    /// `PATCH` has 204 and `HEAD` 200, whatever an endpoint accepts of its own requests.
    @Test(arguments: [-1, 1 << 20])
    func theStatusesOfTheProtocolAreSuccesses(losingAfter bytes: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            if bytes >= 0 { uploads.dropping(after: bytes) }
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                var endpoint = Put(file)
                endpoint.options.acceptedStatuses = .only(201)
                _ = try await client.upload(endpoint, resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data])
                await client.shutdown()
            }
        }
    }

    /// A response that is stored for the upload's URL tells no offset, or one of the past.
    @Test func theCacheTakesNoPart() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            server.on(.get, "/up/1") { _ in
                .text("stored", headers: ["Upload-Offset": "9", "Cache-Control": "max-age=1000"])
            }
            try await TusFixture.withFile { file, data, resumption in
                let before = TusFixture.client(server, plugins: [TusFixture.noHEAD])
                await #expect(throws: PulseError.self) { try await before.upload(Put(file), resuming: resumption) }
                await before.shutdown()
                let client = TusFixture.client(server, plugins: [.cache(policy: .rfc9111)])
                _ = try await client.rawRequest(Request<Data>("/up/1"))
                let count = server.requests.count
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data])
                #expect(Array(TusFixture.methods(server).dropFirst(count)) == ["HEAD", "PATCH"])
                await client.shutdown()
            }
        }
    }

    @Test func theTestServerRefusesOtherVersions() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            let client = TusFixture.client(server)
            for (method, path) in [(HTTPMethod.post, "/up"), (.head, "/up/1"), (.patch, "/up/1")] {
                for version in ["", "0.2.2"] {
                    let request = Request<Data>(method, path).header("Tus-Resumable", version)
                        .header("Upload-Length", "5")
                    let response = try await client.rawRequest(
                        request, options: RequestOptions().with(\.acceptedStatuses, value: .any))
                    #expect(response.statusCode == 412 && response.headers["Tus-Version"] == "1.0.0")
                }
            }
            #expect(uploads.createdCount == 0)
            await client.shutdown()
        }
    }
}

extension Request {
    /// Sends a creation, and returns the URL of the upload.
    fileprivate func created(at server: MockServer) async throws -> String {
        let client = TusFixture.client(server)
        let response = try await client.rawRequest(self)
        await client.shutdown()
        return "\(server.baseURL)\(response.headers["Location"] ?? "")"
    }
}
