// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Uploads to a server that responds after the header fields, and resets the connection with the body unread.
@Suite(.servers, .serialized, .timeLimit(.minutes(5)))
struct RefusalTests {
    struct Upload: Sendable, CustomTestStringConvertible {
        let server: Servers.Name
        let path: String
        let isReused: Bool
        let hasLength: Bool

        var testDescription: String {
            "\(server.rawValue)\(path), \(isReused ? "used" : "new"), \(hasLength ? "with" : "without") a length"
        }

        var body: TransportRequest.Body {
            // No multiple of a buffer's size: a client that sends whole buffers has to stop within one.
            let piece = Data(repeating: 7, count: 1_000_000)
            let pieces = Array(repeating: piece, count: 8)
            if hasLength { return .bytes(pieces.reduce(Data(), +)) }
            return .stream(RequestBody.Stream(length: nil) { ByteStream(pieces) })
        }

        static let all = [Servers.Name.refuser, .plainRefuser].flatMap { server in
            ["/413", "/401", "/413/close"].flatMap { path in
                [false, true].flatMap { isReused in
                    [false, true].map { Upload(server: server, path: path, isReused: isReused, hasLength: $0) }
                }
            }
        }
    }

    /// The server resets once the client's system has the whole response, so none may be lost. Without the handling of
    /// failed writes 5 to 50 of 100 are lost over TLS.
    @Test(arguments: Upload.all)
    func refusalsArriveThoughTheConnectionIsReset(upload: Upload) async throws {
        let url = try Servers.url(upload.server, upload.path)
        let warm = try Servers.url(upload.server)
        let body = upload.body
        var lost: [String] = []
        for _ in 0..<100 {
            try await withTransport { transport in
                if upload.isReused { _ = try await transport.send(.to(warm)) }
                var request = try TransportRequest.to(url) { $0.urlRequest.httpMethod = "POST" }
                request.body = body
                do {
                    let response = try await transport.send(request)
                    #expect(upload.path.contains("\(response.statusCode)"))
                    #expect(response.text == "refused")
                } catch {
                    lost.append("\(error)")
                }
            }
        }
        #expect(lost.isEmpty, "\(lost.count) lost: \(Set(lost))")
    }

    /// A reset connection is not reused.
    @Test
    func aRequestAfterARefusalGoesOverANewConnection() async throws {
        let (url, warm) = (try Servers.url(.refuser, "/413"), try Servers.url(.refuser))
        try await withTransport { transport in
            for _ in 0..<10 {
                var request = try TransportRequest.to(url) { $0.urlRequest.httpMethod = "POST" }
                request.body = Upload.all[1].body
                #expect(try await transport.send(request).statusCode == 413)
                #expect(try await transport.send(.to(warm)).text == "warm")
            }
        }
    }

    @Test(arguments: [Servers.Name.tls, .tlsWithHTTP1, .plain])
    func aRefusalOfNginxArrives(server: Servers.Name) async throws {
        let url = try Servers.url(server, "/small")
        for _ in 0..<20 {
            try await withTransport { transport in
                var request = try TransportRequest.to(url) { $0.urlRequest.httpMethod = "POST" }
                request.body = .bytes(Data(count: 4 << 20))
                #expect(try await transport.send(request).statusCode == 413)
            }
        }
    }
}
