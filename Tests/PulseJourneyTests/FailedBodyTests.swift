// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// A status decides although its body failed: the body was lost, is too large, or is not coded as its header fields say.
@Suite(.tags(.threads), .throttled)
struct FailedBodyTests {
    enum Fault: CaseIterable, Sendable {
        case lost, undecodable, announcedTooLarge, tooLarge

        func response(_ status: Int, _ headers: HTTPHeaders = [:]) -> MockServer.Response {
            switch self {
            case .lost:
                .data(Data(count: 100), status: status, headers: headers).truncated(after: 40)
            case .undecodable:
                .data(Data("no gzip".utf8), status: status, headers: headers).header("Content-Encoding", "gzip")
            case .announcedTooLarge:
                .data(Data(count: FailedBodyTests.limit + 1), status: status, headers: headers)
            case .tooLarge:
                .data(Data(count: FailedBodyTests.limit + 1), status: status, headers: headers).framed(
                    .chunked(sizes: [99]))
            }
        }

        var kind: PulseError.Kind {
            switch self {
            case .lost, .undecodable: .transport
            case .announcedTooLarge, .tooLarge: .responseTooLarge
            }
        }
    }

    private static let limit = 1000

    /// The last of the responses serves all further requests.
    private static func serve<Value: Sendable>(
        _ responses: MockServer.Response..., plugins: [any PulsePlugin] = [], retry: RetryPolicy = .never,
        _ body: @Sendable (PulseClient, MockServer) async throws -> Value
    ) async throws -> Value {
        try await ClientStage.run(
            plugins: plugins, retry: retry, clock: TestClock(autoAdvances: true),
            with: {
                $0.cookieStore = MemoryCookieStore()
                $0.maxBufferedBodySize = limit
                $0.connectivity = .manual()
            }
        ) { client, server in
            let rest = Locked(responses[...])
            server.fallback { _ in rest.withLock { $0.count > 1 ? $0.popFirst() : $0.first } ?? .status(500) }
            return try await body(client, server)
        }
    }

    private static let good = MockServer.Response.text("good")

    private static func text(_ client: PulseClient) async throws -> String {
        String(decoding: try await client.get("/a", as: Data.self), as: UTF8.self)
    }

    private static func expect(_ expected: String, _ client: PulseClient) async throws {
        #expect(try await text(client) == expected)
    }

    @Test(arguments: Fault.allCases, [301, 302, 303, 307, 308])
    func aRedirectIsFollowed(_ fault: Fault, status: Int) async throws {
        try await Self.serve(fault.response(status, ["Location": "/b"]), Self.good) { client, server in
            try await Self.expect("good", client)
            #expect(server.requests.map(\.path) == ["/a", "/b"])
        }
    }

    @Test(arguments: Fault.allCases)
    func aTokenIsRefreshed(_ fault: Fault) async throws {
        let plugin = AuthPlugin(tokenProvider: Tokens())
        try await Self.serve(fault.response(401), Self.good, plugins: [plugin]) { client, server in
            try await Self.expect("good", client)
            #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer old", "Bearer new"])
        }
    }

    @Test(arguments: Fault.allCases)
    func aDigestIsSent(_ fault: Fault) async throws {
        let challenge: HTTPHeaders = ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#]
        let plugin = DigestPlugin(username: "ada", password: "secret")
        try await Self.serve(fault.response(401, challenge), Self.good, plugins: [plugin]) { client, server in
            try await Self.expect("good", client)
            #expect(server.requests.last?.headers["Authorization"]?.hasPrefix("Digest ") == true)
        }
    }

