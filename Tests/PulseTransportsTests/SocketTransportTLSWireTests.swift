// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

import PulseTransports

/// A handshake that offers HTTP/2 to a server that speaks HTTP/1.1 alone.
@Suite(.tags(.threads), .throttled)
struct SocketTransportTLSWireTests {
    static let conformance = TransportConformance.socketTransportOverTLS

    // Serialized: most of these tests depend on timing, and the machine may have two cores.
    @Test(.serialized, arguments: conformance.cases)
    func socketTransportPassesOverTLS(_ promise: TransportConformance.Case) async throws {
        try await Self.conformance.run(promise)
    }

    /// RFC 9112, section 9.8: a body that ends with the connection may be truncated, unless TLS was closed properly.
    @Test(arguments: [PulseConfiguration.HTTPVersions.automatic, .http1])
    func aBodyThatEndsWithTheConnectionIsCompleteOnlyAfterTheCloseAlert(versions: PulseConfiguration.HTTPVersions)
        async throws
    {
        let identity = try MockServer.TLSIdentity.generated()
        try await MockServer.run(MockServer.Configuration(tls: identity)) { server in
            server.fallback { request in
                let end: MockServer.Step = request.path == "/cut" ? .truncate : .close
                return .raw([.text("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nall of it"), end])
            }
            let transport = SocketTransport()
            for (path, delivery) in [
                ("/", .buffered(limit: 100)), ("/cut", .buffered(limit: 100)), ("/", .streamed), ("/cut", .streamed),
            ] as [(String, TransportRequest.Delivery)] {
                let request = TransportRequest(
                    urlRequest: URLRequest(url: server.baseURL.appendingPathComponent(path)), delivery: delivery,
                    connectTimeout: 600, idleTimeout: 600, tls: identity.clientSettings, httpVersions: versions)
                let result: Result<Data, any Error>
                do {
                    let response = try await transport.send(request)
                    result = .success(try await response.bytes?.collect(upTo: 100) ?? response.data)
                } catch {
                    result = .failure(error)
                }
                switch result {
                case .success(let data):
                    #expect(path == "/")
                    #expect(data == Data("all of it".utf8))
                case .failure(let error):
                    #expect(path == "/cut")
                    let error = PulseError(wrapping: error)
                    guard case .transport(.networkConnectionLost, _) = error else {
                        Issue.record("\(error)")
                        continue
                    }
                    #expect(error.phase == .responseStarted)
                }
            }
            await transport.shutdown()
        }
    }
}
#endif
