// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// What the errors of a later hop say about the redirects before it.
@Suite(.tags(.threads), .throttled)
struct RedirectErrorWireTests {
    private static let start = Request<Data>(.get, "/start")

    /// The part that creates an error from the last response.
    enum Maker: Sendable, CaseIterable {
        case loop, validator, client
    }

    @Test(arguments: Maker.allCases)
    func theResponseInAnErrorListsItsRedirects(maker: Maker) async throws {
        var policy = RetryPolicy.immediate(2)
        policy.reportsExhaustion = maker == .loop
        let validator = Validator { _, response, _ in .fail(PulseError.http(response)) }
        let plugins: [any PulsePlugin] = maker == .validator ? [.validator(validator)] : []
        try await ClientStage.run(plugins: plugins, retry: policy) { client, server in
            server.on(.get, "/start") { _ in .status(302, headers: ["Location": "/middle"]) }
            server.on(.get, "/middle") { _ in .status(307, headers: ["Location": "/end"]) }
            server.on(.get, "/end") { _ in .status(503) }
            let error = await #expect(throws: PulseError.self) { try await client.request(Self.start) }
            let kind: PulseError.Kind = maker == .loop ? .retryExhausted : .http
            #expect(error?.kind == kind)
            #expect(error?.response?.redirects.map(\.statusCode) == [302, 307])
            #expect(error?.response?.redirects.map(\.url.path) == ["/middle", "/end"])
        }
    }

    @Test func theFailureThatADeadlineNamesListsItsRedirects() async throws {
        let clock = TestClock()
        try await ClientStage.run(retry: .immediate(2), clock: clock) { client, server in
            server.on(.get, "/start") { _ in .status(302, headers: ["Location": "/end"]) }
            server.on(.get, "/end", script: [.status(503), .raw([.stall])])
            let options = RequestOptions().with(\.deadline, value: 5)
            let call = Task { await client.result(of: Self.start, options: options) }
            try await server.requests(atLeast: 3)
            await clock.sleepers(atLeast: 1, for: .deadline)
            await clock.advance(by: 5)
            guard case .failure(.deadlineExceeded(let last)) = await call.value else {
                Issue.record("the deadline did not expire")
                return
            }
            #expect(last?.statusCode == 503)
            #expect(last?.response?.redirects.map(\.statusCode) == [302])
        }
    }

    @Test func theResponseToAnotherRequestListsNoRedirectsOfTheHop() async throws {
        try await MockServer.run { server in
            server.on(.get, "/start") { _ in .status(302, headers: ["Location": "/end"]) }
            server.on(.get, "/end") { _ in .text("bad") }
            server.on(.get, "/login") { _ in .status(403) }
            let recovery = Validator.Recovery.request(URLRequest(url: server.baseURL.appendingPathComponent("login")))
            let validator = Validator { _, _, _ in .recover(recovery, otherwise: PulseError.emptyBody) }
            let client = ClientStage.client(of: server, plugins: [.validator(validator)])
            let error = await #expect(throws: PulseError.self) { try await client.request(Self.start) }
            #expect(error?.statusCode == 403)
            #expect(error?.response?.redirects == [])
            await client.shutdown()
        }
    }
}
