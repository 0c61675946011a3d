// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

/// A socket in a recording: its handshakes are calls, which show what became of their connections.
@Suite(.throttled)
struct RecordedSocketTests {
    private struct Chat: SocketEndpoint {
        let path = "/ws/chat"
        let queryItems = [URLQueryItem(name: "token", value: "hunter2")]
    }

    private static func recording() async throws -> PulseRecording {
        let (clock, bus) = (TestClock(), PulseEventBus())
        let recorder = PulseRecorder(clock: clock)
        recorder.attach(to: bus)
        let transport = MockTransport(stubs: [], clock: clock) { socket in
            let isFirst = socket.request.connection == 0
            guard try await socket.receive() != nil, isFirst else { return }
            try await socket.send(.text("secret of a message"))
            try await socket.close(code: 1012, reason: "token=hunter2 restart\n")
            while try await socket.receiveFrame() != nil {}
        }
        let client = ClientStage.client(
            .root, plugins: [.recorder(recorder)], retry: .default, clock: clock, over: transport, events: bus)
        let socket = PulseSocket(endpoint: Chat(), client: client)
        try await socket.connect()
        await clock.advance(by: 9)
        try await socket.send(.text("secret of another"))
        _ = try await socket.receive()
        await clock.sleepers(atLeast: 1, for: .backoff)
        await clock.advance(by: 2)
        while socket.statistics.connections < 2 { await Task.yield() }
        await socket.close()
        await client.shutdown()
        return recorder.recording()
    }

    @Test func aHandshakeShowsWhatBecameOfItsConnection() async throws {
        let calls = try await Self.recording().calls
        #expect(calls.map(\.statusCode) == [101, 101] && calls.allSatisfy { $0.latency == 0 })
        try #require(calls.count == 2)
        let (first, second) = (calls[0], calls[1])
        try #require(first.marks.map(\.kind) == [.socketStateChanged, .socketDisconnected, .socketStateChanged])
        #expect(first.marks.map(\.offset) == [0, 9, 9])
        #expect(first.marks.map { $0.wait != nil } == [false, false, true])
        #expect(first.marks[0].detail == "open")
        let end = try #require(first.marks[1].detail)
        #expect(end.hasPrefix("closed by the server with 1012 after 9000 ms: sent 1 message in "))
        #expect(end.contains("received 1 message in ") && end.contains("1 message unconfirmed"))
        #expect(end.contains("; reason: token=") && end.contains("restart"))
        #expect(second.marks.map { $0.detail?.prefix(6) } == ["open", "closin", "closed", "closed"])
        let texts = calls.flatMap { call in call.marks.compactMap(\.detail) + [call.waterfall()] }
        #expect(!texts.contains { $0.contains("hunter2") || $0.contains("secret of") })
        #expect(!calls.flatMap(\.marks).contains { $0.detail?.contains("\n") == true })
    }

    @Test func theReportHasTheStatesWithoutSecrets() async throws {
        let html = PulseReport(try await Self.recording()).html
        #expect(html.contains("closed by the server with 1012") && html.contains("\"socketDisconnected\""))
        #expect(!html.contains("hunter2") && !html.contains("secret of"))
    }
}
