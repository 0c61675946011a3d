// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// The largest request line and header fields of a request, in each version of HTTP.
@Suite(.servers, .timeLimit(.minutes(5)))
struct HeadTests {
    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1, .plain], ["GET", "POST"])
    func headerFieldsOfTheMaximumSizeArrive(server: Servers.Name, method: String) async throws {
        // In the body: as response header fields they would exceed the limit of nghttp2.
        let url = try Servers.url(server, "/id")
        let room = TransportRequest.maxHeadSize - method.utf8.count - url.absoluteString.utf8.count
        try await withTransport { transport in
            // nginx accepts 1,000 fields.
            let fields = (0..<900).map { ("X-\($0 + 1000)", "1") }
            let many = fields.reduce(into: room) { $0 -= $1.0.utf8.count + $1.1.utf8.count + 32 }
            for (lengthOfOne, others) in [(room, []), (many, fields)] {
                var request = try TransportRequest.to(url) { $0.urlRequest.httpMethod = method }
                for (name, value) in others { request.urlRequest.setValue(value, forHTTPHeaderField: name) }
                let id = String(repeating: "a", count: lengthOfOne - "X-Request-ID".utf8.count - 32)
                request.urlRequest.setValue(id, forHTTPHeaderField: "X-Request-ID")
                if method == "POST" { request.body = .bytes(Data(count: 10)) }
                let response = try await transport.send(request)
                #expect(response.statusCode == 200)
                #expect(response.text == id)
                request.urlRequest.setValue(id + "a", forHTTPHeaderField: "X-Request-ID")
                let error = await #expect(throws: PulseError.self) { try await transport.send(request) }
                #expect(error?.kind == .invalidRequest)
            }
        }
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1, .plain], [10_000, 20_000, 60_000])
    func largeResponseHeaderFieldsAreReadCompletely(server: Servers.Name, size: Int) async throws {
        let value = String(repeating: "a", count: size)
        try await withTransport { transport in
            for delivery in [TransportRequest.Delivery.buffered(limit: 1_000), .streamed] {
                var request = try TransportRequest.to(Servers.url(server))
                request.urlRequest.setValue(value, forHTTPHeaderField: "X-Request-ID")
                request.delivery = delivery
                let response = try await transport.send(request)
                #expect(response.headers["X-Request-ID"] == value)
                #expect(try await response.bytes?.collect(upTo: .max) ?? response.data == Data("GET /".utf8))
            }
        }
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1, .plain])
    func theLongestURLArrives(server: Servers.Name) async throws {
        let start = try Servers.url(server, "/?").absoluteString
        let room = TransportRequest.maxHeadSize - "GET".utf8.count - start.utf8.count
        let url = try #require(URL(string: start + String(repeating: "a", count: room)))
        let response = try await withTransport { try await $0.send(.to(url)) }
        #expect(response.text.utf8.count == "GET /?".utf8.count + room)
    }
}
