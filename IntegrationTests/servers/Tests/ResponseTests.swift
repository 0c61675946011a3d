// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Responses of each server: those with a body, those without, and those that end early.
@Suite(.servers, .timeLimit(.minutes(5)))
struct ResponseTests {
    @Test(arguments: Route.all, ["text", "large"])
    func aBodyIsWhole(route: Route, file: String) async throws {
        let expected = try Route.file(file)
        try await withTransport(SocketTransport()) { transport in
            let buffered = try await transport.send(route.request("/files/\(file)"))
            #expect(buffered.statusCode == 200)
            #expect(buffered.timings?.networkProtocol == route.networkProtocol)
            let isSame = buffered.data == expected
            #expect(isSame)
            let streamed = try await transport.send(route.request("/files/\(file)") { $0.delivery = .streamed })
            #expect(streamed.timings?.networkProtocol == route.networkProtocol)
            #expect(streamed.timings?.isConnectionReused == true)
            let isSameStream = try await #require(streamed.bytes).collect(upTo: 16 << 20) == expected
            #expect(isSameStream)
        }
    }

    /// Each is followed by another response on the same connection.
    @Test(arguments: Route.all)
    func aResponseWithoutABodyEndsWithItsHead(route: Route) async throws {
        try await withTransport(SocketTransport()) { transport in
            let head = try await transport.send(route.request("/files/large", method: "HEAD"))
            #expect(head.statusCode == 200 && head.data.isEmpty)
            #expect(head.headers["Content-Length"] == "8388608")
            let none = try await transport.send(route.request("/none"))
            #expect(none.statusCode == 204 && none.data.isEmpty)
            let whole = try await transport.send(route.request("/files/text"))
            let tag = try #require(whole.headers["ETag"])
            let unchanged = try await transport.send(
                route.request("/files/text") { $0.urlRequest.setValue(tag, forHTTPHeaderField: "If-None-Match") })
            #expect(unchanged.statusCode == 304 && unchanged.data.isEmpty)
            let last = try await transport.send(route.request("/files/text"))
            let expected = try Route.file("text")
            #expect(last.data == expected)
            #expect([none, whole, unchanged, last].allSatisfy { $0.timings?.isConnectionReused == true })
        }
    }

    @Test(arguments: Route.all)
    func theBodyOfAnErrorIsWholeUnlessItIsStreamed(route: Route) async throws {
        let expected = try Route.file("missing")
        try await withTransport(SocketTransport()) { transport in
            let buffered = try await transport.send(route.request("/missing"))
            #expect(buffered.statusCode == 404 && !buffered.isTruncated)
            #expect(buffered.data == expected)
            let streamed = try await transport.send(route.request("/missing") { $0.delivery = .streamed })
            #expect(streamed.statusCode == 404 && streamed.isTruncated)
            #expect(streamed.data == expected.prefix(64 << 10))
            let later = try await transport.send(route.request("/missing"))
            #expect(later.data == expected)
        }
    }

    @Test(arguments: Route.all)
    func aCodedBodyIsDecoded(route: Route) async throws {
        let expected = try Route.file("text")
        try await withTransport(SocketTransport()) { transport in
            let response = try await transport.send(
                route.request("/gzip") { $0.urlRequest.setValue("gzip", forHTTPHeaderField: "Accept-Encoding") })
            #expect(response.data == expected)
            let received = try #require(response.timings?.bytesReceived)
            #expect(received < Int64(expected.count))
        }
    }

    @Test(arguments: Route.withTrailers)
    func trailersAreRead(route: Route) async throws {
        try await withTransport(SocketTransport()) { transport in
            let buffered = try await transport.send(route.request("/trailers"))
            #expect(buffered.text == "body")
            #expect(buffered.trailers["X-Sum"] == "1")
            let streamed = try await transport.send(route.request("/trailers") { $0.delivery = .streamed })
            let body = try await #require(streamed.bytes).collect(upTo: 100)
            #expect(body == Data("body".utf8))
            #expect(streamed.trailers["X-Sum"] == "1")
        }
    }

    @Test(arguments: Route.all)
    func earlyHintsAreNotTheResponse(route: Route) async throws {
        try await withTransport(SocketTransport()) { transport in
            for _ in 1...3 {
                let response = try await transport.send(route.request("/hints"))
                #expect(response.statusCode == 200)
                #expect(response.text == "hinted")
                #expect(response.headers["Link"] == nil)
            }
        }
    }

    /// 40 KiB.
    @Test(arguments: Route.withLargeHeads)
    func largeHeaderFieldsAreWhole(route: Route) async throws {
        let value = String(repeating: "a", count: 4096)
        try await withTransport(SocketTransport()) { transport in
            let response = try await transport.send(route.request("/head"))
            #expect((0..<10).allSatisfy { response.headers["X-Field-\($0)"] == value })
        }
    }

    /// The server sends the next chunk when the test has received the last one.
    @Test(arguments: Route.all)
    func aChunkArrivesBeforeTheNextOneIsSent(route: Route) async throws {
        let name = Route.newName()
        try await withTransport(SocketTransport()) { transport in
            let response = try await transport.send(route.request("/steps/\(name)") { $0.delivery = .streamed })
            var iterator = try #require(response.bytes).makeAsyncIterator()
            var text = ""
            for expected in ["one", "onetwo", "onetwothree"] {
                if expected != "one" { _ = try await transport.send(route.request("/release/\(name)", method: "POST")) }
                while text.utf8.count < expected.utf8.count, let chunk = try await iterator.next() {
                    text += String(decoding: chunk, as: UTF8.self)
                }
                #expect(text == expected)
            }
            let end = try await iterator.next()
            #expect(end == nil)
        }
    }

    /// The server has half of the body, and ends its stream or connection.
    @Test(arguments: Route.all, ["length", "chunked"])
    func aCutBodyIsAnError(route: Route, framing: String) async throws {
        try await withTransport(SocketTransport()) { transport in
            let failure = await #expect(throws: TransportFailure.self) {
                try await transport.send(route.request("/cut/\(framing)"))
            }
            #expect(failure?.phase == .responseStarted, "\(String(describing: failure))")
            #expect(failure?.code == .networkConnectionLost)
            // The end may come before the response is returned.
            let error = await #expect(throws: (any Error).self) {
                let streamed = try await transport.send(route.request("/cut/\(framing)") { $0.delivery = .streamed })
                _ = try await #require(streamed.bytes).collect(upTo: 16 << 20)
            }
            #expect(error.map { PulseError(wrapping: $0) }?.phase == .responseStarted, "\(String(describing: error))")
            let later = try await transport.send(route.request("/files/text"))
            let expected = try Route.file("text")
            #expect(later.data == expected)
        }
    }
}
