// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PulseClientRunTests {
    @Test func droppingAStreamEndsItsCall() async throws {
        let log = TracingPlugin.Log()
        let stage = ClientStage(plugins: [TracingPlugin(identifier: "a", log: log)])
        weak var stream: ByteStream?
        do {
            let response = try await stage.client.perform(
                stage.client.plan(GetUser(), RequestOptions(), CallShape(delivery: .streamed)))
            stream = response.bytes
            #expect(stream != nil)
        }
        #expect(stream == nil)
        await stage.client.shutdown()
        #expect(log.all.last == "a didComplete")
        #expect(stage.sink.names.last == "requestCompleted")
    }

    #if os(Linux)
    @Test func theEndOfAStreamReportsTheTimingsOfTheWholeTransfer() async throws {
        let sink = RecordingSink()
        let bus = PulseEventBus(sink: sink)
        try await ClientStage.run(retry: .default, over: SocketTransport(), events: bus) { client, server in
            server.fallback { _ in .data(Data(repeating: 7, count: 100_000)) }
            let response = try await client.perform(
                client.plan(GetUser(), RequestOptions(), CallShape(delivery: .streamed)))
            #expect(response.timings?.firstByte != nil)
            #expect(response.timings?.lastByte == nil)
            for try await _ in try #require(response.bytes) {}
        }
        let timings = sink.events.compactMap { event -> PulseResponse.Timings? in
            guard case .requestCompleted(.success(let summary), _, _) = event else { return nil }
            return summary.timings
        }
        #expect(timings.count == 1)
        #expect(timings.first?.lastByte != nil)
        #expect(timings.first?.bytesDecoded == 100_000)
    }
    #endif

    @Test func aCallAfterShutdownDoesNotReachThePlugins() async throws {
        let log = TracingPlugin.Log()
        let client = ClientStage.client(plugins: [TracingPlugin(identifier: "a", scope: .call, log: log)])
        await client.shutdown()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
                    #expect(error?.kind == .cancelled)
                }
            }
        }
        #expect(log.all.isEmpty)
    }

    @Test func aDamagedCachedResponseDoesNotRepeatAPOST() async throws {
        let (transport, posts) = (Locked(0), Locked(0))
        let cache = ClosurePlugin(scope: .call) { request, context, next in
            if request.httpMethod == "POST" {
                posts.withLock { $0 += 1 }
                return PulseResponse(statusCode: 303, headers: ["Location": "/v1/made"], request: request)
            }
            transport.withLock { $0 += 1 }
            return PulseResponse(statusCode: 200, data: Data("damaged".utf8), request: request, origin: .cache)
        }
        let client = ClientStage.client(plugins: [cache])
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser(method: .post)) }
        #expect(error?.kind == .decodingFailed)
        #expect(posts.withLock { $0 } == 1)
        #expect(transport.withLock { $0 } == 1)
    }

    @Test(arguments: ["damaged", ""])
    func aDamagedCachedResponseIsFetchedOnceMore(stored: String) async throws {
        let cache = ClosurePlugin(scope: .call) { request, context, next in
            if context.options.cache == .reload { return try await next(request) }
            return PulseResponse(statusCode: 200, data: Data(stored.utf8), request: request, origin: .cache)
        }
        let stage = ClientStage(plugins: [cache])
        #expect(try await stage.client.request(GetUser()) == User())
        #expect(stage.requests.count == 1)
    }

    @Test func aFailureFollowedByASuccessfulRetryIsNotTheDeadlinesCause() async throws {
        let clock = TestClock()
        let count = Locked(0)
        let transport = MockTransport { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            switch number {
            case 1: return PulseResponse(statusCode: 503, request: request)
            case 2: return PulseResponse(statusCode: 302, headers: ["Location": "/v1/next"], request: request)
            default:
                try await clock.sleep(3600)
                return PulseResponse(statusCode: 200, request: request)
            }
        }
        let client = ClientStage.client(
            .test().with(\.deadline, value: 5), retry: .immediate(), clock: clock, over: transport)
        let call = Task { await client.result(of: GetUser()) }
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 1, for: .deadline)
        await clock.advance(by: 5)
        guard case .failure(.deadlineExceeded(let last)) = await call.value else {
            Issue.record("no deadline")
            return
        }
        #expect(last?.kind == nil)
        await client.shutdown()
    }

    // MARK: Contents of events and texts

    @Test(arguments: [
        "https://ada:hunter2@exa mple.com/users", "https://ada:hunter2@[nowhere/users", "/users#hunter2",
        "https://ada:hunter2@api.example.com:99999999/x",
    ])
    func anInvalidPathShowsNoSecretInEventsAndErrors(path: String) async throws {
        let stage = ClientStage()
        let error = await #expect(throws: PulseError.self) { try await stage.client.request(GetUser(path: path)) }
        #expect(error?.kind == .invalidURL)
        var shown = "\(stage.sink.events) \(String(describing: error))"
        if case .invalidURL(let text) = error { shown += text }
        #expect(!shown.contains("hunter2"), "\(shown)")
    }

    @Test func anInvalidTrustedOriginShowsNoSecret() async throws {
        let url = try #require(URL(string: "ftp://ada:hunter2@files.example.com/"))
        let client = ClientStage.client(.test().with(\.trustedOrigins, value: [url]))
        let error = await #expect(throws: PulseError.self) { try await client.request(GetUser()) }
        guard case .invalidURL(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!text.contains("hunter2"))
    }

    @Test(arguments: [TimeInterval.infinity, 1e300, -.infinity, .nan])
    func aDelayOfAnyLengthCanBeLogged(seconds: TimeInterval) throws {
        let call = NetworkEvent.CallSummary(
            id: UUID(), endpointPath: "/", route: "r", method: .get, host: "h", retryDelay: seconds)
        let error = PulseError.Summary(kind: .http, message: "HTTP status 503")
        #expect(EventText.line(for: .requestRetrying(call, error, attempt: 2)) != nil)
        #expect(EventText.line(for: .requestCompleted(.failure(error), call, latency: seconds)) != nil)
    }

    // MARK: Requests

    @Test func aReadyRequestWithoutATimeoutUsesTheClientsTimeout() async throws {
        let stage = ClientStage(.test().with(\.timeout, value: 7))
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/")))
        _ = try await stage.client.rawRequest(request)
        request.timeoutInterval = 3
        _ = try await stage.client.rawRequest(request)
        #expect(stage.transportRequests.map(\.idleTimeout) == [7, 3])
    }

    @Test func anOptionalOfADecodedTypeAcceptsWhatTheDecoderReads() async throws {
        let stage = ClientStage()
        #expect(try await stage.client.request(Request<User?>("/x")) == User())
        #expect(try await stage.client.request(Request<Data?>("/x")) == User.json)
        #expect(try await stage.client.request(Request<String?>("/x"))?.isEmpty == false)
        let accepted = stage.requests.map { $0.value(forHTTPHeaderField: "Accept") }
        #expect(accepted == ["application/json", "*/*", "*/*"])
    }

    @Test func aBodyURLThatIsNotAFileIsAnEncodingFailure() async throws {
        let stage = ClientStage()
        for text in ["https://example.com/file", "data:,x", "relative", "/dev/null", "/tmp"] {
            let url = text.hasPrefix("/") ? URL(fileURLWithPath: text) : try #require(URL(string: text))
            let error = await #expect(throws: PulseError.self) {
                try await stage.client.request(GetUser(method: .post, body: .file(url)))
            }
            #expect(error?.kind == .encodingFailed, "\(text)")
        }
        #expect(stage.requests.isEmpty)
    }

    @Test func aSymbolicLinkToAFileIsAcceptedAsABody() async throws {
        let folder = FileManager.default.temporaryDirectory
        let file = folder.appendingPathComponent(UUID().uuidString)
        let link = folder.appendingPathComponent(UUID().uuidString)
        try Data("x".utf8).write(to: file)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        defer { [file, link].forEach { try? FileManager.default.removeItem(at: $0) } }
        let stage = ClientStage()
        _ = try await stage.client.request(GetUser(method: .post, body: .file(link)))
        #expect(stage.requests.count == 1)
    }

    @Test func aRequestMovedByAPluginWithoutARedirectCarriesNoSecret() async throws {
        let moving = ClosurePlugin(scope: .call) { request, context, next in
            guard context.hop == 1 else { return try await next(request) }
            var moved = request
            moved.url = URL(string: "https://third.example.com/")
            moved.setValue("plugin", forHTTPHeaderField: "X-API-Key")
            return try await next(moved)
        }
        let transport = MockTransport { request in
            guard request.url?.host == "first.example.com" else {
                return PulseResponse(statusCode: 200, data: User.json, request: request)
            }
            return PulseResponse(
                statusCode: 302, headers: ["Location": "https://second.example.com/"], request: request)
        }
        let client = ClientStage.client(PulseConfiguration(), plugins: [moving], over: transport)
        _ = try await client.request(GetUser(path: "https://first.example.com/"))
        let last = try #require(transport.requests.last)
        #expect(last.url?.host == "third.example.com")
        #expect(last.value(forHTTPHeaderField: "X-API-Key") == nil)
    }

    @Test func aRequestThatAPluginTurnsIntoAPOSTMayNotBeResent() async throws {
        let posting = ClosurePlugin { request, _, next in
            var request = request
            request.httpMethod = "POST"
            return try await next(request)
        }
        let configuration = PulseConfiguration.test().with(\.retryPolicy, value: .default)
        for (plugins, mayBeResent) in [([posting], false), ([], true)] {
            let stage = ClientStage(configuration, plugins: plugins)
            _ = try await stage.client.request(GetUser())
            #expect(stage.transportRequests.map(\.mayBeResent) == [mayBeResent])
        }
    }

    /// A transport must not share a connection for it.
    @Test func theResendAfterA421NeedsAConnectionOfItsOwn() async throws {
        let isFirst = Locked(true)
        let transport = MockTransport { request in
            let status = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst ? 421 : 200
            }
            return PulseResponse(statusCode: status, data: User.json, request: request)
        }
        let client = ClientStage.client(retry: .default, over: transport)
        #expect(try await client.request(GetUser(method: .post)) == User())
        #expect(transport.transportRequests.map(\.needsNewConnection) == [false, true])
        #expect(transport.transportRequests.map(\.wasMisdirected) == [false, true])
    }

    // MARK: Extremes

    @Test(arguments: [-1, 0, 1, Int.min, Int.max])
    func extremeNumbersInOptionsDoNotTrap(number: Int) async throws {
        try await MockServer.run { server in
            server.on(.get, "/users/1") { _ in try .json(User()) }
            let client = ClientStage.client(
                of: server, retry: .immediate(number),
                with: { ($0.maxConnectionsPerHost, $0.maxBufferedBodySize) = (number, number) })
            let result = await client.result(of: GetUser())
            if number == .max {
                let user = try result.get()
                #expect(user == User())
            } else {
                guard case .failure(let error) = result else {
                    Issue.record("\(result)")
                    return
                }
                #expect(error.kind == .responseTooLarge)
            }
            await client.shutdown()
        }
    }

    @Test(arguments: [0, -1, -TimeInterval.infinity, .nan])
    func aTimeoutThatIsNotPositiveIsAnInvalidRequest(seconds: TimeInterval) async throws {
        let stage = ClientStage()
        let fields: [WritableKeyPath<RequestOptions, TimeInterval?>] =
            [\.timeout, \.connectTimeout, \.poolTimeout] + (seconds.isNaN ? [\.deadline] : [])
        for field in fields {
            let options = RequestOptions().with(field, value: seconds)
            for (endpoint, own) in [(GetUser(), options), (GetUser(options: options), RequestOptions())] {
                let error = await #expect(throws: PulseError.self) {
                    try await stage.client.request(endpoint, options: own)
                }
                #expect(error?.kind == .invalidRequest, "\(field)")
            }
        }
        #expect(stage.requests.isEmpty)
    }

    @Test(arguments: ["", "a\r\nb", "a\0b"])
    func anUnsendableIdempotencyKeyIsAnInvalidRequest(key: String) async throws {
        let stage = ClientStage()
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.request(
                GetUser(method: .post), options: .init().with(\.idempotencyKey, value: .value(key)))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(stage.requests.isEmpty)
    }

    @Test(arguments: [0, -1, -TimeInterval.infinity, .nan])
    func anEndpointsZeroTimeoutMeansTheClientsAndNegativeOnesAreInvalid(seconds: TimeInterval) async throws {
        let stage = ClientStage(.test().with(\.timeout, value: 7))
        let result = await stage.client.result(of: GetUser(timeoutInterval: seconds))
        _ = try await stage.client.request(
            GetUser(options: .init().with(\.timeout, value: 3), timeoutInterval: seconds))
        if seconds == 0 {
            #expect(try result.get() == User())
            #expect(stage.transportRequests.map(\.idleTimeout) == [7, 3])
        } else {
            #expect(throws: PulseError.self) { try result.get() }
            #expect(stage.transportRequests.map(\.idleTimeout) == [3])
        }
    }

    @Test(arguments: [0, -1, -TimeInterval.infinity])
    func aDeadlineThatIsNotPositiveEndsTheCallBeforeItStarts(seconds: TimeInterval) async throws {
        let stage = ClientStage()
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.request(GetUser(), options: .init().with(\.deadline, value: seconds))
        }
        #expect(error?.kind == .deadlineExceeded)
        #expect(stage.requests.isEmpty)
    }

    @Test(arguments: [0.001, 1e300, TimeInterval.infinity])
    func timeoutsOfAnyLengthDoNotTrap(seconds: TimeInterval) async throws {
        try await ClientStage.run(retry: .default) { client, server in
            server.on(.get, "/users/1") { _ in try .json(User()) }
            let options = RequestOptions().with(\.timeout, value: seconds).with(\.connectTimeout, value: seconds)
                .with(\.poolTimeout, value: seconds)
            let result = await client.result(of: GetUser(), options: options)
            // A millisecond may or may not be enough.
            #expect(seconds < 1 || (try? result.get()) == User())
        }
    }
}
