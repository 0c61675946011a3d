// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

@testable import PulseTransports

@Suite(.servers, .timeLimit(.minutes(5)))
struct CodingTests {
    static let codings = ContentCoding.available.map(\.rawValue).filter { $0 != "deflate" }

    @Test(arguments: codings)
    func decodesTheContentCoding(coding: String) async throws {
        let url = try Servers.url(.tls, "/coded/\(coding)/text")
        let expected = try Servers.data("files/text")
        try await withTransport { transport in
            let response = try await transport.send(.to(url))
            #expect(response.data == expected)
            #expect(response.headers["Content-Encoding"] == nil)
            #expect(response.headers["Content-Length"] == nil)
            #expect(try response.timings?.bytesReceived == Int64(Servers.data("files/text.\(coding)").count))
            #expect(response.timings?.bytesDecoded == Int64(expected.count))
            let streamed = try await transport.send(.to(url) { $0.delivery = .streamed })
            let body = try await #require(streamed.bytes).collect(upTo: 1 << 20)
            #expect(body == expected)
        }
    }

    @Test(arguments: codings)
    func aCompressionBombStopsAtTheLimit(coding: String) async throws {
        let url = try Servers.url(.tls, "/coded/\(coding)/bomb")
        try await withTransport { transport in
            let (error, rise) = try await Memory.rise {
                await #expect(throws: TransportFailure.self) {
                    try await transport.send(.to(url) { $0.delivery = .buffered(limit: 10 << 20) })
                }
            }
            guard case .responseTooLarge(limit: 10 << 20) = error?.underlying as? PulseError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(rise < 40 << 20, "\(rise >> 20) MiB")
        }
    }

    /// A gibibyte of zeros, of which little more is decoded than is read.
    @Test(arguments: [Servers.Name.plain, .tls, .tlsWithHTTP1])
    func aStreamedCompressionBombIsHeldBackByItsReader(server: Servers.Name) async throws {
        let url = try Servers.url(server, "/coded/gzip/bomb")
        let other = try Servers.url(.tls)
        try await withTransport { transport in
            let (count, rise) = try await Memory.rise {
                let response = try await transport.send(.to(url) { $0.delivery = .streamed })
                // Time for the bomb to expand, in one case beside others on its connection.
                for _ in 1...200 { _ = try await transport.send(.to(other)) }
                var count = 0
                for try await chunk in try #require(response.bytes) { count += chunk.count }
                return count
            }
            #expect(count == 1 << 30)
            #expect(rise < 320 << 20, "\(rise >> 20) MiB")
        }
    }
}
