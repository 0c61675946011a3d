// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// The ends of requests over HTTP/2, against frames written by hand, with counts from the server.
@Suite(.tags(.threads), .throttled)
struct HTTP2WireTests {
    typealias Kind = HTTP2WirePeer.Kind

    // MARK: Failures

    @Test(arguments: HTTP2WireEnding.all, Kind.allCases)
    func aLostRequestArrivesOnceAndReportsItsPhase(ending: HTTP2WireEnding, kind: Kind) async throws {
        for isReused in [false, true] {
            let lost = isReused ? 1 : 0
            try await HTTP2WirePeer.run { stream in
                if stream.request == lost { try await ending.perform(stream) } else { try await stream.respond() }
            } _: { peer, transport in
                if isReused { _ = try await transport.send(peer.request()) }
                let failure = await #expect(throws: TransportFailure.self) {
                    try await transport.send(peer.request(kind))
                }
                let told: Comment = "reused: \(isReused), \(String(describing: failure))"
                #expect(failure?.code == ending.code, told)
                #expect(failure?.phase == ending.phase, told)
                #expect(failure?.isStaleConnection == ending.isStale(onReused: isReused), told)
                // A request that was resent would have arrived before this one.
                let later = try await transport.send(peer.request())
                #expect(later.statusCode == 200 && later.data == Data("well".utf8))
                #expect(peer.arrivals.count == lost + 2, told)
                // The pool keeps none that is lost; it is told after the request.
                while transport.pool.sizes.shared > 1 { await Task.yield() }
            }
        }
    }

    @Test(arguments: Kind.allCases)
    func aFailureWithinABodyHasTheStatus(kind: Kind) async throws {
        try await HTTP2WirePeer.run { stream in
            try await stream.sendHead(status: 503)
            try await stream.reset(2)
        } _: { peer, transport in
            let failure = await #expect(throws: TransportFailure.self) {
                try await transport.send(peer.request(kind))
            }
            #expect(failure?.phase == .responseStarted && failure?.response?.statusCode == 503)
        }
    }

    @Test(arguments: Kind.allCases)
    func aServerThatRequiresHTTP1GetsItFromTheNextRequestOn(kind: Kind) async throws {
        try await HTTP2WirePeer.run { stream in
            try await stream.reset(13)
        } _: { peer, transport in
            let failure = await #expect(throws: TransportFailure.self) {
                try await transport.send(peer.request(kind))
            }
            #expect(failure?.phase == .beforeSend && failure?.isStaleConnection == true)
            for _ in 0..<2 {
                let later = try await transport.send(peer.request(kind))
                #expect(later.data == Data("well".utf8) && later.timings?.networkProtocol == "http/1.1")
            }
            #expect(peer.arrivals.map(\.stream) == [1, nil, nil])
        }
    }

    // MARK: Responses

    /// A whole response, sent in an unusual way.
    struct Delivery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Whether the connection takes the next request too.
        let isKept: Bool
        let perform: @Sendable (HTTP2WireStream) async throws -> Void

        init(
            _ name: String, isKept: Bool = true, _ perform: @escaping @Sendable (HTTP2WireStream) async throws -> Void
        ) {
            (testDescription, self.isKept, self.perform) = (name, isKept, perform)
        }
    }

    static let deliveries: [Delivery] = [
        Delivery("GOAWAY at the stream", isKept: false) {
            try await $0.connection.send(.goAway(lastStream: $0.id))
            try await $0.respond()
        },
        Delivery("GOAWAY above the stream", isKept: false) {
            try await $0.connection.send(.goAway(lastStream: .max))
            try await $0.respond()
        },
        Delivery("GOAWAY within the body", isKept: false) {
            try await $0.sendHead()
            try await $0.connection.send(
                .data($0.id, "we"), .goAway(lastStream: $0.id), .data($0.id, "ll", isEnd: true))
        },
        Delivery("421", isKept: false) { try await $0.respond(status: 421) },
        Delivery("interim responses") {
            try await $0.sendHead(status: 100)
            try await $0.connection.send(.headers($0.id, [(":status", "103"), ("link", "</a.css>")]))
            try await $0.respond()
        },
        Delivery("trailers") {
            try await $0.sendHead()
            try await $0.connection.send(.data($0.id, "well"), .headers($0.id, [("x-sum", "1")], isEnd: true))
        },
        Delivery("padding") {
            try await $0.connection.send(
                .headers($0.id, [(":status", "200")], padding: 100), .data($0.id, "well", isEnd: true, padding: 255))
        },
        Delivery("padding alone at the end") {
            try await $0.sendHead()
            try await $0.connection.send(.data($0.id, "well", padding: 0), .data($0.id, "", isEnd: true, padding: 9))
        },
        Delivery("a header block in pieces") {
            let fields = [(name: ":status", value: "200"), (name: "x-a", value: String(repeating: "b", count: 3000))]
            try await $0.connection.send(HTTP2WireFrame.headers($0.id, fields, pieces: 700))
            try await $0.connection.send(.data($0.id, "well", isEnd: true))
        },
        Delivery("frames of other kinds") {
            let priority = HTTP2WireFrame(kind: 2, stream: $0.id, payload: Data([0, 0, 0, 0, 16]))
            let ping = HTTP2WireFrame(kind: 6, payload: Data(count: 8))
            let unknown = HTTP2WireFrame(kind: 0xFA, flags: 0xFF, stream: $0.id, payload: Data([1, 2, 3]))
            try await $0.connection.send(unknown, priority, ping)
            try await $0.sendHead()
            try await $0.connection.send(unknown, ping, .data($0.id, "well", isEnd: true), unknown)
        },
        Delivery("RST_STREAM after the end") {
            try await $0.respond()
            try await $0.reset(0)
        },
    ]

    @Test(arguments: deliveries, Kind.allCases)
    func aWholeResponseIsReceived(delivery: Delivery, kind: Kind) async throws {
        try await HTTP2WirePeer.run { stream in
            if stream.request == 0 { try await delivery.perform(stream) } else { try await stream.respond() }
        } _: { peer, transport in
            let response = try await transport.send(peer.request(kind))
            #expect(response.statusCode == (delivery.testDescription == "421" ? 421 : 200))
            #expect(response.data == Data("well".utf8))
            #expect(response.timings?.networkProtocol == "h2")
            #expect(response.trailers["x-sum"] == (delivery.testDescription == "trailers" ? "1" : nil))
            let later = try await transport.send(peer.request())
            #expect(later.data == Data("well".utf8))
            #expect(peer.arrivals.map(\.connection) == [0, delivery.isKept ? 0 : 1])
        }
    }

    /// RFC 9113, section 8.1: the server needs no more of the body, of which its window holds up the most.
    @Test(arguments: [200, 413], [0, 8] as [UInt32])
    func aWholeResponseDuringAnUploadEndsIt(status: Int, code: UInt32) async throws {
        try await HTTP2WirePeer.run(responding: .atItsHead) { stream in
            try await stream.respond(status: status)
            if stream.request == 0 { try await stream.reset(code) }
        } _: { peer, transport in
            let response = try await transport.send(peer.request(.post, body: Data(count: 1 << 20)))
            #expect(response.statusCode == status && response.data == Data("well".utf8))
            let later = try await transport.send(peer.request())
            #expect(later.statusCode == status)
            #expect(peer.arrivals.map(\.connection) == [0, 0])
        }
    }

    // MARK: Streams

    @Test func aStreamThatIsLeftIsResetAndItsConnectionStays() async throws {
        try await HTTP2WirePeer.run { stream in
            guard stream.request == 0 else { return try await stream.respond() }
            try await stream.sendHead()
            try await stream.connection.send(.data(stream.id, "part"))
        } _: { peer, transport in
            let response = try await transport.send(peer.request(delivery: .streamed))
            let bytes = try #require(response.bytes)
            for try await _ in bytes { break }
            bytes.cancel()
            await peer.wait { !$0.resets.isEmpty }
            #expect(peer.resets == [HTTP2WirePeer.Reset(connection: 0, stream: 1, code: 8)])
            _ = try await transport.send(peer.request())
            #expect(peer.arrivals.map(\.connection) == [0, 0])
        }
    }

    /// The limit is known after the first response.
    @Test func aServerThatTakesOneStreamGetsAnotherConnectionForTheNext() async throws {
        let (streams, held) = AsyncStream<HTTP2WireStream>.makeStream()
        try await HTTP2WirePeer.run(settings: [3: 1]) { stream in
            if stream.request == 0 { try await stream.respond() } else { held.yield(stream) }
        } _: { peer, transport in
            _ = try await transport.send(peer.request())
            let requests = (0..<2).map { _ in Task { try await transport.send(peer.request()) } }
            await peer.wait { $0.arrivals.count == 3 }
            #expect(peer.arrivals.map(\.connection) == [0, 0, 1])
            var streams = streams.makeAsyncIterator()
            for _ in 0..<2 { try await streams.next()?.respond() }
            for request in requests { #expect(try await request.value.statusCode == 200) }
        }
    }

    /// A request holds a place of its host until its response, also where all share one connection.
    @Test func noMoreRequestsThanTheLimitOfTheHostShareAConnection() async throws {
        let (streams, held) = AsyncStream<HTTP2WireStream>.makeStream()
        try await HTTP2WirePeer.run(connections: 2) { stream in
            held.yield(stream)
        } _: { peer, transport in
            let requests = (0..<3).map { _ in Task { try await transport.send(peer.request()) } }
            var streams = streams.makeAsyncIterator()
            let first = await streams.next()
            let second = await streams.next()
            #expect(peer.arrivals.count == 2)
            try await first?.respond()
            let third = await streams.next()
            try await second?.respond()
            try await third?.respond()
            for request in requests { #expect(try await request.value.statusCode == 200) }
            #expect(peer.arrivals.map(\.connection) == [0, 0, 0])
        }
    }

    @Test func aShutdownEndsTheRequestsOfAConnection() async throws {
        try await HTTP2WirePeer.run { _ in
        } _: { peer, transport in
            let requests = (0..<3).map { _ in Task { try await transport.send(peer.request()) } }
            await peer.wait { $0.arrivals.count == 3 }
            await transport.shutdown()
            for request in requests {
                let error = await #expect(throws: (any Error).self) { try await request.value }
                #expect(error.map { PulseError(wrapping: $0).kind } == .cancelled)
            }
        }
    }
}
#endif
