// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Many concurrent calls over real sockets, cancelled at random moments; also run under the thread and address
/// sanitizers.
@Suite(.tags(.threads, .addresses), .throttled)
struct PulseClientStressTests {
    @Test func twoHundredCallsWithRandomCancellationsLeaveNothingBehind() async throws {
        let random = SeededRandomness(seed: 2026)
        try await MockServer.run { server in
            server.on(.get, "/users/{id}") { request in
                // Some responses never come: only cancellation ends those calls.
                request.parameters["id"].flatMap(Int.init).map { $0 % 3 == 0 } == true
                    ? .raw([.stall]) : .data(User.json, contentType: "application/json")
            }
            let sink = RecordingSink()
            let completed = Locked(0)
            let counting = CompletionCounter(count: completed)
            let client = ClientStage.client(
                of: server, plugins: [counting, RetryPlugin(maxAttempts: 2, strategy: .immediate)], retry: .default,
                events: PulseEventBus(sink: sink), with: { $0.maxConnectionsPerHost = 200 })
            let calls = (1...200).map { id in
                Task { await client.result(of: GetUser(path: "/users/\(id)")) }
            }
            var pending = calls.indices.filter { ($0 + 1) % 3 == 0 || random.next() % 4 == 0 }
            while !pending.isEmpty {
                for _ in 0..<random.next() % 50 { await Task.yield() }
                calls[pending.remove(at: Int(random.next() % UInt64(pending.count)))].cancel()
            }
            var kinds: [String: Int] = [:]
            for call in calls {
                switch await call.value {
                case .success(let user): #expect(user == User())
                case .failure(let error): kinds[error.kind.rawValue, default: 0] += 1
                }
            }
            #expect(Set(kinds.keys) == ["cancelled"], "\(kinds)")
            #expect(kinds["cancelled", default: 0] >= 66)
            await client.shutdown()
            #expect(sink.names.filter { $0 == "requestStarted" }.count == 200)
            #expect(sink.names.filter { $0 == "requestCompleted" }.count == 200)
            let entered = sink.names.filter { $0 == "attemptStarted" }.count
            #expect(completed.withLock { $0 } >= entered)
            _ = try await server.wait { $0.openConnectionCount == 0 }
        }
    }

    @Test func shutdownWhileBusyEndsAllCallsAndLaterCallsSendNothing() async throws {
        try await MockServer.run { server in
            server.on(.get, "/users/1") { _ in .raw([.stall]) }
            let client = ClientStage.client(of: server, retry: .default)
            let calls = (0..<100).map { _ in Task { await client.result(of: GetUser()) } }
            _ = try await server.requests(atLeast: 40)
            await client.shutdown()
            for call in calls {
                guard case .failure(.cancelled) = await call.value else {
                    Issue.record("not cancelled")
                    continue
                }
            }
            // The server reads requests that were on their way at the shutdown until their connections end.
            let before = try await server.wait { $0.openConnectionCount == 0 }
            guard case .failure(.cancelled) = await client.result(of: GetUser()) else {
                Issue.record("not cancelled")
                return
            }
            #expect(server.activity.connections.count == before.connections.count)
            #expect(server.requests.count == before.requests.count)
        }
    }

    @Test func anUnreferencedClientIsDeallocated() async throws {
        weak var dropped: PulseClient?
        do {
            let client = ClientStage.client(plugins: [.headers(["X-A": "1"])])
            _ = try await client.request(GetUser(), options: .init().with(\.deadline, value: 600))
            dropped = client
        }
        // The call's own task releases the client when it ends, possibly a moment later.
        while dropped != nil, !Task.isCancelled { await Task.yield() }
        #expect(dropped == nil)
    }
}

private struct CompletionCounter: PulsePlugin {
    let identifier = "counter"
    let count: Locked<Int>

    func didComplete(_ context: PluginContext) async {
        count.withLock { $0 += 1 }
    }
}
