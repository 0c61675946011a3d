// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

private struct Ask: Endpoint {
    typealias Response = EmptyResponse

    let path = "/chat"
    let method = HTTPMethod.post
    let body = RequestBody.text("Which tea?")
}

extension Stage {
    /// Streams: a feed that survives its connections, and a chat that is complete only with its sentinel.
    func showStreams(_ server: MockServer, _ bus: PulseEventBus) async {
        // The wait before a reconnection passes at once.
        let client = PulseClient(
            configuration: PulseConfiguration(baseURL: server.baseURL)
                .with(\.clock, value: TestClock(autoAdvances: true)),
            plugins: [recorder], events: bus)
        await showFeed(server, client)
        await showChat(server, client)
        await client.shutdown()
    }

    private func showFeed(_ server: MockServer, _ client: PulseClient) async {
        // Two orders on each connection, and a reset once they have been read; after six the feed is over.
        let read = AsyncStream<String>.makeStream()
        server.onEvents("/orders/feed") { request, feed in
            let last = request.headers["Last-Event-ID"].flatMap(Int.init) ?? 0
            guard last < 6 else { return try await feed.refuse(204) }
            for id in last + 1...last + 2 { try await feed.send(ServerSentEvent(data: "order \(id)", id: "\(id)")) }
            for await id in read.stream where id == "\(last + 2)" { break }
            feed.reset()
        }
        await step("A feed survives resets", calls: 4) {
            var ids: [String] = []
            for try await event in client.serverSentEvents("/orders/feed") {
                ids.append(event.id)
                read.continuation.yield(event.id)
            }
            guard ids == ["1", "2", "3", "4", "5", "6"] else { throw Unexpected(description: "events \(ids)") }
            return "events \(ids.joined(separator: ", ")), in order and once, over 3 connections"
        }
    }

    private func showChat(_ server: MockServer, _ client: PulseClient) async {
        let words = ["Darjeeling", "in", "the", "morning"].map { ServerSentEvent(data: $0) }
        server.on(
            .post, "/chat",
            script: [
                .events(words + [ServerSentEvent(data: "[DONE]")]), .events(Array(words.prefix(2))),
            ])
        let options = EventStream.Options().with(\.sentinel, value: "[DONE]")
        await step("A chat is whole only with its sentinel", calls: 2) {
            var text: [String] = []
            for try await event in client.serverSentEvents(Ask(), stream: options) { text.append(event.data) }
            do {
                for try await _ in client.serverSentEvents(Ask(), stream: options) {}
                throw Unexpected(description: "a cut answer passed for a whole one")
            } catch PulseError.transport(.networkConnectionLost, _) {
                return "\"\(text.joined(separator: " "))\"; the second, cut one is a lost connection"
            }
        }
    }
}
