// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Which calls carry which token.
@Suite(.throttled)
struct AuthPluginTests {
    @Test func thePluginHasCallScopeAndItsIdentifier() {
        let plugin = AuthPlugin { nil }
        #expect(plugin.identifier == "com.pulse.auth")
        #expect(plugin.scope == .call)
    }

    @Test func everyCallCarriesTheCurrentToken() async throws {
        let stage = AuthStage(FakeSession("t2"))
        try await stage.get()
        stage.session.set(\.token, "t3")
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t2", "Bearer t3"])
    }

    @Test(arguments: [nil, ""])
    func withoutATokenThereIsNoHeaderAndA401IsTheOutcome(token: String?) async throws {
        let stage = AuthStage(FakeSession(token))
        #expect(await stage.failure()?.kind == .unauthorized)
        #expect(stage.sentTokens == [""])
        #expect(stage.session.refreshes == 0)
    }

    @Test func aMissingRequiredTokenFailsTheCallUnsent() async {
        let stage = AuthStage(FakeSession(nil))
        #expect(await stage.failure(auth: .required)?.kind == .unauthorized)
        #expect(stage.transport.requests.isEmpty)
    }

    @Test func anAnonymousCallPassesUnchanged() async {
        let stage = AuthStage(FakeSession("t2"))
        #expect(await stage.failure(auth: .anonymous)?.kind == .unauthorized)
        #expect(stage.sentTokens == [""])
        #expect(stage.session.refreshes == 0)
    }

    @Test func aCallWithItsOwnAuthorizationPassesUnchanged() async throws {
        let stage = AuthStage()
        let options = RequestOptions().with(\.headers, value: ["authorization": "Basic abc"])
        let error = await #expect(throws: PulseError.self) {
            try await stage.client.rawRequest(Get(path: "/a"), options: options)
        }
        #expect(error?.kind == .unauthorized)
        #expect(stage.sentTokens == ["Basic abc"])
        #expect(stage.session.refreshes == 0)
    }

    @Test func tokensFromAClosureAreNeverRefreshed() async throws {
        let plugin = AuthPlugin { "t1" }
        let response = try await plugin.run { PulseResponse(statusCode: 401, request: $0) }
        #expect(response.statusCode == 401)
        #expect(response.request.value(forHTTPHeaderField: "Authorization") == "Bearer t1")
    }

    @Test func theSchemeIsConfigurable() async throws {
        let plugin = AuthPlugin(scheme: "Token") { "t1" }
        let response = try await plugin.run { PulseResponse(statusCode: 200, request: $0) }
        #expect(response.request.value(forHTTPHeaderField: "Authorization") == "Token t1")
    }

    @Test func aTokenWithALineBreakFailsTheCallUnsent() async {
        let stage = AuthStage(FakeSession("t2\r\nX-Evil: 1"))
        #expect(await stage.failure()?.kind == .invalidRequest)
        #expect(stage.transport.requests.isEmpty)
    }

    // MARK: Home origins

    @Test func theTokenIsSentToHomeOriginsOnly() async throws {
        let stage = AuthStage(responding: { PulseResponse(statusCode: 200, request: $0) })
        try await stage.get("https://elsewhere.example/a")
        #expect(stage.sentTokens == [""])
    }

    @Test func aRequiredTokenForAForeignOriginIsAnInvalidRequest() async {
        let stage = AuthStage()
        #expect(await stage.failure("https://elsewhere.example/a", auth: .required)?.kind == .invalidRequest)
        #expect(stage.transport.requests.isEmpty)
    }

    @Test func a401FromAForeignOriginDoesNotRefresh() async {
        let stage = AuthStage()
        #expect(await stage.failure("https://elsewhere.example/a")?.kind == .unauthorized)
        #expect(stage.session.refreshes == 0)
    }

    @Test func aRedirectHopToAnotherOriginGetsNoToken() async throws {
        let stage = AuthStage(responding: { request in
            guard request.url?.host == "api.example.com" else {
                return PulseResponse(statusCode: 200, request: request)
            }
            return PulseResponse(
                statusCode: 302, headers: ["Location": "https://elsewhere.example/b"], request: request)
        })
        try await stage.get()
        #expect(stage.sentTokens == ["Bearer t1", ""])
    }

    @Test func aClientWithoutHomeOriginsSendsNoTokenAndWarnsOnce() async throws {
        let stage = AuthStage(base: nil, responding: { PulseResponse(statusCode: 200, request: $0) })
        try await stage.get("https://api.example.com/a")
        try await stage.get("https://api.example.com/a")
        #expect(stage.sentTokens == ["", ""])
        #expect(stage.events.all == ["warning"])
    }

    // MARK: Descriptions

    @Test func descriptionsHideTheToken() {
        let plugin = AuthPlugin(tokenProvider: FakeSession("t0p-s3cret"))
        for text in [String(describing: plugin), String(reflecting: plugin)] {
            #expect(!text.contains("t0p"))
        }
        var dumped = ""
        dump(plugin, to: &dumped)
        #expect(!dumped.contains("t0p"))
    }
}
