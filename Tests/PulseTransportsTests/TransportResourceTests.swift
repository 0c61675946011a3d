// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import PulseTransports
import TestSupport
import Testing

#if canImport(Glibc) && compiler(>=6.2)
/// Counted in a separate process: in this one, other tests open files and sockets too.
@Suite(.tags(.alone), .serialized, .throttled)
struct TransportResourceTests {
    #if os(Linux)
    /// Whether the schedules are long, as in release.
    private static var isLong: Bool { ProcessInfo.processInfo.environment["PULSE_STEPS"] != nil }

    /// 10,000 where the schedules are long.
    @Test func requestsLeakNothing() async {
        await #expect(processExitsWith: .success) {
            try await MockServer.run { server in
                server.fallback { _ in .text("response") }
                // The first transport allocates what the process keeps permanently.
                let first = StandardTransport()
                try await Self.round(of: 500, against: server, over: first)
                await first.shutdown()
                try await server.wait { $0.openConnectionCount == 0 }
                let idle = Resources.now
                let transport = StandardTransport()
                for _ in 0..<(Self.isLong ? 4 : 1) { try await Self.round(of: 500, against: server, over: transport) }
                let before = Resources.now
                let growth = try await ResidentMemory.growth(ofRounds: Self.isLong ? 20 : 5) {
                    try await Self.round(of: 500, against: server, over: transport)
                    server.forgetRequests()
                }
                let after = Resources.now
                // The number of kept idle connections may vary by a few, at both ends.
                #expect(after.descriptors <= before.descriptors + 130)
                #expect(after.threads <= before.threads + 16)
                #expect(growth <= (Self.isLong ? 8 : 4) << 20, "\(growth)")
                // A round has fifty concurrent requests: more connections would be leaked ones.
                try await server.wait { $0.openConnectionCount <= 64 }
                await transport.shutdown()
                try await server.wait { $0.openConnectionCount == 0 }
                // Without connections the count is exact, except for short-lived descriptors of the process.
                #expect(Resources.now.descriptors <= idle.descriptors + 4)
            }
        }
    }

    /// A connection that waits costs a descriptor and little memory, and no thread.
    @Test func aThousandOpenConnectionsCostLittle() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let server = try UpgradingListener()
            let transport = StandardTransport()
            var urlRequest = URLRequest(url: server.url)
            urlRequest.allHTTPHeaderFields = UpgradeStage.offer
            let request = TransportRequest(urlRequest: urlRequest, delivery: .upgrade, idleTimeout: 600)
            func open(_ count: Int) async throws -> [Task<Data?, any Error>] {
                var readers: [Task<Data?, any Error>] = []
                for _ in 0..<count {
                    let connection = try await transport.send(request).connection
                    readers.append(Task.startingNow { try await connection?.read() })
                }
                return readers
            }
            // The first connections allocate what the process keeps permanently.
            var readers = try await open(100)
            let before = Resources.now
            let growth = try await ResidentMemory.growth(ofRounds: 10) { readers += try await open(100) }
            #expect(Resources.now.threads <= before.threads + 1)
            #expect(growth <= 1000 * 32 << 10, "\(growth / 1000) bytes each")
            await transport.shutdown()
            for reader in readers { await #expect(throws: CancellationError.self) { try await reader.value } }
            server.stop()
            #expect(Resources.now.descriptors <= before.descriptors - 190)
        }
    }

    /// Opened, refused, cancelled, closed and released; in cleartext and over TLS. 2,000 where the
    /// schedules are long.
    @Test(arguments: [false, true])
    func upgradesLeakNothing(isSecure: Bool) async {
        await #expect(processExitsWith: .success) { [isSecure] in
            try await MockServer.run(over: isSecure) { server, tls in
                server.fallback { request in request.path == "/refused" ? .text("no", status: 403) : .echo }
                let transport = StandardTransport()
                func round(_ count: Int) async throws {
                    for index in 0..<count {
                        var urlRequest = URLRequest(
                            url: server.baseURL.appendingPathComponent(index % 5 == 0 ? "refused" : ""))
                        urlRequest.allHTTPHeaderFields = UpgradeStage.offer
                        let request = TransportRequest(
                            urlRequest: urlRequest, delivery: .upgrade, idleTimeout: 600, tls: tls)
                        let task = Task { try await transport.send(request) }
                        if index % 11 == 0 { task.cancel() }
                        guard let connection = try? await task.value.connection else { continue }
                        try await connection.write(Data([1]))
                        #expect(try await connection.read() == Data([1]))
                        if index % 2 == 0 { connection.close() }
                    }
                    try await server.wait { $0.openConnectionCount == 0 }
                    server.forgetRequests()
                }
                try await round(Self.isLong ? 400 : 150)
                let before = Resources.now
                let growth = try await ResidentMemory.growth(ofRounds: 8) { try await round(Self.isLong ? 200 : 50) }
                let after = Resources.now
                #expect(after.descriptors <= before.descriptors + 4)
                #expect(after.threads <= before.threads + 16)
                #expect(growth <= (Self.isLong ? 8 : 3) << 20, "\(growth)")
                await transport.shutdown()
            }
        }
    }

    /// Opened, used, cancelled, closed by either side and reused: connections of the own engine over TLS, and 10,000 of
    /// them where the schedules are long.
    @Test func connectionsOverTLSLeakNothing() async {
        await #expect(processExitsWith: .success) {
            try await MockServer.run(over: true) { server, tls in
                server.fallback { request in
                    .text("response", headers: request.path == "/last" ? ["Connection": "close"] : [:])
                }
                let transport = StandardTransport()
                func round(_ count: Int) async throws {
                    for index in 0..<count {
                        let path = index % 5 == 0 ? "last" : "next"
                        var request = TransportRequest(
                            urlRequest: URLRequest(url: server.baseURL.appendingPathComponent(path)), tls: tls,
                            httpVersions: .http1)
                        request.needsNewConnection = index % 10 != 0
                        let task = Task { [request] in try await transport.send(request) }
                        if index % 11 == 0 { task.cancel() }
                        if let response = try? await task.value { #expect(response.data == Data("response".utf8)) }
                    }
                    server.forgetRequests()
                }
                // As many as are kept idle, and more.
                try await round(Self.isLong ? 2_000 : 600)
                let before = Resources.now
                let growth = try await ResidentMemory.growth(ofRounds: 8) { try await round(Self.isLong ? 1_000 : 100) }
                let after = Resources.now
                #expect(after.descriptors <= before.descriptors + 130)
                #expect(after.threads <= before.threads + 16)
                // The allocator keeps up to 3 KiB for each; a connection of OpenSSL alone takes more than 8.
                #expect(growth <= (Self.isLong ? 16 : 6) << 20, "\(growth)")
                await transport.shutdown()
                try await server.wait { $0.openConnectionCount == 0 }
                #expect(Resources.now.descriptors <= before.descriptors - 256)
            }
        }
    }
    #endif

    /// 2,000 where the schedules are long.
    @Test func requestsOverURLSessionLeakNoThreadsOrDescriptors() async {
        await #expect(processExitsWith: .success) {
            try await MockServer.run { server in
                server.fallback { _ in .text("response") }
                // The first round allocates what the process keeps permanently.
                let count = Self.isLong ? 400 : 200
                try await Self.round(of: count, against: server)
                let before = Resources.now
                for _ in 0..<(Self.isLong ? 5 : 2) { try await Self.round(of: count, against: server) }
                // Foundation's sessions end shortly after their transport.
                while Resources.now.descriptors > before.descriptors, !Task.isCancelled { await Task.yield() }
                let after = Resources.now
                // Dispatch threads come and go.
                #expect(after.threads <= before.threads + 16)
            }
        }
    }

    /// All kinds of requests: successful, too large, cancelled, and on new connections.
    private static func round(of count: Int, against server: MockServer) async throws {
        let transport = URLSessionTransport()
        try await round(of: count, against: server, over: transport)
        await transport.shutdown()
        try await server.wait { $0.openConnectionCount == 0 }
    }

    private static func round(of count: Int, against server: MockServer, over transport: any Transport) async throws {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 50 { await group.next() }
                group.addTask {
                    let request = TransportRequest(
                        urlRequest: URLRequest(url: server.baseURL),
                        delivery: .buffered(limit: index % 7 == 0 ? 1 : 100), idleTimeout: 600,
                        mayBeResent: index % 5 != 0)
                    let task = Task { try await transport.send(request) }
                    if index % 11 == 0 { task.cancel() }
                    _ = await task.result
                }
            }
        }
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
