// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

import PulseTransports

/// What the retry loop above the transport makes of the ends of HTTP/2 streams, with counts from the server.
@Suite(.tags(.threads), .throttled)
struct HTTP2RetryWireTests {
    private struct Call: Endpoint {
        typealias Response = String
        let path = "/once"
        let kind: HTTP2WirePeer.Kind

        var method: HTTPMethod { kind == .get ? .get : .post }
        var body: RequestBody { kind == .get ? .none : .text("body") }
        var options: RequestOptions {
            kind == .keyedPost ? RequestOptions().with(\.idempotencyKey, value: .value("key")) : .init()
        }
    }

    private struct Seen: Sendable {
        let result: Result<String, PulseError>
        /// The requests that the server got for the call.
        let arrivals: [HTTP2WirePeer.Arrival]
    }

    /// A call over a connection that has carried a request before.
    private static func call(
        _ kind: HTTP2WirePeer.Kind, ending: HTTP2WireEnding
    ) async throws -> Seen {
        let seen = Locked<Seen?>(nil)
        try await HTTP2WirePeer.run { stream in
            if stream.request == 1 { try await ending.perform(stream) } else { try await stream.respond() }
        } _: { peer, transport in
            let configuration = PulseConfiguration(baseURL: peer.baseURL).with(\.tls, value: peer.tls)
                .with(\.timeout, value: 600).with(\.connectTimeout, value: 600).with(\.poolTimeout, value: 600)
                .with(\.retryPolicy, value: .immediate())
            let client = ClientStage.client(configuration, over: transport)
            let _: String = try await client.get("/warm")
            let result = await client.result(of: Call(kind: kind))
            await client.shutdown()
            seen.withLock { $0 = Seen(result: result, arrivals: Array(peer.arrivals.dropFirst())) }
        }
        return try #require(seen.withLock { $0 })
    }

    @Test(arguments: HTTP2WireEnding.all.filter { $0.phase != .beforeSend })
    func aPOSTWithoutAKeyIsNeverSentTwice(ending: HTTP2WireEnding) async throws {
        let seen = try await Self.call(.post, ending: ending)
        #expect(seen.arrivals.count == 1)
        #expect(throws: PulseError.self) { try seen.result.get() }
    }

    @Test(arguments: HTTP2WireEnding.unprocessed, HTTP2WirePeer.Kind.allCases)
    func aRequestThatTheServerHasNotProcessedIsResentOnce(
        ending: HTTP2WireEnding, kind: HTTP2WirePeer.Kind
    ) async throws {
        let seen = try await Self.call(kind, ending: ending)
        #expect(seen.arrivals.count == 2)
        #expect(try seen.result.get() == "well")
    }

    @Test(arguments: [HTTP2WirePeer.Kind.get, .keyedPost])
    func aRequestThatMayBeRepeatedIsResentAfterAStaleConnection(kind: HTTP2WirePeer.Kind) async throws {
        let closed = HTTP2WireEnding("closed", .networkConnectionLost, .maybeSent, .onReused) {
            try await $0.connection.end(.close)
        }
        let seen = try await Self.call(kind, ending: closed)
        #expect(seen.arrivals.map(\.connection) == [0, 1])
        #expect(try seen.result.get() == "well")
    }

    /// The resend needs a connection of its own (RFC 9110, section 15.5.20).
    @Test(arguments: HTTP2WirePeer.Kind.allCases)
    func aMisdirectedRequestIsResentOnceOverAnotherConnection(kind: HTTP2WirePeer.Kind) async throws {
        let misdirected = HTTP2WireEnding("421", .networkConnectionLost, .responseStarted) {
            try await $0.respond(status: 421)
        }
        let seen = try await Self.call(kind, ending: misdirected)
        #expect(seen.arrivals.map(\.connection) == [0, 1])
        #expect(try seen.result.get() == "well")
    }
}
#endif
