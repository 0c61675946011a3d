// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// nghttp2's own server, which uses parts of HTTP/2 that nginx does not: padding, trailers, and a limit of four streams.
@Suite(.servers, .timeLimit(.minutes(5)))
struct NghttpdTests {
    @Test
    func aPaddedBodyWithTrailersIsReceived() async throws {
        let (url, expected) = (try Servers.url(.nghttpd, "/text"), try Servers.data("files/text"))
        try await withTransport { transport in
            let response = try await transport.send(.to(url))
            #expect(response.data == expected)
            #expect(response.timings?.networkProtocol == "h2")
            #expect(response.trailers["x-sum"] == "1")
            let streamed = try await transport.send(.to(url) { $0.delivery = .streamed })
            let body = try await #require(streamed.bytes).collect(upTo: 1 << 20)
            #expect(body == expected)
            #expect(streamed.trailers["x-sum"] == "1")
        }
    }

    /// Flow control in both directions: the server sends back what it reads.
    @Test
    func anUploadComesBackWhole() async throws {
        let url = try Servers.url(.nghttpd, "/upload")
        let body = Data((0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 % 251) })
        try await withTransport { transport in
            for length in [Int64(body.count), nil] {
                let stream = RequestBody.Stream(length: length) { ByteStream([body]) }
                let response = try await transport.send(
                    .to(url) {
                        $0.urlRequest.httpMethod = "POST"
                        $0.body = .stream(stream)
                    })
                let isSame = response.data == body
                #expect(isSame)
            }
        }
    }

    @Test
    func requestsBeyondTheServersLimitOfStreamsAreAnswered() async throws {
        let (url, expected) = (try Servers.url(.nghttpd, "/text"), try Servers.data("files/text"))
        try await withTransport { transport in
            _ = try await transport.send(.to(url))
            try await withThrowingTaskGroup(of: Data.self) { group in
                for _ in 0..<40 { group.addTask { try await transport.send(.to(url)).data } }
                for try await data in group { #expect(data == expected) }
            }
        }
    }
}
