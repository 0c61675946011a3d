// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Event streams over real connections.
@Suite(.tags(.threads, .addresses), .throttled)
struct EventStreamWireTests {
    private static func events(_ ids: ClosedRange<Int>) -> [ServerSentEvent] {
        ids.map { ServerSentEvent(data: "event \($0)", id: "\($0)") }
    }

    /// Waits without a clock.
    private func run<Value>(
        clock: any PulseClock = TestClock(autoAdvances: true), plugins: [any PulsePlugin] = [],
        connectivity: any ConnectivityMonitor = ManualConnectivityMonitor(), events: PulseEventBus = PulseEventBus(),
        _ body: (MockServer, PulseClient) async throws -> Value
    ) async throws -> Value {
        try await MockServer.run { server in
            let client = ClientStage.client(
                of: server, plugins: plugins, clock: clock, events: events, with: { $0.connectivity = connectivity })
            let value = try await body(server, client)
            await client.shutdown()
            return value
        }
    }

    private func lastEventIDs(_ server: MockServer) -> [String?] {
        server.requests.map { $0.headers["Last-Event-ID"] }
    }

    @Test func reconnectsAfterResetsWithTheLastID() async throws {
        try await run { server, client in
            let hasReset = Locked(false)
            server.onEvents("/feed") { request, feed in
                let next = Int(request.headers["Last-Event-ID"] ?? "0").map { $0 + 1 } ?? 1
                for event in Self.events(next...next + 2) where next <= 9 { try await feed.send(event) }
                if next > 9 { return try await feed.refuse(204) }
                guard next == 4 else { return }
                let isFirst = hasReset.withLock { hasReset in
                    defer { hasReset = true }
                    return !hasReset
                }
                if isFirst { feed.reset() }
            }
            var ids: [String] = []
            for try await event in client.serverSentEvents("/feed") { ids.append(event.id) }
            // A reset may overtake events, which then come again.
            #expect(ids == (1...9).map(String.init))
            let request = try #require(server.requests.first)
            #expect(request.headers["Accept"] == "text/event-stream")
            #expect(request.headers["Cache-Control"] == "no-cache")
            #expect(lastEventIDs(server).first == .some(nil))
            #expect(lastEventIDs(server).last == "9")
        }
    }

    /// A field cannot carry such an id; the stream goes on after the one before.
    @Test(arguments: ["a\u{1}b", "a\u{7F}", String(repeating: "x", count: 4097), "\u{1B}[0m"])
    func anIDThatNoFieldCarriesIsNotSent(id: String) async throws {
        try await run { server, client in
            server.onEvents("/feed") { request, feed in
                guard server.requests.count < 3 else { return try await feed.refuse(204) }
                try await feed.send(ServerSentEvent(data: "first", id: "7"))
                try await feed.send(ServerSentEvent(data: "second", id: id))
            }
            let feed = client.serverSentEvents("/feed")
            var ids: [String] = []
            for try await event in feed { ids.append(event.id) }
            #expect(ids == ["7", id, "7", id])
            #expect(feed.lastEventID == "7")
            #expect(lastEventIDs(server) == [nil, "7", "7"])
        }
    }