    @Test(arguments: Fault.allCases, [429, 503])
    func theRequestIsRetriedAfterTheTimeThatTheServerAsksFor(_ fault: Fault, status: Int) async throws {
        let refusal = fault.response(status, ["Retry-After": "7"])
        try await Self.serve(refusal, Self.good, retry: .default) { client, server in
            try await Self.expect("good", client)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: Fault.allCases, [200, 404])
    func aCookieIsStored(_ fault: Fault, status: Int) async throws {
        try await Self.serve(fault.response(status, ["Set-Cookie": "a=b"]), Self.good) { client, server in
            await #expect(throws: PulseError.self) { try await Self.text(client) }
            try await Self.expect("good", client)
            #expect(server.requests.last?.headers["Cookie"] == "a=b")
        }
    }

    @Test(arguments: Fault.allCases)
    func theCircuitBreakerCountsTheStatus(_ fault: Fault) async throws {
        let breaker = CircuitBreakerPlugin(failureThreshold: 2)
        try await Self.serve(fault.response(503), plugins: [breaker]) { client, server in
            for expected in [PulseError.Kind.http, .http, .circuitOpen] {
                let error = await #expect(throws: PulseError.self) { try await Self.text(client) }
                #expect(error?.kind == expected)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: Fault.allCases)
    func aStaleResponseStandsIn(_ fault: Fault) async throws {
        let stored = MockServer.Response.text("stored", headers: ["Cache-Control": "max-age=0, stale-if-error=999"])
        try await Self.serve(stored, fault.response(503), plugins: [CachePlugin(policy: .rfc9111)]) { client, server in
            for _ in 0..<2 { try await Self.expect("stored", client) }
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: Fault.allCases)
    func anEventStreamConnectsAgain(_ fault: Fault) async throws {
        let events = MockServer.Response.text("data: x\n\n", headers: ["Content-Type": "text/event-stream"])
        try await Self.serve(events, fault.response(503), events, .status(204)) { client, _ in
            var received: [String] = []
            for try await event in client.serverSentEvents("/a") { received.append(event.data) }
            #expect(received == ["x", "x"])
        }
    }

    @Test(arguments: Fault.allCases, [404, 500])
    func theErrorHasTheStatusAndTellsOfItsBody(_ fault: Fault, status: Int) async throws {
        try await Self.serve(fault.response(status, ["X-A": "b"])) { client, _ in
            let error = await #expect(throws: PulseError.self) { try await Self.text(client) }
            #expect(error?.statusCode == status)
            let response = try #require(error?.response)
            #expect(response.headers["X-A"] == "b")
            #expect(response.data.isEmpty)
            guard case .failed(let cause) = response.body else {
                Issue.record("the body is \(response.body)")
                return
            }
            #expect(cause.kind == fault.kind)
            let decoding = #expect(throws: PulseError.self) { try response.decode(String.self) }
            #expect(decoding?.kind == fault.kind)
        }
    }

    /// Its header fields may be those of an attacker.
    @Test(arguments: [302, 503])
    func aResponseWithAnAmbiguousEndIsDiscarded(status: Int) async throws {
        let ambiguous = MockServer.Response.text(
            "abc", status: status, headers: ["Location": "/b", "Set-Cookie": "a=b"]
        )
        .framed(.conflictingLengths(3, 5))
        try await Self.serve(ambiguous, Self.good) { client, server in
            let error = await #expect(throws: PulseError.self) { try await Self.text(client) }
            #expect(error?.kind == .transport && error?.statusCode == nil)
            try await Self.expect("good", client)
            #expect(server.requests.map(\.path) == ["/a", "/a"])
            #expect(server.requests.last?.headers["Cookie"] == nil)
        }
    }

    /// A call that accepts the status wants the body.
    @Test(arguments: Fault.allCases, [200, 302, 401, 503])
    func anAcceptedStatusFailsWithItsBody(_ fault: Fault, status: Int) async throws {
        try await Self.serve(fault.response(status)) { client, server in
            let options = RequestOptions().with(\.acceptedStatuses, value: .any)
            let error = await #expect(throws: PulseError.self) {
                try await client.get("/a", as: Data.self, options: options)
            }
            #expect(error?.kind == fault.kind)
            #expect(server.requests.count == 1)
        }
    }

    private final class Tokens: TokenProvider {
        private let token = Locked("old")

        func accessToken() async -> String? { token.withLock { $0 } }

        func refreshToken() async throws -> String {
            token.withLock { token in
                token = "new"
                return token
            }
        }

        func handleAuthenticationFailure() async {}
    }
}
