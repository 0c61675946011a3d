// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@Suite(.servers, .timeLimit(.minutes(5)))
struct StreamTests {
    private struct Count: Decodable {
        let sent: Int, open: Int
    }

    private struct Chat: Endpoint {
        typealias Response = Data
        let path = "/chat"
        let method = HTTPMethod.post
        let prompt: String
        var body: RequestBody { .json(["prompt": prompt]) }
    }

    private static func text(_ number: Int) -> String { "event \(number)\nwith a \u{1F600}" }

    // MARK: sse-starlette

    @Test(arguments: Route.all)
    func aFeedOfManyConnectionsGivesEachEventOnce(route: Route) async throws {
        try await route.withClient { client in
            let stream = client.serverSentEvents("/numbers/\(UUID())?count=20")
            var responses: [PulseResponse] = []
            var events: [ServerSentEvent] = []
            let states = stream.states
            for try await event in stream { events.append(event) }
            for await case .open(let response) in states { responses.append(response) }
            #expect(events.map(\.id) == (0..<20).map(String.init))
            #expect(events.map(\.data) == (0..<20).map(Self.text))
            #expect(events.map(\.type) == (0..<20).map { $0 % 2 == 0 ? "even" : "message" })
            #expect(responses.count == 3)
            #expect(responses.allSatisfy { $0.timings?.networkProtocol == route.networkProtocol })
        }
    }

    /// The server waits for the client to have the event before, so that this test ends only if nothing is held back.
    @Test(arguments: Route.immediate)
    func anEventArrivesBeforeTheNextIsSent(route: Route) async throws {
        try await route.withClient { client in
            let name = UUID()
            let options = EventStream.Options().with(\.reconnect, value: .never)
            var count = 0
            for try await event in client.serverSentEvents("/gated/\(name)", stream: options) {
                #expect(event.data == Self.text(count))
                count += 1
                try await client.post("/advance/\(name)")
            }
            #expect(count == 5)
        }
    }

    @Test(arguments: Route.all)
    func aChatEndsAtItsSentinel(route: Route) async throws {
        try await route.withClient { client in
            let prompt = "Write one word after the other"
            let options = EventStream.Options().with(\.sentinel, value: "[DONE]")
            var words: [String] = []
            for try await event in client.serverSentEvents(Chat(prompt: prompt), stream: options) {
                words.append(event.data)
            }
            #expect(words.joined(separator: " ") == prompt)
        }
    }

    /// A server sees that its reader left, even if no other request goes over the connection. Another client asks.
    @Test(arguments: Route.immediate)
    func aServerSeesThatItsReaderLeft(route: Route) async throws {
        try await route.withClient { client in
            try await Self.withStreamCount(route) { name, isOpen in
                for try await _ in client.serverSentEvents("/forever/\(name)") {
                    #expect(try await isOpen())
                    break
                }
                while try await isOpen() {}
            }
        }
    }

    @Test(arguments: Route.immediate)
    func aServerSeesThatACallEndedEarly(route: Route) async throws {
        try await route.withClient { client in
            try await Self.withStreamCount(route) { name, isOpen in
                let call = Task { try await client.get("/forever/\(name)", as: Data.self) }
                while try await !isOpen() {}
                call.cancel()
                while try await isOpen() {}
                let options = RequestOptions().with(\.maxBufferedBodySize, value: 1 << 20)
                await #expect(throws: PulseError.self) {
                    try await client.get("/gigabyte/\(name)", as: Data.self, options: options)
                }
                while try await isOpen() {}
            }
        }
    }

    private static func withStreamCount(
        _ route: Route, _ body: (_ name: UUID, _ isOpen: () async throws -> Bool) async throws -> Void
    ) async throws {
        let name = UUID()
        try await route.withClient { client in
            try await body(name) { try await client.get("/count/\(name)", as: Count.self).open > 0 }
        }
    }

    // MARK: A reader that waits

    enum Kind: String, Sendable, CaseIterable {
        case bytes, lines, events
    }

    @Test(arguments: Kind.allCases, Route.immediate)
    func aReaderThatWaitsStopsTheServerAndHoldsLittle(kind: Kind, route: Route) async throws {
        try await route.withClient { client in
            let name = UUID()
            func count() async throws -> Int { try await client.get("/count/\(name)", as: Count.self).sent }
            // The first calls allocate what the process keeps.
            for _ in 0..<100 { _ = try await count() }
            let before = try Self.residentBytes
            func wait() async throws {
                var sent = -1
                while case let now = try await count(), now != sent {
                    // nginx compresses these to a hundredth.
                    try #require(now < 512 << 20, "\(now) bytes sent")
                    sent = now
                    for _ in 0..<25 { _ = try await count() }
                }
                #expect(sent > 0)
                let growth = try Self.residentBytes - before
                #expect(growth < 5 << 20, "\(growth) bytes more")
            }
            let path = "/gigabyte/\(name)"
            switch kind {
            case .bytes:
                var iterator = try await client.bytes(path).bytes.makeAsyncIterator()
                #expect(try await iterator.next() != nil)
                try await wait()
            case .lines:
                var iterator = client.lines(path).makeAsyncIterator()
                #expect(try await iterator.next()?.count == 1_006)
                try await wait()
            case .events:
                var iterator = client.serverSentEvents(path).makeAsyncIterator()
                #expect(try await iterator.next()?.data.count == 1_000)
                try await wait()
            }
        }
    }

    private static var residentBytes: Int {
        get throws {
            let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(Int(fields[1])) * 4096
        }
    }

    // MARK: aiohttp, by single bytes

    @Test(arguments: Route.single)
    func mixedLineEndsAreRead(route: Route) async throws {
        try await route.withClient { client in
            let options = EventStream.Options().with(\.reconnect, value: .never)
            var events: [ServerSentEvent] = []
            for try await event in client.serverSentEvents("/mixed", stream: options) { events.append(event) }
            #expect(events.map(\.type) == ["message", "b", "message"])
            #expect(events.map(\.data) == ["a\n\u{e9}", "\n \u{1F600}", "c"])
            #expect(events.map(\.id) == ["1", "1", "3"])
        }
    }

    @Test(arguments: Route.single)
    func aFeedThatIsResetWithinAnEventGivesEachEventOnce(route: Route) async throws {
        try await route.withClient { client in
            var events: [ServerSentEvent] = []
            for try await event in client.serverSentEvents("/broken?count=10") { events.append(event) }
            #expect(events.map(\.id) == (0..<10).map(String.init))
            #expect(events.map(\.data) == (0..<10).map { "event \($0)" })
        }
    }

    @Test(arguments: Route.single)
    func linesAndJSONLinesAreRead(route: Route) async throws {
        struct Row: Decodable, Equatable {
            let number: Int
        }
        try await route.withClient { client in
            var lines: [String] = []
            for try await line in client.lines("/lines") { lines.append(line) }
            #expect(lines == ["one", "\u{2028}two", "", "thr\u{e9}e"])
            var rows: [Row] = []
            for try await row in client.jsonLines("/json-lines", of: Row.self) { rows.append(row) }
            #expect(rows == (0..<100).map(Row.init))
        }
    }
}
