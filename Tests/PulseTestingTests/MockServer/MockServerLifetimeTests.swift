// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite(.throttled)
struct MockServerLifetimeTests {
    @Test func aWaitConditionMayCallTheServer() async throws {
        try await MockServer.run { server in
            server.on(.get, "/a") { _ in .text("a") }
            let client = try WireClient.connect(to: server.port)
            let wait = Task { try await server.wait { _ in server.requests.count == 1 } }
            #expect(try await client.exchange(get("/a")).body == "a")
            #expect(try await wait.value.requests.count == 1)
        }
    }

    @Test func servesAThousandConnectionsAtOnce() async throws {
        let count = 1000
        try await MockServer.run { server in
            server.on(.get, "/{number}") { request in
                // No response is sent before all requests have arrived.
                try await server.requests(atLeast: count)
                return .text(request.parameters["number"] ?? "")
            }
            var clients: [WireClient] = []
            for number in 0..<count {
                let client = try WireClient.connect(to: server.port)
                try await client.send(get("/\(number)"))
                clients.append(client)
            }
            for (number, client) in clients.enumerated() {
                #expect(try await client.receiveResponse().body == "\(number)")
            }
            #expect(server.openConnectionCount == count)
            clients.forEach { $0.close() }
            try await server.connectionsClosedByClient(atLeast: count)
            try await server.wait { $0.openConnectionCount == 0 }
            // The listener alone.
            #expect(openSockets(onPort: server.port).count == 1)
        }
    }

    @Test func leavesNoSocketBehindAtShutdown() async throws {
        let server = try await MockServer.start()
        let port = server.port
        let started = Locked(0)
        server.on(.get, "/stall") { _ in .raw([.stall]) }
        server.on(.get, "/handler") { _ in
            started.withLock { $0 += 1 }
            for await _ in AsyncStream<Never>.makeStream().stream {}
            started.withLock { $0 -= 1 }
            return .status(200)
        }
        server.on(.get, "/endless") { _ in MockServer.Response(body: .repeating(Data(count: 9999), times: nil)) }
        server.on(.get, "/done") { _ in .text("ok") }
        var clients: [WireClient] = []
        for path in ["/stall", "/handler", "/endless", "/done"] {
            let client = try WireClient.connect(to: port)
            try await client.send(get(path))
            clients.append(client)
        }
        clients.append(try WireClient.connect(to: port))
        try await server.wait { $0.requests.count == 4 && $0.connections.count == 5 }
        // One more if the endless response is blocked: its writer has a descriptor of its own.
        let sockets = openSockets(onPort: port)
        #expect((6...7).contains(sockets.count))
        let connectionCount = server.connectionCount
        await server.shutdown()
        #expect(sockets.isDisjoint(with: openSockets(onPort: port)))
        #expect(started.withLock { $0 } == 0)
        #expect(server.openConnectionCount == 0)
        // Another suite's server may have the port by now.
        _ = try? WireClient.connect(to: port)
        #expect(server.connectionCount == connectionCount)
        await server.shutdown()
    }

    @Test func aReleasedServerClosesItsSockets() async throws {
        var server: MockServer? = try await MockServer.start()
        let port = try #require(server?.port)
        let client = try WireClient.connect(to: port)
        try await server?.wait { $0.connections.count == 1 }
        server = nil
        #expect(try await client.receiveToEnd() == ("", .finished))
    }

    @Test func releasesItsRoutesAtShutdown() async throws {
        weak var dropped: MockServer?
        do {
            let server = try await MockServer.start()
            dropped = server
            server.on(.get, "/") { _ in .text("\(server.port)") }
            await server.shutdown()
        }
        #expect(dropped == nil)
    }
}

/// The inodes of this process's sockets that are bound to that port: the server's, not the clients'.
private func openSockets(onPort port: Int) -> Set<UInt64> {
    // Up to the system's limit: thousands of tests run in parallel and hold descriptors.
    Set(
        (0..<Int(sysconf(Int32(_SC_OPEN_MAX)))).compactMap { number in
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let result = withUnsafeMutableBytes(of: &storage) { bytes -> Int32 in
                guard let base = bytes.baseAddress else { return -1 }
                return getsockname(Int32(number), base.assumingMemoryBound(to: sockaddr.self), &length)
            }
            guard result == 0, [AF_INET, AF_INET6].contains(Int32(storage.ss_family)),
                withUnsafeBytes(of: &storage, { Int($0[2]) << 8 | Int($0[3]) }) == port
            else { return nil }
            var status = stat()
            return fstat(Int32(number), &status) == 0 ? UInt64(status.st_ino) : nil
        })
}
