// SPDX-License-Identifier: MIT

import PulseCore
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseStreams

/// Streams over a mock transport: what is sent, and how they end.
@Suite(.throttled)
struct StreamingTests {
    private struct Item: Codable, Sendable, Equatable {
        var n: Int
    }

    private func client(
        _ stubs: Stub..., plugins: [any PulsePlugin] = [], clock: TestClock = TestClock(autoAdvances: true),
        events: PulseEventBus = PulseEventBus()
    ) -> (PulseClient, MockTransport) {
        let transport = MockTransport(stubs: stubs)
        let client = ClientStage.client(
            .test().with(\.connectivity, value: .manual()), plugins: plugins, clock: clock, over: transport,
            events: events)
        return (client, transport)
    }

    private func all<Stream: AsyncSequence>(_ stream: Stream) async -> (elements: [Stream.Element], error: PulseError?)
    {
        var elements: [Stream.Element] = []
        do {
            for try await element in stream { elements.append(element) }
            return (elements, nil)
        } catch {
            return (elements, PulseError(wrapping: error))
        }
    }

    private static let lost = TransportFailure(code: .networkConnectionLost, phase: .responseStarted)

    // MARK: Requests

    @Test func acceptNamesTheFormatUnlessItIsSet() async throws {
        let (client, transport) = client(Stub().reply(.data(Data("{}\n".utf8))))
        _ = try await client.bytes("/a")
        _ = await all(client.lines("/a"))
        _ = await all(client.jsonLines("/a", of: Item.self))
        _ = await all(client.serverSentEvents("/a"))
        let own = RequestOptions().with(\.headers, value: ["Accept": "own/type"])
        _ = await all(client.lines("/a", options: own))
        #expect(
            transport.requests.map { $0.value(forHTTPHeaderField: "Accept") } == [
                "*/*", "text/plain, */*;q=0.5",
                "application/x-ndjson, application/jsonl, application/json-seq, */*;q=0.5", "text/event-stream",
                "own/type",
            ])
    }

    /// An endpoint whose options differ each time, as a header with a nonce does.
    private struct Rotating: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let reads = Locked(0)

        var options: RequestOptions {
            let read = reads.withLock { reads in
                reads += 1
                return reads
            }
            return RequestOptions().with(\.headers, value: ["X-Turn": "\(read)"])
        }
    }

    @Test func eachConnectionReadsTheOptionsOfTheEndpoint() async throws {
        let (client, transport) = client(
            Stub().reply(.events([ServerSentEvent(data: "a")]), .events([ServerSentEvent(data: "b")]), .status(204)))
        _ = await all(client.serverSentEvents(Rotating()))
        let turns = transport.requests.compactMap { $0.value(forHTTPHeaderField: "X-Turn") }
        #expect(turns.count == 3 && Set(turns).count == 3, "\(turns)")
    }

    @Test func eventStreamsHaveAnIdleTimeoutOfTheirOwnUnlessOneIsSet() async throws {
        let (client, transport) = client(Stub().reply(.status(204)))
        _ = await all(client.serverSentEvents(GetUser()))
        _ = await all(client.serverSentEvents(GetUser(timeoutInterval: 7)))
        _ = await all(client.serverSentEvents(GetUser(options: RequestOptions().with(\.timeout, value: 8))))
        _ = await all(client.serverSentEvents(GetUser(), options: RequestOptions().with(\.timeout, value: 9)))
        #expect(transport.transportRequests.map(\.idleTimeout) == [60, 7, 8, 9])
        #expect(transport.requests.allSatisfy { $0.value(forHTTPHeaderField: "Cache-Control") == "no-cache" })
    }

    @Test func badOptionsAreRefusedBeforeAnythingIsSent() async throws {
        let (client, transport) = client(Stub())
        let standard = ReconnectPolicy.eventStream
        let faults: [EventStream.Options] =
            [-1, .nan, .infinity].map { seconds in
                .init().with(\.reconnect, value: standard.with(\.delay, value: seconds))
            }
            + [0, -1, .nan].map { seconds in
                .init().with(\.reconnect, value: standard.with(\.maxDelay, value: seconds))
            } + [
                .init().with(\.reconnect, value: standard.with(\.maxAttempts, value: -1)),
                .init().with(\.maxEventSize, value: 0), .init().with(\.lastEventID, value: "a\nb"),
                .init().with(\.lastEventID, value: "a\r"), .init().with(\.lastEventID, value: "a\0"),
            ]
        for options in faults {
            let found = await all(client.serverSentEvents("/a", stream: options))
            #expect(found.error?.kind == .invalidRequest, "\(options)")
        }
        #expect(await all(client.lines("/a").limited(toLineLength: 0)).error?.kind == .invalidRequest)
        #expect(
            await all(client.jsonLines("/a", of: Item.self).limited(toLineLength: -1)).error?.kind == .invalidRequest)
        #expect(transport.requests.isEmpty)
    }

    @Test func aPostWithAKeyReconnectsWithTheSameKey() async throws {
        let (client, transport) = client(
            Stub(.post).reply(.events([ServerSentEvent(data: "a", id: "1")]), .status(204)))
        let post = Request<EmptyResponse>(.post, "/chat").option(\.idempotencyKey, .automatic)
        let found = await all(client.serverSentEvents(post))
        #expect(found.elements.map(\.data) == ["a"] && found.error == nil)
        let keys = transport.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "Last-Event-ID") } == [nil, "1"])
    }

    @Test func aStreamIsNotQueued() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let transport = MockTransport { _ in throw PulseError.noConnection }
        let policy = OfflineQueuePolicy(directory: directory)
        let client = ClientStage.client(
            .test().with(\.offlineQueuePolicy, value: policy).with(\.connectivity, value: ManualConnectivityMonitor()),
            over: transport)
        let endpoint = GetUser(method: .post, isQueueableWhenOffline: true)
        let error = await #expect(throws: PulseError.self) { try await client.bytes(endpoint) }
        #expect(error?.kind == .noConnection)
        #expect(await all(client.serverSentEvents(endpoint)).error?.kind == .noConnection)
        #expect(transport.requests.count == 2)
        #expect(transport.requests.allSatisfy { $0.value(forHTTPHeaderField: "Idempotency-Key") == nil })
        await client.shutdown()
    }

    @Test func aBypassedCacheNeitherServesNorStores() async throws {
        let fresh = HTTPHeaders(["Cache-Control": "max-age=600"])
        let (client, transport) = client(
            Stub().reply(.text("a", headers: fresh), .text("b", headers: fresh), .text("c", headers: fresh)),
            plugins: [.cache(ttl: 600)])
        let bypass = RequestOptions().with(\.cache, value: .bypass)
        let text = { (options: RequestOptions) in try await client.rawRequest(GetUser(), options: options).data }
        #expect(try await text(bypass) == Data("a".utf8))
        #expect(try await text(RequestOptions()) == Data("b".utf8))
        #expect(try await text(bypass) == Data("c".utf8))
        #expect(try await text(RequestOptions()) == Data("b".utf8))
        #expect(transport.requests.allSatisfy { $0.value(forHTTPHeaderField: "Cache-Control") == nil })
        await client.shutdown()
    }

    // MARK: Ends

    @Test func whatCameWholeIsGivenBeforeAFailure() async throws {
        let chunks = [Data("{\"n\":1}\n{\"n\"".utf8), Data(":2}\n{\"n\":3".utf8)]
        let (client, _) = client(
            Stub(.get, "/v1/lines").reply(.chunks(chunks, failure: Self.lost)),
            Stub(.get, "/v1/events").reply(
                .chunks(
                    [Data("data: a\n\ndata: ".utf8), Data("b\n\ndata: c\n".utf8)], contentType: "text/event-stream",
                    failure: Self.lost)))
        let lines = await all(client.lines("/lines"))
        #expect(lines.elements == ["{\"n\":1}", "{\"n\":2}"] && lines.error?.kind == .transport)
        let items = await all(client.jsonLines("/lines", of: Item.self))
        #expect(items.elements.map(\.n) == [1, 2] && items.error?.kind == .transport)
        let events = await all(client.serverSentEvents("/events", stream: .init().with(\.reconnect, value: .never)))
        #expect(events.elements.map(\.data) == ["a", "b"] && events.error?.kind == .transport)
    }

    @Test func aStreamThatBreaksOffNamesItsRequest() async throws {
        let chunks = [Data("{\"n\":1}\n".utf8)]
        let (client, _) = client(
            Stub(.get, "/v1/lines").reply(.chunks(chunks, failure: Self.lost)),
            Stub(.get, "/v1/events").reply(
                .chunks([Data("data: a\n\n".utf8)], contentType: "text/event-stream", failure: Self.lost)),
            Stub(.get, "/v1/end").reply(.events([ServerSentEvent(data: "a")])))
        let sentinel = Self.once.with(\.sentinel, value: "[DONE]")
        let errors = [
            await all(client.lines("/lines?token=hunter2")).error,
            await all(client.jsonLines("/lines?token=hunter2", of: Item.self)).error,
            await all(try await client.bytes("/lines?token=hunter2").bytes).error,
            await all(client.serverSentEvents("/events?token=hunter2", stream: Self.once)).error,
            await all(client.serverSentEvents("/end?token=hunter2", stream: sentinel)).error,
            await all(client.serverSentEvents("/lines?token=hunter2", stream: Self.once)).error,
        ]
        for (error, path) in zip(errors, ["lines", "lines", "lines", "events", "end", "lines"]) {
            let text = try #require(error?.description)
            #expect(error?.kind == .transport && error?.phase == .responseStarted)
            #expect(text.contains("GET https://api.example.com/v1/\(path)?token="), "\(text)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test func eachIteratorOfLinesSendsTheRequestAnew() async throws {
        let (client, transport) = client(Stub().reply(.text("a\nb\n"), .text("c\n")))
        let lines = client.lines("/a")
        #expect(transport.requests.isEmpty)
        var first = lines.makeAsyncIterator()
        #expect(try await first.next() == "a")
        #expect(await all(lines).elements == ["c"])
        #expect(try await first.next() == "b")
        #expect(try await first.next() == nil)
        #expect(try await first.next() == nil)
    }

    /// Or by the suffix of its type (RFC 8091).
    @Test(arguments: ["Application/JSON-Seq; charset=utf-8", "application/geo+json-seq"])
    func aJSONSequenceIsReadByItsType(type: String) async throws {
        let body = "\u{1E}{\"n\":\n1}\n\u{1E}{\"n\":2\u{1E}{\"n\":3}\n"
        let (client, _) = client(Stub().reply(.data(Data(body.utf8), contentType: type)))
        #expect(await all(client.jsonLines("/a", of: Item.self).skippingFailures()).elements.map(\.n) == [1, 3])
        var iterator = client.jsonLines("/a", of: Item.self).makeAsyncIterator()
        #expect(try await iterator.next()?.n == 1)
        let error = await #expect(throws: PulseError.self) { try await iterator.next() }
        #expect(error?.kind == .decodingFailed)
        #expect(try await iterator.next()?.n == 3)
    }

    /// A decoder may throw errors of its own.
    @Test func anyFailureToDecodeIsSkipped() async {
        struct Strict: ResponseDecoder {
            func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
                guard data.count < 9 else { throw PulseError.emptyBody }
                return try JSONDecoder().decode(type, from: data)
            }
        }
        let (client, _) = client(Stub().reply(.text("{\"n\":1}\n{\"n\":  2}\n{\"n\":3}\n")))
        let options = RequestOptions().with(\.decoder, value: Strict())
        let items = client.jsonLines("/a", of: Item.self, options: options)
        #expect(await all(items.skippingFailures()).elements.map(\.n) == [1, 3])
        #expect(await all(items).error?.kind == .emptyBody)
    }

    @Test func anEventThatDoesNotDecodeIsThrownOrSkipped() async throws {
        let events = [#"{"n":1}"#, "{", #"{"n":2}"#, "[DONE]"].map { ServerSentEvent(data: $0) }
        let (client, _) = client(Stub().reply(.events(events)))
        let options = EventStream.Options().with(\.sentinel, value: "[DONE]")
        let skipping = client.serverSentEvents("/a", stream: options).decoded(as: Item.self, skipsFailures: true)
        #expect(await all(skipping).elements.map(\.n) == [1, 2])
        var iterator = client.serverSentEvents("/a", stream: options).decoded(as: Item.self).makeAsyncIterator()
        #expect(try await iterator.next()?.n == 1)
        let error = await #expect(throws: PulseError.self) { try await iterator.next() }
        #expect(error?.kind == .decodingFailed)
        #expect(try await iterator.next()?.n == 2)
        #expect(try await iterator.next() == nil)
    }

    private static let named = [
        ServerSentEvent(data: #"{"n":1}"#), ServerSentEvent(type: "delta", data: #"{"n":2}"#),
        ServerSentEvent(type: "delta", data: #"{"n":"hunter2"}"#), ServerSentEvent(type: "ping", data: "{}"),
        ServerSentEvent(data: #"{"n":3}"#), ServerSentEvent(type: "error", data: #"{"n":4,"secret":"hunter2"}"#),
        ServerSentEvent(data: #"{"n":5}"#),
    ]

    private static let once = EventStream.Options().with(\.reconnect, value: .never)

    /// Reads on after each error.
    private func steps(_ events: EventStream.Decoded<Item>) async -> [String] {
        var iterator = events.makeAsyncIterator()
        var steps: [String] = []
        while true {
            do {
                guard let item = try await iterator.next() else { return steps }
                steps.append("\(item.n)")
            } catch PulseError.custom(let error as EventStream.ErrorEvent) {
                steps.append("error event, \(error.event.data)")
            } catch {
                steps.append(PulseError(wrapping: error).kind.rawValue)
            }
        }
    }

    @Test func aClosureDecodesEventsByTheirNames() async {
        let (client, _) = client(Stub().reply(.events(Self.named)))
        let items = client.serverSentEvents("/a", stream: Self.once).decoded { event -> Item? in
            switch event.type {
            case "delta": return try event.decode(Item.self)
            case "error": throw EventStream.ErrorEvent(event)
            case "ping": return nil
            default: return Item(n: -1)
            }
        }
        #expect(
            await steps(items) == [
                "-1", "2", "decodingFailed", "-1", #"error event, {"n":4,"secret":"hunter2"}"#, "-1",
            ])
    }

    /// Half a response must not pass for a whole one.
    @Test(arguments: [false, true])
    func anEventNamedErrorIsThrown(skipsFailures: Bool) async throws {
        let events = [Self.named[0], Self.named[5]]
        let (client, _) = client(Stub().reply(.events(events)))
        for names in [nil, ["message"]] as [Set<String>?] {
            let items = client.serverSentEvents("/a?token=hunter2", stream: Self.once)
                .decoded(as: Item.self, named: names, skipsFailures: skipsFailures)
            let found = await all(items)
            #expect(found.elements.map(\.n) == [1])
            guard case .custom(let error as EventStream.ErrorEvent) = found.error else {
                Issue.record("\(String(describing: found.error))")
                return
            }
            #expect(error.event == events[1])
            let text = try #require(found.error?.description)
            #expect(text.contains("event error") && text.contains("GET https://api.example.com/v1/a"), "\(text)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
        let decoded = client.serverSentEvents("/a", stream: Self.once).decoded(
            as: Item.self, named: ["message", "error"])
        #expect(await all(decoded).elements.map(\.n) == [1, 4])
    }

    @Test func onlyTheNamedEventsAreDecoded() async {
        let (client, _) = client(Stub().reply(.events(Self.named)))
        let events = { client.serverSentEvents("/a", stream: Self.once) }
        let failure = #"error event, {"n":4,"secret":"hunter2"}"#
        #expect(await steps(events().decoded(as: Item.self, named: ["delta"])) == ["2", "decodingFailed", failure])
        #expect(await steps(events().decoded(as: Item.self, named: ["message"])) == ["1", "3", failure, "5"])
        #expect(
            await steps(events().decoded(as: Item.self)) == [
                "1", "2", "decodingFailed", "decodingFailed", "3", failure, "5",
            ])
    }

    @Test func anEventWithANameIsNeverSkipped() async {
        let events = [ServerSentEvent(data: "{"), Self.named[2], Self.named[0]]
        let warnings = RecordingSink()
        let (client, _) = client(Stub().reply(.events(events)), events: PulseEventBus(sink: warnings))
        var iterator = client.serverSentEvents("/a?token=hunter2", stream: Self.once)
            .decoded(as: Item.self, skipsFailures: true).makeAsyncIterator()
        let error = await #expect(throws: PulseError.self) { try await iterator.next() }
        #expect(error?.kind == .decodingFailed)
        let text = error?.description ?? ""
        #expect(text.contains("event delta") && text.contains("GET https://api.example.com/v1/a"), "\(text)")
        #expect(!text.contains("hunter2"), "\(text)")
        let next = try? await iterator.next()
        #expect(next?.n == 1)
        // The one without a name was skipped, and not silently.
        #expect(warnings.warnings.count == 1)
        #expect(warnings.warnings.first?.hasPrefix("an event was skipped: ") == true)
    }

    @Test func aSkippedTextIsWarnedOf() async {
        let warnings = RecordingSink()
        let (client, _) = client(Stub().reply(.text("{\"n\":1}\n{\n{}\n")), events: PulseEventBus(sink: warnings))
        #expect(await all(client.jsonLines("/a", of: Item.self).skippingFailures()).elements.map(\.n) == [1])
        #expect(warnings.warnings.count == 2)
        #expect(warnings.warnings.allSatisfy { $0.hasPrefix("a JSON text was skipped: ") })
    }

    /// A delay of 0 means at once, as far as the shortest wait allows it.
    @Test func aStreamMayReconnectAtOnce() async {
        let clock = TestClock(autoAdvances: true)
        let (client, transport) = client(
            Stub().reply(.events([ServerSentEvent(data: "a", id: "1")]), .status(204)), clock: clock)
        let reconnection = ReconnectPolicy.eventStream.with(\.delay, value: 0)
        let found = await all(client.serverSentEvents("/a", stream: .init().with(\.reconnect, value: reconnection)))
        #expect(found.elements.map(\.data) == ["a"] && found.error == nil)
        #expect(clock.sleeps(for: .backoff) == [0.1])
        #expect(transport.requests.last?.value(forHTTPHeaderField: "Last-Event-ID") == "1")
    }

    @Test func statusesAreWaitedOutOnlyOnceTheStreamHasBeenOpen() async throws {
        let clock = TestClock(autoAdvances: true)
        let (client, transport) = client(
            Stub().reply(
                .events([ServerSentEvent(data: "a", id: "1")], retry: 0.2),
                .status(503, headers: ["Retry-After": "70"]), .status(429), .status(500)),
            clock: clock)
        let found = await all(client.serverSentEvents("/a"))
        #expect(found.elements.map(\.data) == ["a"] && found.error?.statusCode == 500)
        #expect(transport.requests.count == 4)
        let waits = clock.sleeps(for: .backoff)
        #expect(waits.count == 3)
        #expect((0.2...0.24).contains(waits[0]), "\(waits)")
        #expect(waits[1] == 70)
        // The second failure: the server's `retry` is too short for a backoff.
        #expect((1...2).contains(waits[2]), "\(waits)")
        let (refused, attempts) = self.client(Stub().reply(.status(503)))
        #expect(await all(refused.serverSentEvents("/a")).error?.statusCode == 503)
        #expect(attempts.requests.count == 1)
    }

    @Test func attemptsAreCountedSinceTheLastEvent() async throws {
        let reconnection = ReconnectPolicy.eventStream.with(\.maxAttempts, value: 2)
        let (client, transport) = client(
            Stub().reply(
                .failure(Self.lost), .failure(Self.lost), .events([ServerSentEvent(data: "a")]), .failure(Self.lost),
                .failure(Self.lost)))
        let stream = client.serverSentEvents("/a", stream: .init().with(\.reconnect, value: reconnection))
        let found = await all(stream)
        #expect(found.elements.map(\.data) == ["a"] && found.error?.kind == .transport)
        #expect(transport.requests.count == 5)
        // The end stays the same.
        let states = stream.states
        var last = "", count = 0
        for await state in states { (last, count) = ("\(state)", count + 1) }
        #expect(last.hasPrefix("closed(") && count == 1)
    }

    /// The call is refused before it begins. The states tell of the attempt all the same.
    @Test func aRefusedCallIsAnAttemptToo() async throws {
        let (client, transport) = client(Stub().reply(.events([])))
        let stream = client.serverSentEvents("/a", options: RequestOptions().with(\.timeout, value: -1))
        let states = stream.states
        let found = await all(stream)
        #expect(found.error?.kind == .invalidRequest && transport.requests.isEmpty)
        var names: [String] = []
        for await state in states { names.append("\(state)".prefix { $0 != "(" }.description) }
        #expect(names == ["idle", "connecting", "closed"])
    }

    enum Canceller: CaseIterable, Sendable {
        case cancelAll, tag, shutdown, stream, task
    }

    enum Stage: CaseIterable, Sendable {
        case connecting, open, waiting, betweenEvents
    }

    @Test(arguments: Canceller.allCases, Stage.allCases)
    func cancellationEndsAStreamAtWhateverStage(canceller: Canceller, stage: Stage) async throws {
        let (clock, gate) = (TestClock(), TestClock())
        let isReading = AsyncStream<Void>.makeStream()
        let transport = MockTransport { request in
            if stage == .connecting { try await gate.sleep(1, for: .delay) }
            var response = PulseResponse(
                statusCode: 200, headers: ["Content-Type": "text/event-stream"], request: request)
            let hasEvent = Locked(false)
            let cancelled = AsyncStream<Void>.makeStream()
            response.body = .stream(
                ByteStream(
                    next: {
                        let isFirst = hasEvent.withLock { hasEvent in
                            defer { hasEvent = true }
                            return !hasEvent
                        }
                        if isFirst { return Data("data: a\n\ndata: b\n\n".utf8) }
                        guard stage == .open else { return nil }
                        isReading.continuation.yield()
                        for await _ in cancelled.stream {}
                        return nil
                    }, cancel: { cancelled.continuation.finish() }))
            return response
        }
        let client = ClientStage.client(
            .test().with(\.connectivity, value: ManualConnectivityMonitor()), clock: clock, over: transport)
        let stream = client.serverSentEvents("/a", options: RequestOptions().with(\.tag, value: "feed"))
        let hasFirst = AsyncStream<Void>.makeStream()
        let mayGoOn = AsyncStream<Void>.makeStream()
        let reader = Task {
            var data: [String] = []
            do {
                for try await event in stream {
                    data.append(event.data)
                    guard stage == .betweenEvents else { continue }
                    hasFirst.continuation.yield()
                    for await _ in mayGoOn.stream { break }
                }
                return (data, PulseError?.none)
            } catch {
                return (data, PulseError(wrapping: error))
            }
        }
        switch stage {
        case .connecting: await gate.sleepers(atLeast: 1)
        case .open: for await _ in isReading.stream { break }
        case .waiting: await clock.sleepers(atLeast: 1, for: .backoff)
        case .betweenEvents: for await _ in hasFirst.stream { break }
        }
        switch canceller {
        case .cancelAll: client.cancelAll()
        case .tag:
            client.cancelAll(tag: "other")
            client.cancelAll(tag: "feed")
        case .shutdown: await client.shutdown()
        case .stream: stream.cancel()
        case .task: reader.cancel()
        }
        mayGoOn.continuation.yield()
        let (data, error) = await reader.value
        #expect(error?.kind == .cancelled)
        #expect(data == [[], ["a", "b"], ["a", "b"], ["a"]][Stage.allCases.firstIndex(of: stage) ?? 0])
        #expect(client.calls.ownerCount == 0)
        await client.shutdown()
        #expect(transport.requests.count == 1)
        let late = await all(client.serverSentEvents("/a"))
        #expect(late.error?.kind == .cancelled && transport.requests.count == 1)
    }

    @Test func aStreamThatIsDroppedEndsItsCall() async throws {
        let isCancelled = Locked(false)
        let transport = MockTransport { request in
            var response = PulseResponse(
                statusCode: 200, headers: ["Content-Type": "text/event-stream"], request: request)
            response.body = .stream(
                ByteStream(next: { Data("data: a\n\n".utf8) }, cancel: { isCancelled.withLock { $0 = true } }))
            return response
        }
        let client = ClientStage.client(over: transport)
        let stream = client.serverSentEvents("/a")
        do {
            var iterator = stream.makeAsyncIterator()
            _ = try await iterator.next()
        }
        #expect(isCancelled.withLock { $0 })
        var last = ""
        for await state in stream.states { last = "\(state)" }
        #expect(last.contains("cancelled"), "\(last)")
        await client.shutdown()
    }

    @Test func anEventAboveTheLimitEndsTheStream() async throws {
        let (client, transport) = client(
            Stub().reply(.events([ServerSentEvent(data: String(repeating: "x", count: 200))])))
        let found = await all(client.serverSentEvents("/a", stream: .init().with(\.maxEventSize, value: 100)))
        #expect(found.error?.kind == .responseTooLarge && transport.requests.count == 1)
        #expect(await all(client.lines("/a").limited(toLineLength: 10)).error?.kind == .responseTooLarge)
    }

    // MARK: Events of the bus

    @Test func theLastEventOfAStreamHasItsBytes() async throws {
        let (bus, sink, recorder) = (PulseEventBus(), RecordingSink(), PulseRecorder())
        bus.addSink(sink)
        recorder.attach(to: bus)
        let chat = [ServerSentEvent(data: "a"), ServerSentEvent(data: "[DONE]")]
        let (client, _) = client(
            Stub(.get, "/v1/lines").reply(.chunks([Data("ab\n".utf8), Data("c\n".utf8)])),
            Stub(.get, "/v1/events").reply(.events(chat)), Stub(.get, "/v1/none").reply(.status(204)),
            plugins: [recorder], events: bus)
        _ = await all(client.lines("/lines"))
        _ = await all(client.serverSentEvents("/events", stream: .init().with(\.sentinel, value: "[DONE]")))
        _ = await all(client.serverSentEvents("/none"))
        await client.shutdown()
        let counts = sink.events.compactMap { event -> Int? in
            guard case .requestCompleted(.success(let summary), _, _) = event else { return nil }
            return summary.byteCount
        }
        // A sentinel ends the stream as its end does, and a 204 has no body. A call may end after its stream was read.
        #expect(counts.sorted() == [0, 5, 23])
        #expect(recorder.recording().calls.first?.exchanges.first?.response?.body.byteCount == 5)
    }
}
