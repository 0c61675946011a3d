// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PulseRecorderTests {
    @Test func recordsRequestAndResponseWithTheirBodies() async throws {
        let stage = RecorderStage { request in
            PulseResponse(
                statusCode: 201, headers: ["Content-Type": "application/json"], data: Data(#"{"id":7}"#.utf8),
                request: request)
        }
        let request = Request<EmptyResponse>(.post, "/users").query("page", "2").body(.json(["name": "Ada"]))
        _ = try await stage.client.request(request)
        let call = try #require(stage.calls.first)
        #expect(stage.calls.count == 1)
        #expect(call.endpointPath == "/users")
        #expect(call.method == .post)
        #expect(call.statusCode == 201)
        #expect(call.latency != nil)
        let exchange = try #require(call.exchanges.first)
        #expect(exchange.request.url == "https://api.example.com/users?page=2")
        #expect(exchange.request.body.text == #"{"name":"Ada"}"#)
        #expect(exchange.request.headers["Content-Type"] == "application/json")
        #expect(exchange.response?.statusCode == 201)
        #expect(exchange.response?.body.text == #"{"id":7}"#)
        #expect(exchange.response?.body.byteCount == 8)
        await stage.client.shutdown()
    }

    @Test func recordsAttemptsAndRedirectsSeparately() async throws {
        let count = Locked(0)
        let stage = RecorderStage { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            switch number {
            case 1: return PulseResponse(statusCode: 503, request: request)
            case 2: return PulseResponse(statusCode: 301, headers: ["Location": "/new"], request: request)
            default: return PulseResponse(statusCode: 200, request: request)
            }
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/old"))
        let call = try #require(stage.calls.first)
        #expect(call.exchanges.map(\.attempt) == [1, 2, 1])
        #expect(call.exchanges.map(\.hop) == [0, 0, 1])
        #expect(call.exchanges.map { $0.response?.statusCode } == [503, 301, 200])
        #expect(call.exchanges.map(\.offset) == [0, 0.5, 0.5])
        #expect(call.exchanges.map(\.id) == call.exchanges.map(\.id).sorted())
        let marks = call.marks.map(\.kind)
        #expect(marks == [.retrying, .redirected])
        #expect(call.marks.first?.wait == 0.5)
        #expect(call.latency == 0.5)
        await stage.client.shutdown()
    }

    @Test(arguments: [true, false])
    func marksTheCallsOfAClockThatAProgramAdvances(isAttached: Bool) async throws {
        let stage = RecorderStage(isAttached: isAttached) { PulseResponse(statusCode: 200, request: $0) }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/virtual"))
        let measured = PulseClient(
            configuration: stage.client.configuration.with(\.clock, value: SystemClock()), plugins: [stage.recorder],
            transport: MockTransport { PulseResponse(statusCode: 200, request: $0) }, events: stage.bus)
        _ = try await measured.rawRequest(Request<EmptyResponse>(.get, "/measured"))
        #expect(stage.calls.map(\.endpointPath) == ["/virtual", "/measured"])
        #expect(stage.calls.map(\.isInVirtualTime) == [true, false])
        await stage.client.shutdown()
        await measured.shutdown()
    }

    @Test func masksSecretsBeforeTheyAreStored() async throws {
        let stage = RecorderStage(
            options: .init(sensitiveHeaders: ["X-Own"]), plugins: [Marking()], secretHeaders: ["X-Tenant"]
        ) { request in
            PulseResponse(
                statusCode: 200, headers: ["Set-Cookie": "sid=hunter2", "Content-Type": "application/json"],
                data: Data(#"{"access_token":"hunter2","a":1}"#.utf8), request: request)
        }
        let request = Request<EmptyResponse>(.post, "/login").query("api_key", "hunter2")
            .header("Authorization", "Bearer hunter2").header("X-Own", "hunter2").header("X-Tenant", "hunter2")
            .body(.json(["password": "hunter2"]))
        _ = try await stage.client.rawRequest(request)
        var kept = ""
        dump(stage.recorder.recording(), to: &kept)
        #expect(!kept.contains("hunter2"))
        let call = try #require(stage.calls.first)
        let exchange = try #require(call.exchanges.first)
        for name in ["Authorization", "X-Own", "X-Tenant", "X-Marked"] {
            #expect(exchange.request.headers[name] == Redaction.mask, "\(name)")
        }
        #expect(exchange.request.url.contains("api_key=\(Redaction.mask)"))
        #expect(exchange.response?.body.text?.contains(#""a":1"#) == true)
        await stage.client.shutdown()
    }

    @Test func masksItsOwnSensitiveHeadersInAnEventsOutcome() async throws {
        let stage = RecorderStage(options: .init(sensitiveHeaders: ["X-Own"]), plugins: [Refusing()]) { request in
            PulseResponse(statusCode: 200, request: request)
        }
        _ = await stage.client.result(of: Request<EmptyResponse>(.get, "/a"))
        let call = try #require(stage.calls.first)
        guard case .failure(let error) = call.outcome else {
            Issue.record("\(String(describing: call.outcome))")
            return
        }
        #expect(error.kind == .unsupported)
        #expect(error.message.contains("X-Own"))
        #expect(!error.message.contains("hunter2"))
        #expect(!PulseReport(stage.recorder.recording()).html.contains("hunter2"))
        await stage.client.shutdown()
    }

    @Test func boundsTheTextOfAnEventsOutcome() {
        let (bus, recorder) = (PulseEventBus(), PulseRecorder(clock: TestClock()))
        recorder.attach(to: bus)
        bus.emitCall(.sample(), .error(.custom, String(repeating: "word ", count: 100_000)))
        guard case .failure(let error) = recorder.recording().calls.first?.outcome else {
            Issue.record("no failure")
            return
        }
        #expect(error.message.utf8.count < 5000)
    }

    @Test func aDroppedCallIsNotRecordedAgainByItsNextAttempt() async throws {
        let bus = PulseEventBus()
        let recorder = PulseRecorder(options: .init(maxCalls: 1), clock: TestClock())
        recorder.attach(to: bus)
        let waiting = PluginContext.mock(events: bus)
        func send(_ context: PluginContext) async {
            let chain = PluginChain.mock([recorder], context: context) { PulseResponse(statusCode: 503, request: $0) }
            _ = await chain.result(.mock())
        }
        await send(waiting)
        let later = PluginContext.mock(events: bus)
        await send(later)
        await send(waiting.with(attempt: 2))
        let recording = recorder.recording()
        #expect(recording.calls.map(\.id) == [later.id])
        #expect(recording.recordedCallCount == 2)
    }

    @Test func recordsNetworkFailures() async throws {
        let stage = RecorderStage { _ in throw TransportFailure(code: .networkConnectionLost, phase: .maybeSent) }
        await #expect(throws: PulseError.self) {
            try await stage.client.rawRequest(Request<EmptyResponse>(.post, "/a"))
        }
        let exchange = try #require(stage.calls.first?.exchanges.first)
        #expect(exchange.response == nil)
        #expect(exchange.failure?.kind == .transport)
        #expect(exchange.duration != nil)
        await stage.client.shutdown()
    }

    @Test func neverReadsAStream() async throws {
        let reads = Locked(0)
        let recorder = PulseRecorder()
        let context = PluginContext.mock(delivery: .streamed)
        let response = try await recorder.run(in: context) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(
                ByteStream {
                    reads.withLock { $0 += 1 }
                    return reads.withLock { $0 } < 3 ? Data("abc".utf8) : nil
                })
            return response
        }
        #expect(reads.withLock { $0 } == 0)
        var exchange = try #require(recorder.recording().calls.first?.exchanges.first)
        #expect(exchange.response?.body.content == .omitted(.stream))
        #expect(exchange.duration == nil)
        let stream = try #require(response.bytes)
        #expect(try await stream.collect(upTo: 100) == Data("abcabc".utf8))
        exchange = try #require(recorder.recording().calls.first?.exchanges.first)
        #expect(exchange.duration != nil)
        #expect(exchange.failure == nil)
    }

    @Test func aConnectionIsRecordedLikeAStreamAndEndsWithItsHandshake() async throws {
        let recorder = PulseRecorder()
        let response = try await recorder.run(in: .mock(delivery: .upgrade)) { request in
            var response = PulseResponse(statusCode: 101, request: request)
            response.body = .connection(CountedConnection())
            return response
        }
        #expect(response.connection != nil)
        let exchange = try #require(recorder.recording().calls.first?.exchanges.first)
        #expect(exchange.response?.body.content == .omitted(.stream))
        #expect(exchange.duration != nil)
    }

    @Test func aFailedStreamIsRecordedWithItsError() async throws {
        let recorder = PulseRecorder()
        let response = try await recorder.run(in: .mock(delivery: .streamed)) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream { throw PulseError.timeout(request) })
            return response
        }
        let stream = try #require(response.bytes)
        await #expect(throws: PulseError.self) { try await stream.collect(upTo: 100) }
        let exchange = try #require(recorder.recording().calls.first?.exchanges.first)
        #expect(exchange.failure?.kind == .timeout)
        #expect(exchange.response?.statusCode == 200)
    }

    @Test func aCallServedByTheCacheIsRecordedFromItsEvents() async throws {
        let stage = RecorderStage(plugins: [.cache(ttl: 60)]) { request in
            PulseResponse(statusCode: 200, data: Data("1".utf8), request: request)
        }
        for _ in 0..<2 { _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a")) }
        #expect(stage.calls.count == 2)
        #expect(stage.calls.map(\.exchanges.count) == [1, 0])
        #expect(stage.calls.last?.marks.map(\.kind) == [.cacheHit])
        guard case .success(let response) = stage.calls.last?.outcome else {
            Issue.record("\(String(describing: stage.calls.last?.outcome))")
            return
        }
        #expect(response.origin == .cache)
        await stage.client.shutdown()
    }

    @Test func aPluginsBackgroundRequestBelongsToItsCall() async throws {
        let count = Locked(0)
        let stage = RecorderStage(plugins: [.cache(policy: .rfc9111, storage: .memory())]) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return PulseResponse(
                statusCode: number == 1 ? 503 : 200, headers: ["Cache-Control": "max-age=1, stale-while-revalidate=60"],
                request: request)
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
        let call = try #require(stage.calls.first)
        #expect(stage.calls.count == 1)
        #expect(call.exchanges.map { $0.response?.statusCode } == [503, 200])
        #expect(call.exchanges.map(\.attempt) == [1, 2])
        #expect(call.marks.filter { $0.kind == .retrying }.count == 1)
        #expect(call.latency == 0.5)
        await stage.client.shutdown()
    }

    @Test func callsThatAreNotSentOrNotDecodedAreFailures() async throws {
        let stage = RecorderStage { PulseResponse(statusCode: 200, data: Data("x".utf8), request: $0) }
        _ = await stage.client.result(of: Request<Int>(.get, "/a"))
        _ = await stage.client.result(of: Request<EmptyResponse>(.get, "/../b"))
        let kinds = stage.calls.map { call -> PulseError.Kind? in
            guard case .failure(let error) = call.outcome else { return nil }
            return error.kind
        }
        #expect(kinds == [.decodingFailed, .invalidURL])
        #expect(stage.calls.map(\.exchanges.count) == [1, 0])
        await stage.client.shutdown()
    }

    @Test func withoutEventsACallHasTheOutcomeOfItsLastRequest() async throws {
        let stage = RecorderStage(isAttached: false) { PulseResponse(statusCode: 404, request: $0) }
        _ = await stage.client.result(of: Request<EmptyResponse>(.get, "/a"))
        #expect(stage.calls.first?.statusCode == 404)
        #expect(stage.calls.first?.latency != nil)
        await stage.client.shutdown()
    }

    @Test func aCallInProgressHasNoOutcome() async throws {
        let seen = Locked<[PulseRecording.Call]>([])
        let holder = Locked<PulseRecorder?>(nil)
        let stage = RecorderStage { request in
            let calls = holder.withLock { $0 }?.recording().calls ?? []
            seen.withLock { $0 = calls }
            return PulseResponse(statusCode: 200, request: request)
        }
        holder.withLock { $0 = stage.recorder }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a").query("token", "hunter2"))
        let call = try #require(seen.withLock { $0.first })
        #expect(call.outcome == nil)
        #expect(call.latency == nil)
        #expect(call.exchanges.first?.request.url == "https://api.example.com/a?token=\(Redaction.mask)")
        #expect(call.exchanges.first?.response == nil)
        await stage.client.shutdown()
    }

    @Test func bodiesAreTruncatedAndBinaryOnesOmitted() async throws {
        let bytes = Data([0, 1, 2, 0xFF])
        let stage = RecorderStage(options: .init(maxBodyLength: 10)) { request in
            let isText = request.url?.path == "/text"
            return PulseResponse(
                statusCode: 200, data: isText ? Data("one two three four".utf8) : bytes, request: request)
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/text"))
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/bytes"))
        let bodies = stage.calls.compactMap { $0.exchanges.first?.response?.body }
        #expect(bodies.first?.text == "one two th")
        #expect(bodies.first?.isTruncated == true)
        #expect(bodies.first?.byteCount == 18)
        #expect(bodies.last?.content == .omitted(.binary))
        #expect(bodies.last?.byteCount == 4)
        await stage.client.shutdown()
    }

    @Test func binaryBodiesAreStoredIfEnabledExceptEncodedOnes() async throws {
        let bytes = Data([0x1F, 0x8B, 8, 0])
        let stage = RecorderStage(options: .init(keepsBinaryBodies: true)) { request in
            let headers: HTTPHeaders = request.url?.path == "/coded" ? ["Content-Encoding": "gzip"] : [:]
            return PulseResponse(statusCode: 200, headers: headers, data: bytes, request: request)
        }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/plain"))
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/coded"))
        let bodies = stage.calls.compactMap { $0.exchanges.first?.response?.body }
        #expect(bodies.map(\.content) == [.bytes(bytes), .omitted(.encoded)])
        await stage.client.shutdown()
    }

    @Test func longURLsAndHeadersAreTruncatedWithANotice() async throws {
        let stage = RecorderStage { request in
            let many = (0..<300).map { HTTPHeaders.Field(name: "X-\($0)", value: "1") }
            let long = [HTTPHeaders.Field(name: "X-Long", value: String(repeating: "y ", count: 1 << 20))]
            return PulseResponse(statusCode: 200, headers: HTTPHeaders(long + many), request: request)
        }
        _ = try await stage.client.rawRequest(
            Request<EmptyResponse>(.get, "/a").query("q", String(repeating: "x", count: 60_000)))
        let exchange = try #require(stage.calls.first?.exchanges.first)
        #expect(exchange.request.url.utf8.count < 20_000)
        let headers = try #require(exchange.response?.headers)
        #expect(headers.count == 201)
        #expect(headers["…"] == "101 more fields")
        #expect(headers["X-Long"]?.hasSuffix("… (2097152 bytes in all)") == true)
        await stage.client.shutdown()
    }

    @Test func eventsWithoutACallAreRecordedSeparately() {
        let clock = TestClock()
        let bus = PulseEventBus()
        let recorder = PulseRecorder(clock: clock)
        recorder.attach(to: bus)
        recorder.attach(to: bus)
        bus.emit(.circuitBreakerOpened(endpoint: "https://api.example.com"))
        bus.emit(.offlineQueueDraining(count: 3))
        bus.emit(.warning("a password=hunter2"))
        let events = recorder.recording().events
        #expect(events.map(\.kind) == [.breakerOpened, .queueDraining, .warning])
        #expect(events.first?.subject == "https://api.example.com")
        #expect(events.first?.date == clock.now)
        #expect(events.last?.subject.contains("hunter2") == false)
        recorder.detach()
        bus.emit(.warning("later"))
        #expect(recorder.recording().events.count == 3)
        #expect(!bus.isActive)
    }

    @Test func theBusDoesNotRetainTheRecorder() {
        let bus = PulseEventBus()
        weak var kept: PulseRecorder?
        do {
            let recorder = PulseRecorder()
            recorder.attach(to: bus)
            kept = recorder
            #expect(bus.isActive)
        }
        #expect(kept == nil)
        #expect(!bus.isActive)
    }

    @Test func removeAllRemovesCallsAndEvents() async throws {
        let stage = RecorderStage { PulseResponse(statusCode: 200, request: $0) }
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
        stage.recorder.removeAll()
        let recording = stage.recorder.recording()
        #expect(recording.calls.isEmpty && recording.events.isEmpty)
        #expect(recording.recordedCallCount == 0)
        _ = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/b"))
        #expect(stage.calls.map(\.endpointPath) == ["/b"])
        await stage.client.shutdown()
    }

    @Test func aRecordedRequestIsACurlCommandWithoutSecrets() async throws {
        let stage = RecorderStage { PulseResponse(statusCode: 200, request: $0) }
        let request = Request<EmptyResponse>(.post, "/a").header("Authorization", "Bearer hunter2")
            .body(.json(["it's": "1"]))
        _ = try await stage.client.rawRequest(request)
        let command = try #require(stage.calls.first?.exchanges.first?.curlCommand)
        #expect(command.hasPrefix("curl 'https://api.example.com/a'"))
        #expect(command.contains("-X 'POST'"))
        #expect(command.contains(#"{"it'\''s":"1"}"#))
        #expect(command.contains("'Authorization: \(Redaction.mask)'"))
        await stage.client.shutdown()
    }

    private struct Refusing: PulsePlugin {
        let identifier = "com.example.refusing"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            throw PulseError.unsupported("X-Own: hunter2 refused")
        }
    }

    private struct Marking: PulsePlugin {
        let identifier = "com.example.marking"

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            context.markSecret(header: "X-Marked")
            request.setValue("hunter2", forHTTPHeaderField: "X-Marked")
        }
    }
}
