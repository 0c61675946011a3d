// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseTesting
import TestSupport
import Testing

#if canImport(Glibc) && compiler(>=6.2)
/// A reader that takes one element of a long body and waits. Measured in a process of its own.
@Suite(.serialized, .throttled)
struct StreamMemoryTests {
    enum Kind: String, Sendable, CaseIterable, Codable {
        case bytes, lines, events
    }

    @Test(arguments: Kind.allCases, [false, true])
    func aReaderThatWaitsStopsTheServerAndHoldsLittle(kind: Kind, isSecure: Bool) async {
        await #expect(processExitsWith: .success) { [kind, isSecure] in
            try await MockServer.run(over: isSecure) { server, tls in
                let event = Data("data: \(String(repeating: "x", count: 1_000))\n\n".utf8)
                var piece = Data()
                for _ in 0..<16 { piece += event }
                let headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
                server.on(.get, "/gigabyte") { [piece] _ in
                    MockServer.Response(headers: headers, body: .repeating(piece, times: (1 << 30) / piece.count))
                }
                server.on(.get, "/ping") { _ in .text("pong") }
                let client = ClientStage.client(of: server, retry: .default, with: { $0.tls = tls })
                // The first calls allocate what the process keeps.
                for _ in 0..<100 { _ = try await client.get("/ping", as: String.self) }
                let before = Self.residentBytes
                try await Self.read(one: kind, of: "/gigabyte", client) {
                    var sent = -1
                    while case let now = server.activity.connections.map(\.sentByteCount).max() ?? 0, now != sent {
                        try #require(now < 64 << 20, "\(now) bytes sent")
                        sent = now
                        for _ in 0..<100 { _ = try await client.get("/ping", as: String.self) }
                    }
                    let growth = Self.residentBytes - before
                    #expect(growth < 5 << 20, "\(growth) bytes more")
                }
                await client.shutdown()
            }
        }
    }

    private static func read(
        one kind: Kind, of path: String, _ client: PulseClient, _ body: () async throws -> Void
    ) async throws {
        switch kind {
        case .bytes:
            var iterator = try await client.bytes(path).bytes.makeAsyncIterator()
            #expect(try await iterator.next() != nil)
            try await body()
        case .lines:
            var iterator = client.lines(path).makeAsyncIterator()
            #expect(try await iterator.next()?.count == 1_006)
            try await body()
        case .events:
            var iterator = client.serverSentEvents(path).makeAsyncIterator()
            #expect(try await iterator.next()?.data.count == 1_000)
            try await body()
        }
    }

    private static var residentBytes: Int {
        let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (pages.flatMap { Int($0[1]) } ?? 0) * 4096
    }
}
#endif
