// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// Once over real sockets, then without them.
@Suite(.tags(.threads), .throttled)
struct CassetteWireTests {
    private struct Item: Codable, Sendable, Equatable {
        let id: Int
    }

    @Test func recordedResponsesOfARealServerArePlayedWithoutIt() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).har")
        defer { try? FileManager.default.removeItem(at: file) }
        let home = try await MockServer.run { server in
            server.on(.get, "/items/{id}") { request in
                try .json(Item(id: Int(request.parameters["id"] ?? "") ?? 0), headers: ["ETag": "\"1\""])
            }
            server.on(.get, "/old") { _ in .status(301, headers: ["Location": "/items/9"]) }
            server.on(.get, "/flaky", script: [.status(503), .text("fine")])
            let recorder = CassetteRecorder(around: URLSessionTransport())
            try await Self.calls(ClientStage.client(Self.configuration(server.baseURL), over: recorder))
            #expect(recorder.cassette.count == 5)
            try recorder.cassette.write(to: file)
            await recorder.shutdown()
            return server.baseURL
        }
        let player = CassettePlayer(try Cassette(contentsOf: file), order: .asRecorded)
        try await Self.calls(ClientStage.client(Self.configuration(home), over: player))
        #expect(player.unplayedCount == 0)
    }

    private static func configuration(_ home: URL) -> PulseConfiguration {
        // Timeouts like `patient(with:)`, also without a listener.
        PulseConfiguration(baseURL: home).with(\.timeout, value: 600)
            .with(\.retryPolicy, value: .immediate(2))
    }

    private static func calls(_ client: PulseClient) async throws {
        let item: Item = try await client.get("/items/7")
        #expect(item == Item(id: 7))
        let moved = try await client.response(for: Request<Item>(.get, "/old"))
        #expect(moved.value == Item(id: 9))
        #expect(moved.response.redirects.map(\.statusCode) == [301])
        #expect(try await client.request(Request<String>(.get, "/flaky")) == "fine")
        await client.shutdown()
    }
}
