// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

#if os(Linux) && canImport(Glibc) && compiler(>=6.2)
/// Streams of all kinds, one after the other over a few connections: 100,000 where the schedules are long, 2,200
/// elsewhere. They run in a separate process, whose memory is measured.
@Suite(
    .tags(.alone), .serialized, .throttled, .enabled(if: HTTP2Session.isSupported && TLSContext.isSupported))
struct HTTP2ManyStreamsTests {
    private static let isLong = ProcessInfo.processInfo.environment["PULSE_STEPS"] != nil

    @Test func streamsLeaveNothing() async {
        await #expect(processExitsWith: .success) {
            try await HTTP2WirePeer.run(settings: [3: 16]) { stream in
                // The client's bodies take the window of their connection.
                try await stream.connection.send(HTTP2WireFrame(kind: 8, payload: Data([0, 0, 1, 0])))
                if stream.request % 13 == 0 { try await stream.reset(8) } else { try await stream.respond() }
            } _: { peer, transport in
                let size = Self.isLong ? 10_000 : 200
                // The first round allocates what the process keeps permanently.
                try await Self.round(of: Self.isLong ? 2_000 : 200, to: peer, over: transport)
                let growth = try await ResidentMemory.growth(ofRounds: 10) {
                    try await Self.round(of: size, to: peer, over: transport)
                }
                // The server's list of requests takes 2 MiB of the long run.
                #expect(growth <= (Self.isLong ? 8 : 3) << 20, "\(growth)")
                // Those that were cancelled may not have arrived.
                #expect(peer.arrivals.count >= 10 * size / 2)
            }
        }
    }

    /// Sends that many requests, fifty at a time, and waits until nothing is kept of them.
    private static func round(of count: Int, to peer: HTTP2WirePeer, over transport: SocketTransport) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 50 { try await group.next() }
                group.addTask { try await send(index, to: peer, over: transport) }
            }
            try await group.waitForAll()
        }
        while transport.pool.remains.streams > 0 { await Task.yield() }
        let sizes = transport.pool.sizes
        #expect(sizes.openings == 0 && sizes.waiters == 0 && sizes.shared <= 8, "\(sizes)")
        #expect(transport.waiterCount(peer.baseURL) == 0)
        // One of each connection, and one that looks for idle connections.
        let alarms = transport.pool.remains.alarms
        #expect(alarms <= sizes.shared + 1, "\(alarms)")
    }

    /// A buffered, streamed or dropped response, or a request that is cancelled or uploaded by a task.
    private static func send(_ index: Int, to peer: HTTP2WirePeer, over transport: SocketTransport) async throws {
        var request = peer.request(index % 3 == 0 ? .post : .get)
        if index % 5 == 0 { request.delivery = .streamed }
        if index % 6 == 0 { request.body = HTTP2Stage.upload([Data("bo".utf8), Data("dy".utf8)]) }
        let call = Task { [request] in try await transport.send(request) }
        if index % 11 == 0 {
            for _ in 0..<index % 40 { await Task.yield() }
            call.cancel()
        }
        do {
            let response = try await call.value
            // Every other stream is dropped unread.
            if let bytes = response.bytes, index % 10 == 0 {
                #expect(try await bytes.collect(upTo: 100) == Data("well".utf8))
            }
        } catch {
            let kind = PulseError(wrapping: error).kind
            // What the caller has cancelled, or the server has reset.
            #expect(kind == .cancelled && index % 11 == 0 || kind == .transport, "\(index): \(error)")
        }
    }
}
#endif
