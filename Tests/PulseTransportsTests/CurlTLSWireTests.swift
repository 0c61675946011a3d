// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// HTTP/1.1 over TLS through libcurl and the system's libssl.
@Suite(.tags(.threads), .throttled, .timeLimit(.minutes(15)))
struct CurlTLSWireTests {
    static let conformance = TransportConformance.curlTransportOverTLS

    @Test(.serialized, arguments: conformance.cases)
    func curlOverTLSPasses(_ promise: TransportConformance.Case) async throws {
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
            // The HTTP/1.1 engine, if nothing newer is allowed.
            let transport = HTTP1Transport(over: CurlTransport(64, library: .system))
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
