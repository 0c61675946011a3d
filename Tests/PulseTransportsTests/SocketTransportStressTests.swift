// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Calls of every kind, cancelled at random moments, against all kinds of server behavior. Each must end once and
/// correctly, and leave nothing behind.
@Suite(.tags(.threads, .addresses), .serialized, .throttled)
struct SocketTransportStressTests {
    @Test(arguments: [1, 2] as [UInt64])
    func everyCallEndsOnceUnderRandomCancellations(seed: UInt64) async throws {
        try await TransportSchedule(seed: seed, calls: 500).play()
    }

    @Test(arguments: [3, 4] as [UInt64])
    func shutdownAtARandomMomentEndsEveryCall(seed: UInt64) async throws {
        for round in 0..<6 as Range<UInt64> {
            try await MockServer.run { server in
                server.fallback(TransportSchedule.response)
                let transport = SocketTransport()
                let randomness = SeededRandomness(seed: seed << 32 + round)
                let plans = (0..<40).map { TransportSchedule.Plan($0, randomness) }
                let calls = plans.map { plan in
                    Task { await plan.run(over: transport, url: server.baseURL, TransportSchedule.Switchboard()) }
                }
                for _ in 0..<randomness.next() % 50 { await Task.yield() }
                await transport.shutdown()
                // Each has a result; a leaked continuation would block this loop.
                for call in calls { _ = await call.value }
                try await server.wait { $0.openConnectionCount == 0 }
            }
        }
    }

    @Test func aShutdownEndsAnUnreadStreamAndAWaitForASlot() async throws {
        try await MockServer.run { server in
            server.fallback { request in
                request.path == "/held" ? .raw([.stall]) : .data(Data(repeating: 7, count: 8 << 20))
            }
            let transport = SocketTransport(maxConnectionsPerHost: 1)
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .streamed, idleTimeout: 600)
            let unread = try await transport.send(request)
            let held = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL.appendingPathComponent("held")), idleTimeout: 600)
            let holding = Task { try await transport.send(held) }
            try await server.requests(atLeast: 2)
            let waiting = Task.startingNow { try await transport.send(held) }
            #expect(transport.waiterCount(server.baseURL) == 1)
            await transport.shutdown()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            await #expect(throws: (any Error).self) { try await holding.value }
            var received = 0
            await #expect(throws: PulseError.self) {
                for try await chunk in try #require(unread.bytes) { received += chunk.count }
            }
            #expect(received < 8 << 20)
        }
    }

    @Test func aReleasedTransportLetsItsStreamsAndThreadEnd() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .data(Data(repeating: 7, count: 8 << 20)) }
            var transport: SocketTransport? = SocketTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: .streamed, idleTimeout: 600)
            let response = try await transport?.send(request)
            transport = nil
            var count = 0
            for try await chunk in try #require(response?.bytes) { count += chunk.count }
            #expect(count == 8 << 20)
            try await server.wait { $0.openConnectionCount == 0 }
        }
    }
}

/// A longer run in release builds.
@Suite(.tags(.schedule), .serialized, .throttled)
struct SocketTransportScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 3_000

    @Test func everyCallEndsOnceOverALongSchedule() async throws {
        try await TransportSchedule(seed: 5, calls: Self.steps / 5).play()
    }
}
#endif
