// SPDX-License-Identifier: MIT

import Dispatch
import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PulseClientTests {
    // MARK: Initialization

    @Test func aTransportThatLacksAConfiguredFeatureCausesAWarning() {
        func warnings(_ capabilities: TransportCapabilities) -> [String] {
            let sink = RecordingSink()
            var configuration = PulseConfiguration()
            configuration.tls = TLSSettings(minimumVersion: .tls13)
            configuration.proxy = .direct
            _ = PulseClient(
                configuration: configuration, transport: Limited(capabilities: capabilities),
                events: PulseEventBus(sink: sink))
            return sink.warnings
        }
        #expect(warnings([.tls, .proxy]).isEmpty)
        #expect(warnings(.simulated).isEmpty)
        #expect(warnings(.proxy).map { $0.contains("TLS settings") } == [true])
        #expect(warnings([]).count == 2)
    }

    @Test(
        arguments: [
            (nil, [], ["Authorization", "X-Tenant-Ticket"]), ("https://api.example.com", [], []),
            (nil, ["https://api.example.com"], []),
        ] as [(String?, [String], [String])])
    func secretDefaultHeadersWithoutAHomeCauseAWarning(base: String?, trusted: [String], warned: [String]) {
        let sink = RecordingSink()
        var configuration = PulseConfiguration().with(\.baseURL, value: base.flatMap { URL(string: $0) })
        configuration.trustedOrigins = trusted.compactMap { URL(string: $0) }
        configuration.defaultHeaders = ["Accept": "*/*", "X-Tenant-Ticket": "t0p", "Authorization": "Bearer s3cret"]
        configuration.secretHeaders = ["x-tenant-ticket"]
        let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
        _ = PulseClient(configuration: configuration, transport: transport, events: PulseEventBus(sink: sink))
        let warnings = sink.events.compactMap { if case .warning(let text) = $0 { text } else { nil } }
        #expect(warnings.count == warned.count)
        for (warning, name) in zip(warnings, warned) { #expect(warning.contains(" \(name) ")) }
        #expect(!warnings.contains { $0.contains("s3cret") || $0.contains("t0p") })
    }

    /// This includes pins that expire while the client exists.
    @Test func expiredPinsCauseAWarningAtTheNextRequest() async throws {
        let clock = TestClock()
        let pins = [1, 2].map { "sha256/" + Data(repeating: $0, count: 32).base64EncodedString() }
        let policy = SSLPinningPolicy.publicKeyHashes(pins).expires(clock.now.addingTimeInterval(60))
        let stage = ClientStage(.test().with(\.sslPinningPolicy, value: policy), clock: clock)
        _ = try await stage.client.request(GetUser())
        #expect(stage.sink.warnings.isEmpty)
        await clock.advance(by: 60)
        for _ in 0..<2 { _ = try await stage.client.request(GetUser()) }
        #expect(stage.sink.warnings.count == 1)
    }

    /// Paths that differ only in values are one route.
    @Test func theRouteOfAVerbCallIsItsMethodAndPathWithoutValues() async throws {
        let routes = Locked<[String]>([])
        let spy = HeadersPlugin { context in
            routes.withLock { $0.append(context.route) }
            return [:]
        }
        let client = ClientStage.client(plugins: [spy])
        let _: User = try await client.get("/users/1?token=a")
        let _: User = try await client.get("/users/2", query: ["page": 2])
        let _: User = try await client.get("/orders/{order}", path: ["order": "first"])
        _ = try await client.get("https://other.example/v1/users/123e4567-e89b-12d3-a456-426614174000", as: User.self)
        try await client.post("/login", body: ["a": true])
        try await client.delete("/users/1")
        #expect(
            routes.withLock { $0 } == [
                "GET /users/{id}", "GET /users/{id}", "GET /orders/{order}", "GET /v1/users/{id}", "POST /login",
                "DELETE /users/{id}",
            ])
    }

    // MARK: Executors

    /// The chain and the plugins inherit their caller's isolation, so the client leaves that actor before them.
    @Test @MainActor func aCallFromTheMainActorRunsOffTheMainActor() async throws {
        // The thread proves nothing: on Linux the main queue may run on another one.
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        defer { DispatchQueue.main.setSpecific(key: key, value: nil) }
        let onMain = Locked<[Bool]>([])
        let logger = LoggerPlugin(
            options: .init(verbosity: .minimal) { _ in
                onMain.withLock { $0.append(DispatchQueue.getSpecific(key: key) != nil) }
            })
        #expect(DispatchQueue.getSpecific(key: key) != nil)
        let client = ClientStage.client(plugins: [logger])
        _ = try await client.request(GetUser())
        #expect(onMain.withLock { $0 } == [false])
    }

    // MARK: Requests changed by plugins

    /// Turns a GET into a POST without outer plugins seeing it.
    private struct Overriding: PulsePlugin {
        let identifier = "overriding"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            request.httpMethod = "POST"
        }
    }

    /// User info for the home origin must not reach another host.
    @Test(arguments: [("https://mirror.example.com", nil), ("https://api.example.com", "ada")])
    func userInfoOfAURLIsNotSentToAnotherOrigin(origin: String, user: String?) async throws {
        struct Moving: PulsePlugin {
            let identifier = "moving"
            let origin: String

            func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
                var parts = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
                parts?.host = URL(string: origin)?.host
                request.url = parts?.url
            }
        }
        let stage = ClientStage(.test("https://ada:secret@api.example.com/v1"), plugins: [Moving(origin: origin)])
        _ = try await stage.client.request(GetUser())
        let url = try #require(stage.requests.first?.url)
        #expect(url.host == URL(string: origin)?.host)
        #expect(url.user == user)
        #expect(url.absoluteString.contains("secret") == (user != nil))
    }

    /// The previous hop's POST has no effect on the GET.
    @Test func theGETAfterARedirectedPOSTMayBeResent() async throws {
        let mayBeResent = Locked<[Bool]>([])
        let transport = MockTransport { request in
            let isPost = request.httpMethod == "POST"
            return PulseResponse(
                statusCode: isPost ? 303 : 200, headers: isPost ? ["Location": "/v1/users/1"] : [:],
                data: isPost ? Data() : User.json, request: request)
        }
        struct Noting: Transport {
            let base: MockTransport
            let mayBeResent: Locked<[Bool]>
            var capabilities: TransportCapabilities { base.capabilities }

            func send(_ request: TransportRequest) async throws -> PulseResponse {
                mayBeResent.withLock { $0.append(request.mayBeResent) }
                return try await base.send(request)
            }
        }
        let client = ClientStage.client(retry: .default, over: Noting(base: transport, mayBeResent: mayBeResent))
        #expect(try await client.request(GetUser(method: .post)) == User())
        #expect(mayBeResent.withLock { $0 } == [false, true])
        let once = RequestOptions().with(\.retry, value: .never)
        _ = try await client.request(GetUser(), options: once)
        #expect(mayBeResent.withLock { $0 }.last == false, "no policy would send it again")
    }

    @Test func aRestrictionOfTheVersionsReachesTheTransport() async throws {
        struct Noting: Transport {
            let capabilities: TransportCapabilities
            let seen = Locked<[PulseConfiguration.HTTPVersions]>([])

            func send(_ request: TransportRequest) async throws -> PulseResponse {
                seen.withLock { $0.append(request.httpVersions) }
                return PulseResponse(statusCode: 200, headers: [:], data: User.json, request: request.urlRequest)
            }
        }
        for versions in [PulseConfiguration.HTTPVersions.automatic, .http1] {
            let transport = Noting(capabilities: .httpVersions)
            let client = ClientStage.client(.test().with(\.httpVersions, value: versions), over: transport)
            #expect(try await client.request(GetUser()) == User())
            #expect(transport.seen.withLock { $0 } == [versions])
            let unable = Noting(capabilities: [])
            let other = ClientStage.client(.test().with(\.httpVersions, value: versions), over: unable)
            let result = await other.result(of: GetUser())
            if versions == .automatic {
                #expect(try result.get() == User())
            } else {
                guard case .failure(let error) = result else { throw CancellationError() }
                #expect(error.kind == .unsupported && unable.seen.withLock { $0 }.isEmpty)
            }
        }
    }

    @Test func aRequestThatAPluginTurnsIntoAPOSTIsNotRetried() async throws {
        let configuration = PulseConfiguration.test().with(
            \.retryPolicy, value: .immediate())
        for (plugins, count) in [([Overriding()], 1), ([], 3)] as [([any PulsePlugin], Int)] {
            let stage = ClientStage(configuration, plugins: plugins, over: .responding(503))
            await #expect(throws: PulseError.self) { try await stage.client.request(GetUser()) }
            #expect(stage.requests.count == count)
        }
    }

    @Test func aRequestThatAPluginTurnsIntoAPOSTIsNotHedged() async throws {
        for (plugins, count) in [([Overriding()], 1), ([], 2)] as [([any PulsePlugin], Int)] {
            let clock = TestClock()
            let configuration = PulseConfiguration.test().with(\.clock, value: clock)
            let hedging = HedgingPlugin(delay: .fixed(1), maxCopies: 1)
            let warm = ClientStage.client(configuration, plugins: [hedging])
            for _ in 0..<40 { _ = try await warm.request(GetUser()) }
            let transport = MockTransport { _ in
                try await clock.sleep(1_000)
                throw PulseError.cancelled
            }
            let client = PulseClient(
                configuration: configuration, plugins: [hedging] + plugins, transport: transport,
                events: PulseEventBus())
            let call = Task { try await client.request(GetUser()) }
            // The sleepers of the wire and of the next copy.
            await clock.sleepers(atLeast: 2)
            await clock.advance(by: 1)
            await clock.sleepers(atLeast: count)
            #expect(transport.requests.count == count)
            call.cancel()
            _ = await call.result
        }
    }

    // MARK: Results

    @Test func aCallReturnsTheDecodedValueAndItsResponse() async throws {
        let stage = ClientStage(over: .responding(headers: ["X-Page": "2"]))
        #expect(try await stage.client.request(GetUser()) == User())
        let decoded = try await stage.client.response(for: GetUser())
        #expect(decoded.value == User())
        #expect(decoded.response.headers["x-page"] == "2")
        #expect(
            stage.requests.map(\.url?.absoluteString)
                == Array(repeating: "https://api.example.com/v1/users/1", count: 2))
    }

    @Test func aCallThrowsATypedError() async throws {
        let client = ClientStage.client(over: .responding(404))
        let result = await client.result(of: GetUser())
        guard case .failure(.http(let response)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(response.statusCode == 404)
        #expect(try await ClientStage.client().result(of: GetUser()).get() == User())
    }

    @Test(arguments: [
        (401, PulseError.Kind.unauthorized), (429, .rateLimited), (500, .http), (302, .http), (199, .http),
    ])
    func aRejectedStatusThrowsItsError(status: Int, kind: PulseError.Kind) async throws {
        let client = ClientStage.client(over: .responding(status))
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
        #expect(error?.kind == kind)
        let raw = await #expect(throws: PulseError.self) { try await client.rawRequest(GetUser()) }
        #expect(raw?.kind == kind)
    }

    @Test func anAcceptedStatusThrowsNoError() async throws {
        let client = ClientStage.client(over: .responding(418))
        let any = RequestOptions().with(\.acceptedStatuses, value: .any)
        #expect(try await client.rawRequest(GetUser(), options: any).statusCode == 418)
        #expect(try await client.request(GetUser(), options: any) == User())
    }

    @Test func theErrorForAMismatchedBodyNamesTheType() async throws {
        let client = ClientStage.client(over: .responding(data: Data(#"{"id":"x"}"#.utf8)))
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
        guard case .decodingFailed(let type, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(type == "User")
    }

    @Test func anEndpointsCustomDecodeIsUsedAndItsPulseErrorIsKept() async throws {
        struct Own: Endpoint {
            let path = "/own"
            func decode(_ response: PulseResponse, using decoder: any ResponseDecoder) throws -> Int {
                guard response.data.count != 3 else { throw PulseError.graphQL([]) }
                return response.data.count
            }
        }
        #expect(try await ClientStage.client(over: .responding(data: Data([1, 2]))).request(Own()) == 2)
        let client = ClientStage.client(over: .responding(data: Data([1, 2, 3])))
        let error = await #expect(throws: PulseError.self) { try await client.request(Own()) }
        #expect(error?.kind == .graphQL)
    }

    @Test func anEmptyBodyDecodesToNilForAnOptionalResponse() async throws {
        let client = ClientStage.client(over: .responding(204, data: Data()))
        #expect(try await client.request(Request<User?>(.get, "/x")) == nil)
        #expect(try await client.request(Request<EmptyResponse>(.get, "/x")) == EmptyResponse())
        #expect(try await client.request(Request<Data>(.get, "/x")).isEmpty)
    }

    @Test func aDamagedCachedResponseIsFetchedOncePastTheCache() async throws {
        let calls = Locked<[RequestOptions.Cache?]>([])
        let cache = ClosurePlugin(scope: .call) { request, context, _ in
            calls.withLock { $0.append(context.options.cache) }
            var response = PulseResponse(statusCode: 200, data: User.json, request: request)
            guard context.options.cache != .reload else { return response }
            response.data = Data("damaged".utf8)
            response.origin = .cache
            return response
        }
        let client = ClientStage.client(plugins: [cache])
        #expect(try await client.request(GetUser()) == User())
        #expect(calls.withLock { $0 } == [.default, .reload])
    }

    // MARK: Sent requests

    @Test func everyRequestHasAcceptAndUserAgentUnlessSet() async throws {
        let stage = ClientStage(.test().with(\.defaultHeaders, value: ["X-App": "1"]))
        _ = try await stage.client.request(GetUser())
        _ = try await stage.client.request(Request<Data>(.get, "/x"))
        _ = try await stage.client.request(GetUser(headers: ["accept": "text/csv", "USER-AGENT": "me"]))
        let sent = stage.requests.map { $0.allHTTPHeaderFields ?? [:] }
        #expect(sent[0]["Accept"] == "application/json")
        #expect(sent[0]["X-App"] == "1")
        #expect(sent[0]["User-Agent"]?.contains("PulseKit/") == true)
        #expect(sent[1]["Accept"] == "*/*")
        #expect(stage.requests[2].value(forHTTPHeaderField: "Accept") == "text/csv")
        #expect(stage.requests[2].value(forHTTPHeaderField: "User-Agent") == "me")
        #expect(sent[2].count == 3)
    }

    @Test func callHeadersOverrideEndpointHeadersWhichOverrideDefaults() async throws {
        let stage = ClientStage(
            .test().with(
                \.defaultHeaders, value: ["X-A": "configuration", "X-B": "configuration", "X-C": "configuration"]))
        let endpoint = GetUser(headers: ["x-a": "endpoint", "x-b": "endpoint"])
        _ = try await stage.client.request(endpoint, options: .init().with(\.headers, value: ["X-a": "call"]))
        let sent = try #require(stage.requests.first)
        #expect(sent.value(forHTTPHeaderField: "X-A") == "call")
        #expect(sent.value(forHTTPHeaderField: "X-B") == "endpoint")
        #expect(sent.value(forHTTPHeaderField: "X-C") == "configuration")
        #expect(sent.allHTTPHeaderFields?.keys.filter { $0.lowercased() == "x-a" }.count == 1)
    }

    @Test func theCallsTimeoutOverridesTheEndpointsWhichOverridesTheClients() async throws {
        let stage = ClientStage(
            .test().with(\.timeout, value: 20).with(\.connectTimeout, value: 3).with(\.poolTimeout, value: 4))
        _ = try await stage.client.request(GetUser())
        _ = try await stage.client.request(GetUser(timeoutInterval: 7))
        _ = try await stage.client.request(GetUser(options: .init().with(\.timeout, value: 6), timeoutInterval: 7))
        _ = try await stage.client.request(GetUser(timeoutInterval: 7), options: .init().with(\.timeout, value: 5))
        #expect(stage.transportRequests.map(\.idleTimeout) == [20, 7, 6, 5])
        #expect(stage.requests.map(\.timeoutInterval) == [20, 7, 6, 5])
        #expect(stage.transportRequests.allSatisfy { $0.connectTimeout == 3 && $0.poolTimeout == 4 })
        _ = try await stage.client.request(GetUser(options: .init().with(\.poolTimeout, value: 5)))
        #expect(stage.transportRequests.last?.poolTimeout == 5)
    }

    @Test func bodiesSetTheirContentTypeUnlessTheEndpointDoes() async throws {
        let stage = ClientStage()
        _ = try await stage.client.request(GetUser(method: .post, body: .json(User())))
        _ = try await stage.client.request(
            GetUser(method: .post, body: .formURLEncoded([URLQueryItem(name: "a", value: "b c+")])))
        _ = try await stage.client.request(GetUser(method: .post, body: .text("hé")))
        _ = try await stage.client.request(
            GetUser(method: .put, headers: ["content-type": "a/b"], body: .data(Data([1]))))
        _ = try await stage.client.request(
            GetUser(method: .post, body: .graphQL(query: "{ me }", variables: ["id": 1])))
        let sent = stage.requests
        #expect(
            sent.map { $0.value(forHTTPHeaderField: "Content-Type") } == [
                "application/json", "application/x-www-form-urlencoded", "text/plain; charset=utf-8", "a/b",
                "application/json",
            ])
        #expect(sent[1].httpBody == Data("a=b+c%2B".utf8))
        #expect(sent[2].httpBody == Data("hé".utf8))
        let operation = try JSONDecoder().decode(JSONValue.self, from: try #require(sent[4].httpBody))
        #expect(operation == ["query": "{ me }", "variables": ["id": 1]])
    }

    /// Otherwise a form would be sent as JSON, without its boundary.
    @Test func theContentTypeOfABodyOverridesADefaultOne() async throws {
        let stage = ClientStage(.test().with(\.defaultHeaders, value: ["content-type": "application/json"]))
        let form = MultipartFormData(parts: [.init(name: "a", data: Data("b".utf8))])
        _ = try await stage.client.request(GetUser(method: .post, body: .multipart(form)))
        _ = try await stage.client.request(GetUser(method: .post, headers: ["Content-Type": "a/b"], body: .text("c")))
        var ready = URLRequest(url: try #require(URL(string: "https://api.example.com/ready")))
        ready.httpMethod = "POST"
        ready.httpBody = Data("{}".utf8)
        _ = try await stage.client.rawRequest(ready)
        let types = stage.requests.map { $0.value(forHTTPHeaderField: "Content-Type") }
        #expect(types[0]?.hasPrefix("multipart/form-data; boundary=") == true)
        // A ready request's body has no content type of its own.
        #expect(types[1...] == ["a/b", "application/json"])
    }

    /// Otherwise lower layers would use a different host than pins, cookies and credentials do.
    @Test func aPercentEncodedHostIsDecoded() async throws {
        let host = try #require(URL(string: "https://b%C3%BCcher.example/x"))
        let moving = ClosurePlugin { request, _, next in
            var request = request
            request.url = host
            return try await next(request)
        }
        let (plain, moved) = (ClientStage(), ClientStage(plugins: [moving]))
        _ = try await plain.client.rawRequest(URLRequest(url: host))
        _ = try await moved.client.rawRequest(GetUser())
        for stage in [plain, moved] {
            #expect(stage.requests.map { $0.url?.absoluteString } == ["https://xn--bcher-kva.example/x"])
        }
    }

    @Test(arguments: ["https://a%EF%BC%852Fb.example/", "http://[%2Fx:]/"])
    func aReadyRequestWithAnInvalidHostIsRejected(text: String) async throws {
        let url = try #require(URL(string: text))
        let stage = ClientStage()
        let error = await #expect(throws: PulseError.self) { try await stage.client.rawRequest(URLRequest(url: url)) }
        #expect(error?.kind == .invalidURL)
        #expect(stage.requests.isEmpty)
    }

    @Test func aReadyRequestPassesTheWholePluginChain() async throws {
        let stage = ClientStage(plugins: [.headers(["X-Plugin": "1"])])
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/ready?x=1")))
        request.httpMethod = "PUT"
        request.httpBody = Data("body".utf8)
        request.setValue("mine", forHTTPHeaderField: "X-Own")
        let response = try await stage.client.rawRequest(request)
        #expect(response.data == User.json)
        let sent = try #require(stage.requests.first)
        #expect(sent.httpMethod == "PUT")
        #expect(sent.httpBody == Data("body".utf8))
        #expect(sent.value(forHTTPHeaderField: "X-Own") == "mine")
        #expect(sent.value(forHTTPHeaderField: "X-Plugin") == "1")
        #expect(sent.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream")
    }

    @Test func everyAttemptHasTheSameIdempotencyKey() async throws {
        let log = Locked<[String?]>([])
        let transport = MockTransport { request in
            let count = log.withLock { log in
                log.append(request.value(forHTTPHeaderField: "Idempotency-Key"))
                return log.count
            }
            return PulseResponse(statusCode: count < 3 ? 503 : 200, data: User.json, request: request)
        }
        let client = ClientStage.client(retry: .immediate(), over: transport)
        _ = try await client.request(
            GetUser(method: .post), options: .init().with(\.idempotencyKey, value: .automatic))
        let keys = log.withLock { $0 }
        #expect(keys.count == 3)
        #expect(Set(keys).count == 1)
        #expect(keys[0].flatMap { UUID(uuidString: $0) } != nil)
        _ = try await client.request(GetUser(method: .post), options: .init().with(\.idempotencyKey, value: "mine"))
        #expect(log.withLock { $0.last } == "mine")
    }

    // MARK: Invalid input

    @Test func aHeaderWithALineBreakIsRejectedBeforeAnythingIsSent() async throws {
        for headers in [["X-A": "a\r\nX-B: b"], ["X-A\r\nX-B": "a"], ["X A": "a"], ["": "a"], ["X-A": "a\0"]] {
            let mock = MockTransport.responding()
            let client = ClientStage.client(over: mock)
            let error = await #expect(throws: PulseError.self) { try await client.request(GetUser(headers: headers)) }
            #expect(error?.kind == .invalidRequest)
            let configured = ClientStage.client(.test().with(\.defaultHeaders, value: headers), over: mock)
            let second = await #expect(throws: PulseError.self) { try await configured.request(GetUser()) }
            #expect(second?.kind == .invalidRequest)
            let plugin = ClosurePlugin { request, _, next in
                var request = request
                request.allHTTPHeaderFields = headers
                return try await next(request)
            }
            let stage = ClientStage(plugins: [plugin])
            let third = await #expect(throws: PulseError.self) { try await stage.client.request(GetUser()) }
            // Foundation itself drops an empty name.
            #expect(third?.kind == .invalidRequest || headers[""] != nil)
            #expect(mock.requests.isEmpty)
            #expect(stage.requests.isEmpty || headers[""] != nil)
        }
    }

    @Test func aRelativePathWithoutABaseIsAnInvalidURL() async throws {
        let stage = ClientStage(PulseConfiguration())
        let error = await #expect(throws: PulseError.self) { try await stage.client.request(GetUser()) }
        #expect(error?.kind == .invalidURL)
        #expect(stage.requests.isEmpty)
        #expect(try await stage.client.request(GetUser(path: "https://else.example.com/u")) == User())
    }

    @Test func anUnsendableReadyRequestIsRejected() async throws {
        let stage = ClientStage()
        for url in ["file:///etc/passwd", "ftp://example.com/", "data:,x", "/relative"] {
            let request = URLRequest(url: try #require(URL(string: url)))
            let error = await #expect(throws: PulseError.self) { try await stage.client.rawRequest(request) }
            #expect(error?.kind == .invalidURL)
        }
        var stream = URLRequest(url: try #require(URL(string: "https://api.example.com/")))
        stream.httpBodyStream = InputStream(data: Data([1]))
        let error = await #expect(throws: PulseError.self) { try await stage.client.rawRequest(stream) }
        #expect(error?.kind == .unsupported)
        #expect(stage.requests.isEmpty)
    }

    @Test func anInvalidTrustedOriginFailsEveryCall() async throws {
        let origin = try #require(URL(string: "mailto:a@example.com"))
        let stage = ClientStage(.test().with(\.trustedOrigins, value: [origin]))
        let error = await #expect(throws: PulseError.self) { try await stage.client.request(GetUser()) }
        #expect(error?.kind == .invalidURL)
        #expect(stage.requests.isEmpty)
    }

    @Test func aMissingFileIsAnEncodingFailure() async throws {
        let stage = ClientStage()
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        for body in [
            RequestBody.file(missing), .multipart(MultipartFormData(parts: [.init(name: "f", file: missing)])),
        ] {
            let error = await #expect(throws: PulseError.self) {
                try await stage.client.request(GetUser(method: .post, body: body))
            }
            #expect(error?.kind == .encodingFailed)
        }
        let folder = FileManager.default.temporaryDirectory
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.request(GetUser(method: .post, body: .file(folder)))
        }
        #expect(error?.kind == .encodingFailed)
        #expect(stage.requests.isEmpty)
    }

    @Test func aBodyOverTheLimitIsTooLarge() async throws {
        let client = ClientStage.client(.test().with(\.maxBufferedBodySize, value: User.json.count))
        #expect(try await client.request(GetUser()) == User())
        let smaller = RequestOptions().with(\.maxBufferedBodySize, value: User.json.count - 1)
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser(), options: smaller) }
        guard case .responseTooLarge(let limit) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(limit == User.json.count - 1)
    }

    @Test func aPolicyThatTheTransportCannotEnforceFailsBeforeAnythingIsSent() async throws {
        struct Plain: Transport {
            let sent = Locked(0)
            func send(_ request: TransportRequest) async throws -> PulseResponse {
                sent.withLock { $0 += 1 }
                return PulseResponse(statusCode: 200, data: User.json, request: request.urlRequest)
            }
        }
        let pin = "sha256/" + Data(repeating: 1, count: 32).base64EncodedString()
        let certificate = TLSSettings.ClientCertificate(pkcs12: Data([1]), password: "p")
        let configurations: [PulseConfiguration] = [
            .test().with(\.sslPinningPolicy, value: .publicKeyHashes([pin, pin])),
            .test().with(\.tls, value: TLSSettings(clientCertificate: certificate)),
            .test().with(\.proxy, value: .http(host: "proxy.example.com", port: 8080)),
        ]
        for configuration in configurations {
            let transport = Plain()
            let client = ClientStage.client(configuration, over: transport)
            let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
            #expect(error?.kind == .unsupported)
            #expect(transport.sent.withLock { $0 } == 0)
            #expect(try await ClientStage.client(configuration).request(GetUser()) == User())
        }
    }

    // MARK: Verbs and builder

    @Test func verbsSendTheirMethodPathAndBody() async throws {
        let stage = ClientStage()
        let _: User = try await stage.client.get("/users?page=2")
        let _: User = try await stage.client.post("/users", body: User())
        let _: User = try await stage.client.put("/users/1", body: .text("x"))
        let _: User = try await stage.client.patch("/users/1", body: ["name": "B"])
        let _: User = try await stage.client.delete("/users/1")
        try await stage.client.post("/log")
        try await stage.client.put("/log", body: User())
        try await stage.client.patch("/log", body: .data(Data([1])))
        try await stage.client.delete("/log")
        #expect(try await stage.client.head("/users").statusCode == 200)
        #expect(
            stage.requests.map(\.httpMethod) == [
                "GET", "POST", "PUT", "PATCH", "DELETE", "POST", "PUT", "PATCH", "DELETE", "HEAD",
            ])
        #expect(stage.requests[0].url?.absoluteString == "https://api.example.com/v1/users?page=2")
        #expect(stage.requests[1].httpBody.map { String(decoding: $0, as: UTF8.self) }?.contains("Ada") == true)
        #expect(stage.requests[5].httpBody == nil)
    }

    @Test func theBuilderCreatesTheSameClientAsTheInitializer() async throws {
        let transport = MockTransport { PulseResponse(statusCode: 200, data: User.json, request: $0) }
        let clock = TestClock()
        let client = PulseClient.Builder()
            .baseURL(try #require(URL(string: "https://api.example.com")))
            .timeout(20).connectTimeout(4).poolTimeout(5).deadline(60).header("X-A", "1").header("x-a", "2")
            .plugin(HeadersPlugin(["X-API-Version": "2"])).retry(.default).transport(transport).clock(clock)
            .maxBufferedBodySize(1 << 20).events(PulseEventBus())
            .build()
        #expect(client.configuration.deadline == 60)
        #expect(client.configuration.defaultHeaders == ["x-a": "2"])
        _ = try await client.request(GetUser())
        #expect(transport.requests.first?.value(forHTTPHeaderField: "X-API-Version") == "2")
        #expect(transport.transportRequests.first?.idleTimeout == 20)
        #expect(transport.transportRequests.first?.connectTimeout == 4)
        #expect(transport.transportRequests.first?.poolTimeout == 5)
    }

    @Test func theBuilderAndTheShutdownTakeDurations() async {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return }
        let settings = PulseClient.Builder()
            .timeout(.milliseconds(20_500)).connectTimeout(.seconds(4)).poolTimeout(.seconds(5)).deadline(.seconds(60))
            .transport(MockTransport { PulseResponse(statusCode: 200, request: $0) }).build().configuration
        #expect(settings.timeout == 20.5 && settings.connectTimeout == 4)
        #expect(settings.poolTimeout == 5 && settings.deadline == 60)

        let clock = TestClock()
        let transport = MockTransport { request in
            try await clock.sleep(9, for: .delay)
            return PulseResponse(statusCode: 200, data: User.json, request: request)
        }
        let client = ClientStage.client(clock: clock, over: transport)
        let call = Task { await client.result(of: GetUser()) }
        await clock.sleepers(atLeast: 1, for: .delay)
        let shutdown = Task { await client.shutdown(grace: .milliseconds(1500)) }
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 1.5)
        await shutdown.value
        let error = await #expect(throws: PulseError.self) { try await call.value.get() }
        #expect(error?.kind == .cancelled)
    }

    // MARK: Events

    @Test func everyCallEmitsOneStartAndOneEnd() async throws {
        let stage = ClientStage()
        _ = try await stage.client.request(GetUser())
        #expect(stage.sink.names == ["requestStarted", "attemptStarted", "responseReceived", "requestCompleted"])
        guard case .requestCompleted(.success(let response), let call, _) = stage.sink.events.last else {
            Issue.record("\(stage.sink.names)")
            return
        }
        #expect(response.statusCode == 200)
        #expect(response.byteCount == User.json.count)
        #expect(call.endpointPath == "/users/1")
        #expect(call.route == "GetUser")
        #expect(call.host == "api.example.com")

        for endpoint in [GetUser(path: "/a/../b"), GetUser(method: .post, headers: ["A": "\n"])] {
            let stage = ClientStage()
            _ = await stage.client.result(of: endpoint)
            #expect(stage.sink.names == ["requestStarted", "requestCompleted"])
        }
    }

    @Test func eventsShowNoQueryNoSecretAndNoBody() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        for status in [200, 401, 404, 429] {
            let client = ClientStage.client(over: .responding(status, data: Data("hunter2".utf8)), events: bus)
            _ = await client.result(of: GetUser(path: "/users?token=hunter2", headers: ["Authorization": "hunter2"]))
            _ = await client.result(of: GetUser(path: "https://u:hunter2@api.example.com/x?q=hunter2"))
            var request = URLRequest(url: try #require(URL(string: "https://api.example.com/ready?key=hunter2")))
            request.setValue("hunter2", forHTTPHeaderField: "Cookie")
            _ = try? await client.rawRequest(request)
        }
        #expect(sink.events.count > 30)
        var text = ""
        dump(sink.events, to: &text)
        #expect(!text.contains("hunter2"))
        #expect(!text.contains("?"))
    }

    // MARK: Shutdown

    @Test func aCallAfterShutdownThrowsCancelledAndSendsNothing() async throws {
        let stage = ClientStage()
        await stage.client.shutdown()
        let error = await #expect(throws: PulseError.self) { try await stage.client.request(GetUser()) }
        #expect(error?.kind == .cancelled)
        #expect(stage.requests.isEmpty)
        await stage.client.shutdown()
    }

    @Test func shutdownEndsPluginsAndKeepsACallersTransportOpen() async throws {
        struct Counting: PulsePlugin {
            let identifier = "counting"
            let count = Locked(0)
            func shutdown() async { count.withLock { $0 += 1 } }
        }
        let plugin = Counting()
        let mock = MockTransport.responding()
        await ClientStage.client(plugins: [plugin], over: mock).shutdown()
        #expect(plugin.count.withLock { $0 } == 1)
        let other = ClientStage.client(over: mock)
        #expect(try await other.request(GetUser()) == User())
    }
}

private struct Limited: Transport {
    let capabilities: TransportCapabilities

    func send(_ request: TransportRequest) async throws -> PulseResponse {
        PulseResponse(statusCode: 200, request: request.urlRequest)
    }
}
