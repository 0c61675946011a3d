// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

/// Cancels at moments that a random schedule may miss. The server or the source of a body observes each of them.
@Suite(.throttled)
struct SocketTransportCancellationTests {
    @Test(arguments: [false, true])
    func aCancellationDuringATLSHandshakeClosesTheConnection(isTunneled: Bool) async throws {
        let (hellos, told) = AsyncStream<Data>.makeStream()
        let saysNothing: @Sendable (MockServer.Conversation) async throws -> Void = { conversation in
            defer { told.finish() }
            var hello = Data()
            while !hello.isWholeRecord, let bytes = try await conversation.receive() { hello.append(bytes) }
            told.yield(hello)
            while try await conversation.receive() != nil {}
        }
        try await MockServer.run { server in
            if isTunneled {
                server.fallback { _ in .upgrade(status: 200, headers: [:], saysNothing) }
            } else {
                server.onAccept { _ in MockServer.Step.conversing(saysNothing) }
            }
            let address = isTunneled ? "https://tunneled.example/" : "https://127.0.0.1:\(server.port)/"
            let request = TransportRequest(
                urlRequest: URLRequest(url: try #require(URL(string: address))), connectTimeout: 600,
                proxy: isTunneled ? .http(host: "127.0.0.1", port: server.port) : .direct)
            let transport = SocketTransport()
            let call = Task { try await transport.send(request) }
            // Ends when the client has closed the connection.
            for await hello in hellos {
                #expect(hello.first == 0x16)
                call.cancel()
            }
            await #expect {
                try await call.value
            } throws: {
                PulseError(wrapping: $0).kind == .cancelled
            }
            try await server.connectionsClosedByClient()
            try await server.wait { $0.openConnectionCount == 0 }
            #expect(server.connectionCount == 1)
            await transport.shutdown()
        }
    }

    @Test func aCancellationOfABlockedUploadEndsItsSourceAndConnection() async throws {
        // More than all buffers on the way hold: the writer waits until most of it was read, which never happens.
        let chunk = Data(repeating: 7, count: 64 << 20)
        let asked = Locked(0)
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let body = RequestBody.Stream(length: Int64(2 * chunk.count)) {
            ByteStream(
                next: {
                    asked.withLock { $0 += 1 }
                    return chunk
                }, cancel: { ended.finish() })
        }
        let clock = TestClock()
        try await MockServer.run(clock: clock) { server in
            server.on(.post, "/", reading: .slowly(bytes: 64 << 10, every: 1)) { _ in .text("never") }
            var urlRequest = URLRequest(url: server.baseURL)
            urlRequest.httpMethod = "POST"
            let request = TransportRequest(urlRequest: urlRequest, body: .stream(body), idleTimeout: 600)
            let transport = SocketTransport()
            let call = Task { try await transport.send(request) }
            // The server has read a piece of the body, and reads no more before its clock advances.
            await clock.sleepers(atLeast: 1)
            call.cancel()
            await #expect {
                try await call.value
            } throws: {
                PulseError(wrapping: $0).kind == .cancelled
            }
            for await _ in ends {}
            #expect(asked.withLock { $0 } == 1)
            // The client's end comes after the bytes that it had sent.
            clock.autoAdvances = true
            await clock.advance(by: 1)
            try await server.connectionsClosedByClient()
            let activity = try await server.wait { $0.openConnectionCount == 0 }
            #expect(activity.connections.count == 1)
            #expect(activity.requests.isEmpty)
            #expect(activity.incompleteRequests.allSatisfy { $0.bodyByteCount < chunk.count })
            await transport.shutdown()
        }
    }

    @Test(arguments: [TransportRequest.Delivery.buffered(limit: 100), .streamed])
    func aCancellationAfterTheResponseChangesNothing(delivery: TransportRequest.Delivery) async throws {
        let ended = Locked<Task<Data, any Error>?>(nil)
        try await MockServer.run { server in
            server.fallback { request in
                // The next request is under way, on the same connection.
                if request.path == "/second" { ended.withLock { $0 }?.cancel() }
                return .text(request.path)
            }
            let transport = SocketTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL.appendingPathComponent("first")),
                delivery: delivery, idleTimeout: 600, mayBeResent: true)
            let call = Task {
                let response = try await transport.send(request)
                let data = try await response.bytes?.collect(upTo: 100) ?? response.data
                response.bytes?.cancel()
                withUnsafeCurrentTask { $0?.cancel() }
                return data
            }
            let first = try await call.value
            #expect(first == Data("/first".utf8))
            call.cancel()
            ended.withLock { $0 = call }
            let second = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL.appendingPathComponent("second")), idleTimeout: 600,
                mayBeResent: true)
            let received = try await transport.send(second)
            #expect(received.data == Data("/second".utf8))
            #expect(server.requests.map(\.connection) == [0, 0])
            #expect(server.openConnectionCount == 1)
            await transport.shutdown()
        }
    }
}

extension Data {
    /// Whether a TLS record is complete (RFC 8446, section 5.1).
    fileprivate var isWholeRecord: Bool {
        count >= 5 && count >= 5 + Int(self[startIndex + 3]) << 8 + Int(self[startIndex + 4])
    }
}
#endif
