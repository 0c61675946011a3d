// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Resumable uploads whose server fails for a while.
@Suite(.tags(.threads), .throttled)
struct TusOutageTests {
    private typealias Put = TusFixture.Put

    /// More responses than the chain retries, so that the upload itself has to ask again.
    @Test(arguments: [
        (MockServer.Response.raw([.reset]), 7), (.status(503), 4), (.status(429), 4), (.status(423), 2),
        (.status(409), 2),
    ])
    func anOutageOfTheHEADIsWaitedOut(_ response: MockServer.Response, count: Int) async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            for _ in 0..<count { uploads.answering(.head, with: response) }
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data] && uploads.createdCount == 1)
                #expect(server.requests.last?.headers["Upload-Offset"] == "300000")
                await client.shutdown()
            }
        }
    }

    /// The server still holds the lock of a connection that is lost.
    @Test func aLockedUploadIsAskedForAgain() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(423))
            try await TusFixture.withFile { file, data, resumption in
                let client = TusFixture.client(server)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data])
                #expect(TusFixture.methods(server) == ["OPTIONS", "POST", "PATCH", "HEAD", "PATCH"])
                await client.shutdown()
            }
        }
    }

    @Test func anOutageThatDoesNotEndIsThrown() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            server.on(.head, "/up/{id}") { _ in .status(423) }
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.statusCode == 423)
                #expect(TusFixture.methods(server).count { $0 == "HEAD" } == 4)
                // A later call goes on.
                #expect(TusFixture.names(resumption).count == 1)
                await client.shutdown()
            }
        }
    }

    /// The circuit opens because of the outage, and says when it may be over.
    @Test func anOpenCircuitIsWaitedOut() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            try await TusFixture.withFile { file, data, resumption in
                let isOpen = Locked(true)
                let circuit = ClosurePlugin { request, _, next in
                    let refuses =
                        request.httpMethod == "HEAD"
                        && isOpen.withLock { isOpen in
                            defer { isOpen = false }
                            return isOpen
                        }
                    if refuses { throw PulseError.circuitOpen(name: "server", retryAfter: 30) }
                    return try await next(request)
                }
                let clock = TestClock(autoAdvances: true)
                let client = TusFixture.client(server, plugins: [circuit], clock: clock)
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data] && clock.sleeps == [30])
                await client.shutdown()
            }
        }
    }

    /// The retry policy does not retry it.
    @Test func aWaitForASlotThatEndedIsWaitedOut() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.dropping(after: 300_000)
            try await TusFixture.withFile { file, data, resumption in
                let isCrowded = Locked(true)
                let crowd = ClosurePlugin { request, _, next in
                    let waits =
                        request.httpMethod == "HEAD"
                        && isCrowded.withLock { isCrowded in
                            defer { isCrowded = false }
                            return isCrowded
                        }
                    if waits { throw PulseError.PoolTimeout(host: "server", limit: 60, connections: 6).failure }
                    return try await next(request)
                }
                let client = TusFixture.client(server, plugins: [crowd], clock: TestClock(autoAdvances: true))
                _ = try await client.upload(Put(file), resuming: resumption)
                #expect(uploads.uploads.map(\.data) == [data] && !isCrowded.withLock { $0 })
                await client.shutdown()
            }
        }
    }

    @Test func noWaitGoesBeyondTheDeadline() async throws {
        try await MockServer.run { server in
            let uploads = server.serveTus(at: "/up")
            uploads.answering(.patch, with: .status(503, headers: ["Retry-After": "30"]))
            try await TusFixture.withFile { file, _, resumption in
                let clock = TestClock(autoAdvances: true)
                let client = TusFixture.client(server, clock: clock)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(
                        Put(file), resuming: resumption, options: RequestOptions().with(\.deadline, value: 20))
                }
                #expect(error?.kind == .http && error?.statusCode == 503)
                #expect(clock.sleeps == [])
                await client.shutdown()
            }
        }
    }

    @Test(arguments: [401, 403, 429, 500, 503])
    func aFailingOPTIONSIsThrown(status: Int) async throws {
        try await MockServer.run { server in
            server.on(.options, "/up") { _ in .status(status) }
            server.on(.put, "/up") { _ in .status(204) }
            try await TusFixture.withFile { file, _, resumption in
                let client = TusFixture.client(server, retry: .none)
                let error = await #expect(throws: PulseError.self) {
                    try await client.upload(Put(file), resuming: resumption)
                }
                #expect(error?.statusCode == status)
                #expect(TusFixture.methods(server) == ["OPTIONS"])
                await client.shutdown()
            }
        }
    }
}
