// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// A body that cannot be decoded: what the caller receives, and what the server sees.
@Suite(.tags(.threads), .throttled)
struct UndecodableWireTests {
    private struct Page: Endpoint {
        typealias Response = Data
        let path = "/page"
        let method = HTTPMethod.get
    }

    private static let eager = RetryPolicy(
        maxAttempts: 4, backoffStrategy: .immediate, retryableStatusCodes: Set(400..<600))

    private static func failure(_ response: MockServer.Response) async throws -> (PulseError, requests: Int) {
        try await ClientStage.run(retry: eager) { client, server in
            server.fallback { _ in response }
            let result = await client.result(of: Page())
            guard case .failure(let error) = result else { throw Check() }
            return (error, server.requests.count)
        }
    }

    private struct Check: Error {}

    @Test func anUndecodableSuccessIsRequestedOnceAndItsErrorHasTheStatus() async throws {
        let (error, requests) = try await Self.failure(
            .data(Data("no gzip".utf8), headers: ["Content-Encoding": "gzip", "X-A": "b"]))
        #expect(requests == 1)
        guard case .transport(.cannotDecodeContentData, _) = error else {
            Issue.record("\(error)")
            return
        }
        #if os(Linux)
        #expect(error.statusCode == 200)
        #expect(error.response?.headers["X-A"] == "b")
        #endif
    }

    #if os(Linux)
    @Test func anUnknownContentCodingDoesNotHideTheStatus() async throws {
        let (error, requests) = try await Self.failure(
            .data(Data("not here".utf8), status: 404, headers: ["Content-Encoding": "utf-8"]))
        #expect(requests == 4)
        guard case .http(let response) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(response.statusCode == 404)
        #expect(response.data == Data("not here".utf8))
        #expect(response.headers["Content-Encoding"] == "utf-8")
    }
    #endif
}
