// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.threads), .throttled)
struct HTTP1ExchangeWireTests {
    private static func request(_ path: String, _ server: MockServer) -> TransportRequest {
        TransportRequest(
            urlRequest: URLRequest(url: server.baseURL.appendingPathComponent(path)), idleTimeout: 600,
            mayBeResent: true)
    }

    /// This holds even for a request that the client would resend: that is decided above.
    @Test(arguments: [0, 4], [false, true])
    func aRequestOnALostConnectionIsSentOnce(few: Int, mayBeResent: Bool) async throws {
        try await MockServer.run { server in
            server.fallback { request in
                guard request.path != "/deadly" else { return .disconnect }
                // All three are under way at the same time.
                _ = try? await server.wait { $0.requests.count >= 3 }
                return .text("well")
            }
            let transport = SocketTransport(64, few: few)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { _ = try await transport.send(Self.request("well", server)) } }
                try await group.waitForAll()
            }
            var deadly = Self.request("deadly", server)
            deadly.mayBeResent = mayBeResent
            await #expect {
                try await transport.send(deadly)
            } throws: {
                let failure = $0 as? TransportFailure
                return failure?.phase == .maybeSent && failure?.isStaleConnection == true
            }
            #expect(server.requests.filter { $0.path == "/deadly" }.count == 1)
            // The other two may be stale too.
            let later = try await transport.send(Self.request("well", server))
            #expect(later.timings?.isConnectionReused == false)
            await transport.shutdown()
        }
    }

    /// The connection is new, so it was not stale.
    @Test(arguments: [0, 4])
    func aLostNewConnectionIsNotStale(few: Int) async throws {
        try await MockServer.run { server in
            server.fallback { _ in .disconnect }
            let transport = SocketTransport(64, few: few)
            await #expect {
                try await transport.send(Self.request("deadly", server))
            } throws: {
                let failure = $0 as? TransportFailure
                return failure?.code == .networkConnectionLost && failure?.isStaleConnection == false
            }
            await transport.shutdown()
        }
    }

    @Test(arguments: [0, 4])
    func aPartialResponseDoesNotMeanAStaleConnection(few: Int) async throws {
        try await MockServer.run { server in
            server.fallback { request in
                request.path == "/cut" ? .text("0123456789").truncated(after: 3) : .text("well")
            }
            let transport = SocketTransport(64, few: few)
            _ = try await transport.send(Self.request("well", server))
            await #expect {
                try await transport.send(Self.request("cut", server))
            } throws: {
                let failure = $0 as? TransportFailure
                return failure?.phase == .responseStarted && failure?.isStaleConnection == false
            }
            await transport.shutdown()
        }
    }

    /// The most recently used of the two is tried first.
    @Test(arguments: [0, 4], [0, 1])
    func aClosedIdleConnectionIsSkippedForTheNextOne(_ few: Int, _ closed: Int) async throws {
        try await MockServer.run { server in
            server.fallback { request in
                _ = try? await server.wait { $0.requests.count >= 2 }
                return request.connection == closed ? .text("a").fault(.close, at: .end) : .text("a")
            }
            let transport = SocketTransport(64, few: few)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { _ = try await transport.send(Self.request("first", server)) } }
                try await group.waitForAll()
            }
            try await server.wait { $0.connections.count == 2 && $0.openConnectionCount == 1 }
            var request = URLRequest(url: server.baseURL)
            request.httpMethod = "POST"
            let response = try await transport.send(TransportRequest(urlRequest: request, idleTimeout: 600))
            #expect(response.timings?.isConnectionReused == true)
            #expect(server.requests.map(\.connection).last == 1 - closed)
            await transport.shutdown()
        }
    }

    @Test(arguments: [0, 4])
    func aRequestWithAFragmentedResponseIsSentOnce(_ few: Int) async throws {
        try await MockServer.run { server in
            server.fallback { request in
                request.path == "/first" ? .text("abc").dripping(20, every: 0.001) : .text("second")
            }
            let transport = SocketTransport(1, few: few)
            let first = try await transport.send(Self.request("first", server))
            #expect(first.data == Data("abc".utf8))
            _ = try await transport.send(Self.request("second", server))
            #expect(server.requests.map(\.path) == ["/first", "/second"])
            await transport.shutdown()
        }
    }

    /// A body that can be made once only must not be begun for a connection that is stale.
    @Test func aStaleConnectionTakesNothingOfTheBody() async throws {
        try await MockServer.run { server in
            server.fallback { request in request.path == "/first" ? .text("a").fault(.close, at: .end) : .text("b") }
            let transport = SocketTransport(64)
            _ = try await transport.send(Self.request("first", server))
            try await server.wait { $0.openConnectionCount == 0 }
            let makes = Locked(0)
            var request = Self.request("second", server)
            request.urlRequest.httpMethod = "PUT"
            request.body = .stream(
                RequestBody.Stream(length: nil, isOneShot: true) {
                    makes.withLock { $0 += 1 }
                    return ByteStream([Data("some ".utf8), Data(), Data("bytes".utf8)])
                })
            let response = try await transport.send(request)
            #expect(response.timings?.isConnectionReused == false && makes.withLock { $0 } == 1)
            #expect(server.requests.last?.body == Data("some bytes".utf8))
            await transport.shutdown()
        }
    }

    /// Streams, files and uploads share one pool with small requests.
    @Test func allRequestsUseOneConnection() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .data(Data(count: 300_000)) }
            let transport = SocketTransport(64)
            _ = try await transport.send(Self.request("small", server))
            var streamed = Self.request("streamed", server)
            streamed.delivery = .streamed
            let stream = try #require(try await transport.send(streamed).bytes)
            // The loop ends with the last byte, and asks for no end.
            var count = 0
            for try await piece in stream {
                count += piece.count
                if count == 300_000 { break }
            }
            var upload = Self.request("upload", server)
            upload.urlRequest.httpMethod = "PUT"
            upload.body = .bytes(Data(count: 3_000_000))
            _ = try await transport.send(upload)
            let last = try await transport.send(Self.request("last", server))
            #expect(last.timings?.isConnectionReused == true)
            #expect(server.connectionCount == 1 && server.requests.map(\.body.count) == [0, 0, 3_000_000, 0])
            await transport.shutdown()
        }
    }

    /// What is cut before its end cannot carry another exchange.
    @Test func aStreamThatIsLeftClosesItsConnection() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .data(Data(count: 10_000_000)) }
            let transport = SocketTransport(64)
            var streamed = Self.request("streamed", server)
            streamed.delivery = .streamed
            for try await _ in try #require(try await transport.send(streamed).bytes) { break }
            try await server.wait { $0.openConnectionCount == 0 }
            await transport.shutdown()
        }
    }

    @Test func anUploadMayHaveAStreamedResponse() async throws {
        try await MockServer.run { server in
            server.fallback { request in .text("\(request.body.count)") }
            let transport = SocketTransport(64)
            var request = Self.request("upload", server)
            request.urlRequest.httpMethod = "POST"
            request.delivery = .streamed
            let size = 5 << 20
            let steps = Locked<[TransferProgress]>([])
            request.progress = { step in steps.withLock { $0.append(step) } }
            request.body = .bytes(Data(count: size))
            let response = try await transport.send(request)
            let text = try await response.bytes?.collect(upTo: 100)
            #expect(text == Data("\(size)".utf8))
            #expect(steps.withLock { $0.last } == TransferProgress(completed: Int64(size), total: Int64(size)))
            await transport.shutdown()
        }
    }

    @Test(arguments: [TransportRequest.Delivery.buffered(limit: 100), .streamed])
    func theErrorOfABodyEndsTheRequest(delivery: TransportRequest.Delivery) async throws {
        struct Broken: Error {}
        try await MockServer.run { server in
            server.fallback { _ in .text("late") }
            let transport = SocketTransport(64)
            var request = Self.request("upload", server)
            request.urlRequest.httpMethod = "PUT"
            request.delivery = delivery
            let isFirst = Locked(true)
            request.body = .stream(
                RequestBody.Stream(length: nil) {
                    ByteStream(next: {
                        guard
                            isFirst.withLock({ first in
                                defer { first = false }
                                return first
                            })
                        else { throw Broken() }
                        return Data("first".utf8)
                    })
                })
            await #expect {
                try await transport.send(request)
            } throws: {
                let error = PulseError(wrapping: $0)
                return "\(error)".contains("Broken") && error.phase != .beforeSend
            }
            #expect(server.requests.isEmpty)
            await transport.shutdown()
        }
    }

    @Test func theHostFieldComesFirst() async throws {
        try await MockServer.run { server in
            server.fallback { _ in .text("response") }
            let transport = SocketTransport()
            _ = try await transport.send(Self.request("first", server))
            #expect(server.requests.first?.headers.first?.name == "Host")
            await transport.shutdown()
        }
    }
}
#endif
