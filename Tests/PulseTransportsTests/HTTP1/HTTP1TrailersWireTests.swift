// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

import PulseTransports

@Suite(.tags(.threads), .throttled)
struct HTTP1TrailersWireTests {
    private static let body = Data("0123456789".utf8)
    private static let trailers: HTTPHeaders = ["X-Checksum": "abc", "Grpc-Status": "0"]

    private static func serve(_ server: MockServer) {
        server.fallback { _ in
            .data(body).framed(.chunked(sizes: [4], trailers: trailers)).header("Cache-Control", "max-age=600")
                .header("Date", HTTPDate.format(Date()))
        }
    }

    /// Buffered, streamed, and into a file.
    @Test(arguments: 0..<3) func aResponseHasTheTrailers(way: Int) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let deliveries: [TransportRequest.Delivery] = [
            .buffered(limit: 100), .streamed, .file(file, resumeOffset: 0),
        ]
        try await MockServer.run { server in
            Self.serve(server)
            let transport = StandardTransport()
            let request = TransportRequest(
                urlRequest: URLRequest(url: server.baseURL), delivery: deliveries[way], connectTimeout: 600,
                idleTimeout: 600, proxy: .direct)
            for _ in 0..<2 {
                let response = try await transport.send(request)
                if let stream = response.bytes { #expect(try await stream.collect(upTo: 100) == Self.body) }
                if let file = response.file { #expect(try Data(contentsOf: file) == Self.body) }
                #expect(response.trailers == Self.trailers && response.headers["X-Checksum"] == nil)
            }
            #expect(server.connectionCount == 1)
            await transport.shutdown()
        }
    }

    /// Also behind what passes the stream on: the cache, which stores none, and a recorder.
    @Test func aStreamOfAClientHasTheTrailers() async throws {
        try await MockServer.run { server in
            Self.serve(server)
            let client = ClientStage.client(
                of: server, plugins: [CachePlugin(policy: .rfc9111)], retry: .default,
                over: CassetteRecorder(around: StandardTransport()), with: { $0.proxy = .direct })
            for trailers in [Self.trailers, [:]] {
                let (bytes, response) = try await client.bytes("/a")
                #expect(try await bytes.collect(upTo: 100) == Self.body)
                #expect(response.trailers == trailers)
            }
            #expect(server.requests.count == 1)
            await client.shutdown()
        }
    }
}
#endif
