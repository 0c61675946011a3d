// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import Testing

#if canImport(Glibc) && compiler(>=6.2)
/// Counted in a process of its own: in this one, other tests open files and sockets too.
@Suite(.timeLimit(.minutes(2)))
struct URLSessionTransportResourceTests {
    @Test func twoThousandRequestsLeaveNoThreadAndNoDescriptor() async {
        await #expect(processExitsWith: .success) {
            try await MockServer.run { server in
                server.fallback { _ in .text("answer") }
                // What the process keeps for good is there after the first round.
                try await Self.round(of: 400, against: server)
                let before = Resources.now
                for _ in 0..<5 { try await Self.round(of: 400, against: server) }
                let after = Resources.now
                #expect(after.descriptors <= before.descriptors)
                // Threads of dispatch come and go.
                #expect(after.threads <= before.threads + 16)
            }
        }
    }

    /// In all kinds: answered, too large, cancelled, and on connections of their own.
    private static func round(of count: Int, against server: MockServer) async throws {
        let transport = URLSessionTransport()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 50 { await group.next() }
                group.addTask {
                    let request = TransportRequest(
                        urlRequest: URLRequest(url: server.baseURL),
                        delivery: .buffered(limit: index % 7 == 0 ? 1 : 100), mayBeResent: index % 5 != 0)
                    let task = Task { try await transport.send(request) }
                    if index % 11 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
        await transport.shutdown()
        try await server.wait { $0.openConnectionCount == 0 }
    }

    private struct Resources {
        let threads: Int
        let descriptors: Int

        static var now: Resources {
            Resources(threads: entries(of: "/proc/self/task"), descriptors: entries(of: "/proc/self/fd"))
        }

        private static func entries(of folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
        }
    }
}
#endif
