// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct IdempotencyPluginTests {
    private static func client(
        _ transport: MockTransport, _ plugins: [any PulsePlugin] = [.idempotency()]
    ) -> PulseClient {
        ClientStage.client(.root, plugins: plugins, retry: .immediate(), over: transport)
    }

    private static func keys(_ transport: MockTransport) -> [String?] {
        transport.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") }
    }

    @Test(arguments: [
        (HTTPMethod.get, false), (.head, false), (.options, false), (.query, false),
        (.post, true), (.put, true), (.patch, true), (.delete, true),
    ])
    func everyUnsafeCallGetsAKey(_ method: HTTPMethod, _ hasKey: Bool) async throws {
        let context = PluginContext.mock(for: .mock(method), randomness: SeededRandomness(seed: 1))
        let response = try await IdempotencyPlugin().run(.mock(method), in: context) {
            PulseResponse(statusCode: 200, request: $0)
        }
        let key = response.request.value(forHTTPHeaderField: "Idempotency-Key")
        #expect(key == context.idempotencyKey)
        #expect((key.flatMap(UUID.init(uuidString:)) != nil) == hasKey)
    }

    @Test func everyAttemptHasTheSameKeyAndAPOSTIsRetried() async throws {
        let transport = MockTransport(stubs: [Stub(.post, "/").reply(.status(503), .status(503), .status(204))])
        let client = Self.client(transport)
        _ = try await client.request(Request<EmptyResponse>(.post, "/"))
        _ = try await client.request(Request<EmptyResponse>(.post, "/"))
        let keys = Self.keys(transport)
        #expect(keys.count == 4)
        #expect(keys[0] != nil && Set(keys[0...2]).count == 1)
        #expect(keys[3] != nil && keys[3] != keys[0])
        await client.shutdown()
    }

    @Test func anExistingKeyIsKept() async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(204))])
        let client = Self.client(transport, [.headers(["idempotency-key": "plugin"]), .idempotency()])
        _ = try await client.request(Request<EmptyResponse>(.post, "/").option(\.idempotencyKey, .value("option")))
        let own = Self.client(transport)
        _ = try await own.request(Request<EmptyResponse>(.post, "/").option(\.idempotencyKey, .value("option")))
        _ = try await own.request(Request<EmptyResponse>(.post, "/").header("Idempotency-Key", "endpoint"))
        #expect(Self.keys(transport) == ["plugin", "option", "endpoint"])
        await client.shutdown()
        await own.shutdown()
    }

    @Test func aKeySetByAnotherPluginIsRecordedInTheCall() async throws {
        let request = URLRequest.mock(.post, headers: ["Idempotency-Key": "written"])
        let context = PluginContext.mock(for: .mock(.post))
        _ = try await IdempotencyPlugin().run(request, in: context) { PulseResponse(statusCode: 200, request: $0) }
        #expect(context.idempotencyKey == "written")
    }

    @Test func aKeyOfTheContextIsAddedToTheRequest() async throws {
        let context = PluginContext.mock(for: .mock(.post))
        context.idempotencyKey = "given"
        let response = try await IdempotencyPlugin().run(.mock(.post), in: context) {
            PulseResponse(statusCode: 200, request: $0)
        }
        #expect(response.request.value(forHTTPHeaderField: "Idempotency-Key") == "given")
    }

    @Test(arguments: [(307, true), (308, true), (301, false), (302, false), (303, false)])
    func aRedirectKeepsTheKeyUnlessItTurnsTheCallIntoAGET(_ status: Int, _ retainsKey: Bool) async throws {
        let transport = MockTransport(stubs: [
            Stub(nil, "/old").reply(.status(status, headers: ["Location": "/new"])),
            Stub(nil, "/new").reply(.status(204)),
        ])
        let client = Self.client(transport)
        _ = try await client.request(Request<EmptyResponse>(.post, "/old"))
        let keys = Self.keys(transport)
        #expect(keys.count == 2)
        #expect(keys[0] != nil)
        #expect(keys[1] == (retainsKey ? keys[0] : nil))
        #expect(transport.requests[1].httpMethod == (retainsKey ? "POST" : "GET"))
        await client.shutdown()
    }
}
