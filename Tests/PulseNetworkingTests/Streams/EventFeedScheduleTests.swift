// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseStreams

/// Feeds whose server fails at random bytes and honors `Last-Event-ID`.
@Suite(.tags(.threads, .addresses), .throttled)
struct EventFeedScheduleTests {
    private static let feeds = 200
    private static let events = 20

    /// The feed's bytes after that event, in random pieces, up to a random fault; silence is one if `maySilence`.
    private static func serve(
        after last: Int, maySilence: Bool, _ random: SeededRandomness, _ feed: MockServer.EventFeed
    ) async throws {
        guard last < events else { return try await feed.refuse(204) }
        if random.next() % 8 == 0 { return try await feed.refuse(503) }
        var bytes = Data()
        for id in last + 1...events {
            bytes += Data("id: \(id)\r\ndata: line\ndata: \(id)\r\r".utf8)
            if random.next() % 4 == 0 { bytes += Data(": comment\n".utf8) }
        }
        var fault = Int(random.next() % UInt64(bytes.count + bytes.count / 3))
        while !bytes.isEmpty {
            let piece = bytes.prefix(min(1 + Int(random.next() % 40), max(1, fault)))
            fault -= piece.count
            bytes = bytes.dropFirst(piece.count)
            try await feed.raw(Data(piece))
            guard fault <= 0 else { continue }
            if maySilence, random.next() % 8 == 0 {
                // Silent until the client leaves, by its idle timeout.
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
            return random.next() % 2 == 0 ? feed.reset() : ()
        }
    }

    @Test func eachEventComesOnceAndInOrder() async throws {
        try await MockServer.run { server in
            server.onEvents("/feed/{number}") { request, feed in
                let last = Int(request.headers["Last-Event-ID"] ?? "") ?? 0
                let number = UInt64(request.parameters["number"] ?? "") ?? 0
                let attempt = UInt64(request.headers["X-Attempt"] ?? "") ?? 0
                // Once for each feed at most, so that all wait for their timeouts at the same time.
                let maySilence = attempt == 1 + number % 4
                let random = SeededRandomness(seed: number * 1_000 + attempt)
                try await Self.serve(after: last, maySilence: maySilence, random, feed)
            }
            let client = ClientStage.client(
                of: server, plugins: [CountingHeader()], clock: TestClock(autoAdvances: true),
                with: { ($0.connectivity, $0.maxConnectionsPerHost) = (ManualConnectivityMonitor(), 300) })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<Self.feeds {
                    group.addTask {
                        // The only wait in real time: a silent server is left by the idle timeout. A shorter one than a slow
                        // machine takes for a response of all feeds would never let them end.
                        let options = RequestOptions().with(\.timeout, value: 5)
                        // A 503 before the stream has been open is final, so the walk begins again.
                        var ids: [Int] = []
                        while ids.last != Self.events {
                            let stream = client.serverSentEvents(
                                "/feed/\(number)",
                                stream: .init().with(\.lastEventID, value: ids.last.map(String.init)), options: options)
                            do {
                                for try await event in stream {
                                    #expect(event.data == "line\n\(event.id)")
                                    ids.append(Int(event.id) ?? 0)
                                }
                            } catch let error as PulseError where error.statusCode == 503 {}
                        }
                        #expect(ids == Array(1...Self.events), "feed \(number)")
                    }
                }
                try await group.waitForAll()
            }
            // A streamed call ends in a task of its own.
            while client.calls.count > 0 { await Task.yield() }
            await client.shutdown()
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    /// Numbers the requests, so that the server's faults differ from attempt to attempt.
    private struct CountingHeader: PulsePlugin {
        let identifier = "counting"
        let scope = PluginScope.attempt
        private let counts = Locked<[String: Int]>([:])

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            let path = request.url?.path ?? ""
            let count = counts.withLock { counts in
                counts[path, default: 0] += 1
                return counts[path] ?? 0
            }
            request.setValue("\(count)", forHTTPHeaderField: "X-Attempt")
        }
    }

    @Test func streamsLeftAtRandomStagesLeaveNothing() async throws {
        let random = SeededRandomness(seed: 1_000)
        try await MockServer.run { server in
            server.onEvents("/feed") { _, feed in
                for _ in 0..<8 { try await feed.send(ServerSentEvent(data: String(repeating: "x", count: 1_000))) }
                // Silent until the client leaves.
                for await _ in AsyncStream<Never>.makeStream().stream {}
            }
            server.on(.get, "/silent") { _ in .raw([.stall]) }
            server.on(.get, "/refused") { _ in .status(503) }
            let limit = ConcurrencyLimitPlugin(limit: 100)
            let client = ClientStage.client(of: server, plugins: [limit], with: { $0.maxConnectionsPerHost = 300 })
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<400 {
                    if index >= 100 { await group.next() }
                    let (kind, stage, path) = (random.next() % 4, random.next() % 5, random.next() % 8)
                    group.addTask {
                        let path = path == 0 ? "/silent" : path == 1 ? "/refused" : "/feed"
                        await Self.leave(client, path, kind, stage)
                    }
                }
            }
            while client.calls.count > 0 { await Task.yield() }
            #expect(client.calls.ownerCount == 0)
            // All permits and slots are free: as many calls as the limit has pass at once.
            let before = server.requests.count
            let calls = (0..<100).map { _ in Task { await client.result(of: GetUser(path: "/silent")) } }
            try await server.requests(atLeast: before + 100)
            client.cancelAll()
            for call in calls { _ = await call.value }
            await client.shutdown()
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    /// Reads a stream of one kind up to a stage, and leaves it in the way of that stage.
    private static func leave(_ client: PulseClient, _ path: String, _ kind: UInt64, _ stage: UInt64) async {
        let options = RequestOptions().with(\.tag, value: "stage \(stage)")
        let task = Task {
            var seen = 0
            do {
                switch kind {
                case 0:
                    for try await chunk in try await client.bytes(path, options: options).bytes {
                        // One chunk may have all events.
                        seen += chunk.count
                        if seen > stage * 1_000 { break }
                    }
                case 1:
                    for try await _ in client.lines(path, options: options) {
                        seen += 1
                        if seen > stage { break }
                    }
                case 2:
                    var iterator = client.serverSentEvents(path, options: options).makeAsyncIterator()
                    while try await iterator.next() != nil, seen <= stage { seen += 1 }
                default:
                    let stream = client.serverSentEvents(path, options: options)
                    for try await _ in stream {
                        seen += 1
                        if seen > stage { stream.cancel() }
                    }
                }
            } catch {}
        }
        for _ in 0..<(stage * 20) { await Task.yield() }
        if path == "/silent" || stage % 2 == 0 { task.cancel() }
        await task.value
    }
}
