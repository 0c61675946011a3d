// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseObservability
import PulseTesting
import TestSupport
import Testing

import PulseCalls
import PulseTransports

/// A server that responds with 421 on some of its connections, with counts from the server.
@Suite(.tags(.threads), .throttled)
struct MisdirectedWireTests {
    typealias Engine = StaleConnectionWireTests.Engine

    enum Content: CaseIterable {
        case none, text, stream

        var body: RequestBody {
            switch self {
            case .none: .none
            case .text: .text("body")
            case .stream: .stream(length: 4) { ByteStream([Data("body".utf8)]) }
            }
        }
    }

    private struct Call: Endpoint {
        typealias Response = String
        let path = "/once"
        var method = HTTPMethod.get
        var body = RequestBody.none
    }

    /// Runs `body` with a server and a client that share no connection yet.
    private func run(
        over engine: Engine, to events: PulseEventBus = PulseEventBus(),
        _ body: (MockServer, PulseClient) async throws -> Void
    ) async throws {
        try await MockServer.run(over: engine.isOverTLS) { server, tls in
            let transport = engine.transport()
            let client = ClientStage.client(
                of: server, retry: .immediate(), over: transport, events: events,
                with: { ($0.tls, $0.httpVersions) = (tls, engine.httpVersions) })
            try await body(server, client)
            await client.shutdown()
            await transport.shutdown()
        }
    }

    /// Two requests, which the server lets wait for each other.
    private func twice(_ path: String, _ client: PulseClient) async throws {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<2 { group.addTask { try await client.get(path) } }
            try await group.waitForAll()
        }
    }

    private func calls(_ server: MockServer) -> [RecordedRequest] {
        server.requests.filter { $0.path == "/once" }
    }

    /// Two connections are idle: after a 421 on one of them, the other may be as wrong.
    @Test(arguments: Engine.allCases, Content.allCases)
    func aMisdirectedRequestIsResentOnANewConnection(engine: Engine, content: Content) async throws {
        try await run(over: engine) { server, client in
            let isFirst = Locked(true)
            server.fallback { request in
                guard request.path == "/once" else {
                    // Both are under way at the same time.
                    _ = try? await server.wait { $0.requests.count >= 2 }
                    return .text("warm")
                }
                let isMisdirected = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                return isMisdirected || request.indexOnConnection > 0 ? .status(421) : .text("response")
            }
            try await twice("/warm", client)
            let call = Call(method: content == .none ? .get : .post, body: content.body)
            #expect(try await client.request(call) == "response")
            let arrived = calls(server)
            #expect(arrived.count == 2)
            #expect(arrived.last?.indexOnConnection == 0, "an idle connection carried the resend")
            #expect(Set(arrived.map(\.connection)).count == 2)
            #expect(arrived.allSatisfy { $0.text == (content == .none ? "" : "body") })
        }
    }

    @Test(arguments: Engine.allCases)
    func aSecond421IsTheResponse(engine: Engine) async throws {
        try await run(over: engine) { server, client in
            server.on(.post, "/once") { _ in .text("wrong", status: 421) }
            let result = await client.result(of: Call(method: .post, body: .text("body")))
            guard case .failure(.http(let response)) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(response.statusCode == 421 && String(decoding: response.data, as: UTF8.self) == "wrong")
            #expect(calls(server).map(\.indexOnConnection) == [0, 0])
        }
    }

    @Test(arguments: [Engine.plain, .overTLS])
    func aMisdirectedOneShotBodyIsNotSentTwice(engine: Engine) async throws {
        try await run(over: engine) { server, client in
            server.on(.post, "/once", script: [.status(421), .text("response")])
            let body = RequestBody.stream(length: 4, isOneShot: true) { ByteStream([Data("body".utf8)]) }
            let result = await client.result(of: Call(method: .post, body: body))
            guard case .failure(let error) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(error.statusCode == 421)
            #expect(calls(server).count == 1)
        }
    }

    /// Two concurrent requests would use it if it were idle.
    @Test(arguments: Engine.allCases)
    func noLaterRequestUsesAMisdirectedConnection(engine: Engine) async throws {
        try await run(over: engine) { server, client in
            server.fallback { request in
                if request.path == "/once", request.connection == 0 { return .status(421) }
                if request.path == "/later" {
                    _ = try? await server.wait { $0.requests.count { $0.path == "/later" } >= 2 }
                }
                return .text("response")
            }
            #expect(try await client.request(Call()) == "response")
            try await twice("/later", client)
            #expect(server.requests.filter { $0.connection == 0 }.map(\.path) == ["/once"])
        }
    }

    @Test func eventsAndMetricsSeeTheResendAfterA421() async throws {
        let (bus, sink, metrics) = (PulseEventBus(), RecordingSink(), PulseMetricsCollector())
        metrics.attach(to: bus)
        bus.addSink(sink)
        try await run(over: .plain, to: bus) { server, client in
            server.on(.post, "/once", script: [.status(421), .text("response")])
            let response = try await client.request(Call(method: .post, body: .text("body")))
            #expect(response == "response")
        }
        let names = sink.names.filter { ["attemptStarted", "responseReceived", "requestRetrying"].contains($0) }
        #expect(
            names == ["attemptStarted", "responseReceived", "requestRetrying", "attemptStarted", "responseReceived"])
        let total = await metrics.snapshot().total
        #expect(total.attempts == 2 && total.retries == 1)
    }
}
#endif
