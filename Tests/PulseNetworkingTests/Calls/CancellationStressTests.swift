// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulseTransports

/// The caller, a tag, the deadline and a shutdown end a call in every wait.
@Suite(.tags(.threads, .addresses), .throttled)
struct CancellationStressTests {
    enum Wait: CaseIterable, Sendable {
        case response, slot, retry, file
    }

    enum Ender: CaseIterable, Sendable {
        case caller, all, tag, deadline, shutdown

        var expected: PulseError.Kind { self == .deadline ? .deadlineExceeded : .cancelled }
    }

    @Test(arguments: Wait.allCases, Ender.allCases)
    func everyKindOfCancellationEndsACallInEveryKindOfWait(wait: Wait, ender: Ender) async throws {
        try await MockServer.run { server in
            server.fallback { request in
                switch wait {
                case .response, .slot: .raw([.stall])
                case .retry: request.indexOnConnection == 0 ? .status(503) : .raw([.stall])
                case .file: .data(Data(repeating: 7, count: 100_000)).fault(.stall, at: .body(50_000))
                }
            }
            try await Self.play(wait, ender, on: server)
        }
    }

    private static func play(_ wait: Wait, _ ender: Ender, on server: MockServer) async throws {
        let clock = TestClock()
        let policy = RetryPolicy(maxAttempts: 2, backoffStrategy: .constant(100))
        let transport = SocketTransport(maxConnectionsPerHost: wait == .slot ? 1 : 4)
        let client = ClientStage.client(
            of: server, retry: wait == .retry ? policy : .none, clock: clock, over: transport)
        let holder = Task { [urlRequest = URLRequest(url: server.baseURL)] in
            guard wait == .slot else { return }
            _ = try await transport.send(TransportRequest(urlRequest: urlRequest, idleTimeout: 600))
        }
        if wait == .slot { try await server.wait { $0.requests.count == 1 } }

        let options = RequestOptions().with(\.tag, value: "chosen").with(\.deadline, value: 500)
        let call = Task.startingNow { try await self.call(client, wait, options) }
        switch wait {
        case .response, .file: try await server.wait { $0.requests.count == 1 }
        case .slot: #expect(transport.waiterCount(server.baseURL) == 1)
        case .retry: await clock.sleepers(atLeast: 1)
        }
        switch ender {
        case .caller: call.cancel()
        case .all: client.cancelAll()
        case .tag: client.cancelAll(tag: "chosen")
        case .deadline:
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 500)
        case .shutdown: await client.shutdown()
        }
        let error = await #expect(throws: PulseError.self) { try await call.value }
        #expect(error?.kind == ender.expected)
        holder.cancel()
        _ = await holder.result
        await client.shutdown()
        await transport.shutdown()
        try await server.wait { $0.openConnectionCount == 0 }
    }

    private static func call(_ client: PulseClient, _ wait: Wait, _ options: RequestOptions) async throws {
        guard wait == .file else {
            _ = try await client.rawRequest(GetUser(), options: options)
            return
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await client.perform(client.plan(GetUser(), options, CallShape(delivery: .file(file, resumeOffset: 0))))
    }

    @Test func cancellingBeforeTheStartSendsNothing() async throws {
        try await ClientStage.run(retry: .default) { client, server in
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await client.request(GetUser())
            }
            let error = await #expect(throws: PulseError.self) { try await call.value }
            #expect(error?.kind == .cancelled)
            #expect(server.activity.connections.isEmpty)
        }
    }

    /// 200 calls in flight, ended at random moments by all kinds of cancellation at once.
    @Test(arguments: [1, 2] as [UInt64])
    func everyCallEndsOnceUnderConcurrentCancellations(seed: UInt64) async throws {
        try await MockServer.run { server in
            server.fallback { request in request.path.hasSuffix("3") ? .raw([.stall]) : .data(User.json) }
            let client = ClientStage.client(of: server, retry: .default)
            let randomness = SeededRandomness(seed: seed)
            let calls = (0..<200).map { index in
                Task {
                    await client.result(
                        of: GetUser(path: "/\(index)"), options: .init().with(\.tag, value: "\(index % 5)"))
                }
            }
            for _ in 0..<50 {
                for _ in 0..<randomness.next() % 20 { await Task.yield() }
                switch randomness.next() % 3 {
                case 0: client.cancelAll(tag: "\(randomness.next() % 5)")
                default: calls[Int(randomness.next() % 200)].cancel()
                }
            }
            await client.shutdown()
            for call in calls {
                if case .failure(let error) = await call.value { #expect(error.kind == .cancelled, "seed \(seed)") }
            }
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }
}
#endif