    /// As an id that must not be sent.
    @Test func anIDOfTheOptionsThatNoFieldCarriesIsAnError() async throws {
        try await run { server, client in
            for id in ["a\nb", "\u{7F}", String(repeating: "x", count: 4097)] {
                let feed = client.serverSentEvents(
                    "/feed", stream: EventStream.Options().with(\.lastEventID, value: id))
                let error = await #expect(throws: PulseError.self) { for try await _ in feed {} }
                #expect(error?.kind == .invalidRequest)
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test func aServerDoesNotParkAStream() async throws {
        let (clock, sink) = (TestClock(autoAdvances: true), RecordingSink())
        try await run(clock: clock, events: PulseEventBus(sink: sink)) { server, client in
            server.on(.get, "/feed") { _ in
                server.requests.count < 2
                    ? .data(
                        Data("retry: 9223372036854775807\ndata: x\n\n".utf8), contentType: "text/event-stream")
                    : .status(204)
            }
            for try await _ in client.serverSentEvents("/feed") {}
            #expect(clock.sleeps.reduce(0, +) >= 3600 && clock.sleeps.reduce(0, +) < 3700)
        }
        #expect(sink.events.count { if case .warning = $0 { true } else { false } } == 1)
    }

    @Test func aPostIsNotRepeated() async throws {
        try await run { server, client in
            server.onEvents("/chat") { _, feed in try await feed.send(ServerSentEvent(data: "part")) }
            let chat = Request<EmptyResponse>(.post, "/chat").body(.text("hi"))
            var data: [String] = []
            for try await event in client.serverSentEvents(chat) { data.append(event.data) }
            #expect(data == ["part"])
            #expect(server.requests.count == 1)
            let withSentinel = client.serverSentEvents(chat, stream: .init().with(\.sentinel, value: "[DONE]"))
            var error: PulseError?
            do {
                for try await event in withSentinel { data.append(event.data) }
            } catch let failure as PulseError {
                error = failure
            }
            #expect(data == ["part", "part"])
            #expect(error?.phase == .responseStarted)
            guard case .transport(.networkConnectionLost, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test func theSentinelEndsTheStreamThoughTheServerStays() async throws {
        try await run { server, client in
            let events = [ServerSentEvent(data: "a"), ServerSentEvent(data: "[DONE]")]
            server.on(.post, "/chat") { _ in .events(events, staysOpen: true) }
            let chat = Request<EmptyResponse>(.post, "/chat")
            let stream = client.serverSentEvents(chat, stream: .init().with(\.sentinel, value: "[DONE]"))
            var data: [String] = []
            for try await event in stream { data.append(event.data) }
            #expect(data == ["a"])
            try await server.connectionsClosedByClient()
        }
    }

    @Test func anotherTypeIsAnErrorThatNamesIt() async throws {
        try await run { server, client in
            server.on(.get, "/feed") { _ in .data(Data("<html>".utf8), contentType: "Text/HTML; charset=utf-8") }
            let stream = client.serverSentEvents("/feed")
            let error = await #expect(throws: PulseError.self) {
                for try await _ in stream {}
            }
            guard case .transport(.cannotParseResponse, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect("\(error as Any)".contains("text/html"))
            #expect(server.requests.count == 1)
        }
    }

    @Test func statesTellWhatHappens() async throws {
        try await run { server, client in
            server.onEvents("/feed") { request, feed in
                switch request.headers["Last-Event-ID"] {
                case nil: try await feed.send(ServerSentEvent(data: "a", id: "1"))
                default: try await feed.refuse(401)
                }
            }
            let stream = client.serverSentEvents("/feed")
            let states = stream.states
            let error = await #expect(throws: PulseError.self) {
                for try await _ in stream {}
            }
            #expect(error?.kind == .unauthorized)
            var names: [String] = []
            for await state in states { names.append("\(state)".prefix { $0 != "(" }.description) }
            #expect(names == ["idle", "connecting", "open", "waiting", "connecting", "closed"])
        }
    }

    /// Reads up to the wait that follows the next open connection.
    private func nextWait(in states: inout AsyncStream<EventStream.State>.Iterator) async {
        var wasOpen = false
        while let state = await states.next() {
            switch state {
            case .open: wasOpen = true
            case .waiting where wasOpen: return
            default: break
            }
        }
    }

    @Test func aWaitEndsByReconnectOrConnectivityOrCancellation() async throws {
        let clock = TestClock()
        let monitor = ManualConnectivityMonitor()
        try await run(clock: clock, connectivity: monitor) { server, client in
            let count = Locked(0)
            server.onEvents("/feed") { _, feed in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                try await feed.send(ServerSentEvent(data: "\(number)"))
            }
            let stream = client.serverSentEvents("/feed")
            var states = stream.states.makeAsyncIterator()
            let reader = Task {
                var data: [String] = []
                do {
                    for try await event in stream { data.append(event.data) }
                } catch {
                    #expect(PulseError(wrapping: error).kind == .cancelled)
                }
                return data
            }
            // The sleeper may come before the state, in which alone there is a wait to end.
            await nextWait(in: &states)
            await clock.sleepers(atLeast: 1, for: .backoff)
            stream.reconnect()
            try await server.requests(atLeast: 2)
            await nextWait(in: &states)
            await clock.sleepers(atLeast: 1, for: .backoff)
            monitor.set(.unsatisfied)
            monitor.set(.satisfied)
            try await server.requests(atLeast: 3)
            await nextWait(in: &states)
            client.cancelAll()
            #expect(await reader.value == ["1", "2", "3"])
            #expect(server.requests.count == 3)
        }
    }

    @Test func aSecondReaderIsRefused() async throws {
        try await run { server, client in
            server.on(.get, "/feed") { _ in .events([ServerSentEvent(data: "a")], staysOpen: true) }
            let stream = client.serverSentEvents("/feed")
            var first = stream.makeAsyncIterator()
            var second = stream.makeAsyncIterator()
            #expect(try await first.next()?.data == "a")
            let error = await #expect(throws: PulseError.self) { try await second.next() }
            #expect(error?.kind == .invalidRequest)
            stream.cancel()
            let end = await #expect(throws: PulseError.self) { try await first.next() }
            #expect(end?.kind == .cancelled)
            try await server.connectionsClosedByClient()
        }
    }

    @Test func linesAndJSONLinesArrive() async throws {
        struct Item: Codable, Sendable, Equatable { var n: Int }
        try await run { server, client in
            server.on(.get, "/log") { _ in .text("a\r\n\nb\rc\nlast").dripping(1) }
            var lines: [String] = []
            for try await line in client.lines("/log") { lines.append(line) }
            #expect(lines == ["a", "", "b\rc", "last"])
            server.on(.get, "/items") { _ in
                .data(Data("\u{FEFF}{\"n\":1}\n\n{\"n\":2}\r\n{}\n{\"n\":3}".utf8), contentType: "application/jsonl")
            }
            var items: [Int] = []
            for try await item in client.jsonLines("/items", of: Item.self).skippingFailures() { items.append(item.n) }
            #expect(items == [1, 2, 3])
            var iterator = client.jsonLines("/items", of: Item.self).makeAsyncIterator()
            #expect(try await iterator.next()?.n == 1)
            #expect(try await iterator.next()?.n == 2)
            let error = await #expect(throws: PulseError.self) { try await iterator.next() }
            #expect(error?.kind == .decodingFailed)
            #expect(try await iterator.next()?.n == 3)
            #expect(try await iterator.next() == nil)
            server.on(.get, "/endless") { _ in
                MockServer.Response(body: .repeating(Data("x".utf8), times: nil), framing: .chunked())
            }
            // Dropping the stream ends the call, whoever keeps the response.
            let kept = try await client.bytes("/endless").response
            try await server.connectionsClosedByClient()
            #expect(kept.statusCode == 200 && kept.bytes == nil)
            let (bytes, response) = try await client.bytes("/log")
            #expect(response.statusCode == 200)
            #expect(try await bytes.collect(upTo: 100) == Data("a\r\n\nb\rc\nlast".utf8))
        }
    }
}
