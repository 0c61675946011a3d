// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct CredentialsPluginTests {
    private static func header(
        _ name: String, from plugin: CredentialsPlugin, _ request: URLRequest = .mock(),
        _ options: RequestOptions = RequestOptions()
    ) async throws -> String? {
        let context = PluginContext.mock(for: request, options: options)
        let response = try await plugin.run(request, in: context) { PulseResponse(statusCode: 200, request: $0) }
        return response.request.value(forHTTPHeaderField: name)
    }

    /// The example of RFC 7617, section 2, and the UTF-8 example of section 2.1.
    @Test func basicCredentialsMatchTheExamplesOfTheRFC() async throws {
        let basic = CredentialsPlugin(username: "Aladdin", password: "open sesame")
        #expect(try await Self.header("Authorization", from: basic) == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        let utf8 = CredentialsPlugin(username: "test", password: "123\u{A3}")
        #expect(try await Self.header("Authorization", from: utf8) == "Basic dGVzdDoxMjPCow==")
    }

    @Test func aColonInTheUserNameFailsEveryCall() async {
        let error = await #expect(throws: PulseError.self) {
            try await Self.header("Authorization", from: .basic(username: "a:b", password: "c"))
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func aBearerTokenIsSentAndNeverShown() async throws {
        #expect(try await Self.header("Authorization", from: .bearer("mF_9.B5f-4.1JqM")) == "Bearer mF_9.B5f-4.1JqM")
        let own = URLRequest.mock(headers: ["Authorization": "Bearer own"])
        #expect(try await Self.header("Authorization", from: .bearer("t"), own) == "Bearer own")
        #expect(!"\(CredentialsPlugin(bearer: "hunter2"))".contains("hunter2"))
    }

    @Test(arguments: ["", " ", "a b", "a\r\nb", "caf\u{E9}"])
    func aTextThatIsNoTokenFailsEveryCall(token: String) async {
        let error = await #expect(throws: PulseError.self) {
            try await Self.header("Authorization", from: .bearer(token))
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func anAPIKeyIsSentInItsHeader() async throws {
        #expect(try await Self.header("X-API-Key", from: .apiKey("k")) == "k")
        #expect(try await Self.header("X-Mine", from: .apiKey("k", header: "X-Mine")) == "k")
    }

    @Test(arguments: [CredentialsPlugin(apiKey: "a\r\nb"), CredentialsPlugin(apiKey: "k", header: "X Mine")])
    func credentialsThatAreNoHeaderFieldFailEveryCall(plugin: CredentialsPlugin) async {
        let error = await #expect(throws: PulseError.self) { try await Self.header("X-API-Key", from: plugin) }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func anonymousCallsAndCallsWithTheirOwnHeaderPassUnchanged() async throws {
        let anonymous = RequestOptions().with(\.auth, value: .anonymous)
        #expect(try await Self.header("X-API-Key", from: .apiKey("k"), .mock(), anonymous) == nil)
        let own = URLRequest.mock(headers: ["x-api-key": "own"])
        #expect(try await Self.header("X-API-Key", from: .apiKey("k"), own) == "own")
    }

    @Test func anAPIKeyInAnyHeaderIsSecretAndSentToHomeOriginsOnly() async throws {
        let transport = MockTransport { request in
            guard request.url?.host == "api.example.com" else {
                return PulseResponse(statusCode: 200, request: request)
            }
            return PulseResponse(
                statusCode: 302, headers: ["Location": "https://elsewhere.example/b"], request: request)
        }
        let seen = Locked<[Set<String>]>([])
        let client = ClientStage.client(
            .root, plugins: [.apiKey("k", header: "X-Mine"), MarkProbe(seen: seen)], retry: .default, over: transport)
        _ = try await client.rawRequest(Get(path: "/a"))
        #expect(transport.requests.map { $0.value(forHTTPHeaderField: "X-Mine") } == ["k", nil])
        #expect(seen.withLock { $0.first } == ["x-mine"])
        let required = RequestOptions().with(\.auth, value: .required)
        let error = await #expect(throws: PulseError.self) {
            try await client.rawRequest(Get(path: "https://elsewhere.example/b"), options: required)
        }
        #expect(error?.kind == .invalidRequest)
    }

    @Test func descriptionsHideTheCredentials() {
        var text = String(reflecting: CredentialsPlugin(apiKey: "t0p-s3cret"))
        dump(CredentialsPlugin(username: "u", password: "t0p-s3cret"), to: &text)
        #expect(!text.contains("t0p"))
    }
}

/// Records the headers marked as secret when a request is sent.
private struct MarkProbe: PulsePlugin {
    let identifier = "test.marks"
    let seen: Locked<[Set<String>]>

    func willSend(_ request: URLRequest, for context: PluginContext) async {
        seen.withLock { $0.append(context.call.markedSecrets) }
    }
}
