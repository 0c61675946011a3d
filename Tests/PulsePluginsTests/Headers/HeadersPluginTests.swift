// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct HeadersPluginTests {
    private static func headers(of plugin: HeadersPlugin, request: URLRequest = .mock()) async throws -> URLRequest {
        try await plugin.run(request) { PulseResponse(statusCode: 200, request: $0) }.request
    }

    @Test func theFieldsReplaceThoseOfTheRequest() async throws {
        let plugin = HeadersPlugin(["X-A": "plugin", "x-b": "plugin"])
        let request = URLRequest.mock(headers: ["X-B": "endpoint", "X-C": "endpoint"])
        let sent = try await Self.headers(of: plugin, request: request)
        #expect(sent.value(forHTTPHeaderField: "X-A") == "plugin")
        #expect(sent.value(forHTTPHeaderField: "X-B") == "plugin")
        #expect(sent.value(forHTTPHeaderField: "X-C") == "endpoint")
    }

    @Test func repeatedFieldsAreJoined() async throws {
        let sent = try await Self.headers(of: HeadersPlugin(["X-A": "1", "x-a": "2"] as HTTPHeaders))
        #expect(sent.value(forHTTPHeaderField: "X-A") == "1, 2")
    }

    @Test func theClosureRunsForEachCallAndItsErrorFailsTheCall() async throws {
        let count = Locked(0)
        let plugin = HeadersPlugin { context in
            count.withLock { $0 += 1 }
            guard context.route != "fails" else { throw CancellationError() }
            return ["X-Route": context.route]
        }
        #expect(plugin.scope == .call)
        let sent = try await Self.headers(of: plugin)
        #expect(sent.value(forHTTPHeaderField: "X-Route") != nil)
        let failing = PluginContext.mock(options: .init().with(\.route, value: "fails"))
        let error = await #expect(throws: PulseError.self) {
            try await plugin.run(in: failing) { PulseResponse(statusCode: 200, request: $0) }
        }
        #expect(error?.kind == .cancelled)
        #expect(count.withLock { $0 } == 2)
    }

    /// Foundation on Linux would drop an invalid field silently.
    @Test(arguments: ["a\nX-B: c", "a\rb", "a\0b"])
    func anInvalidFieldValueFailsTheCallUnsent(value: String) async throws {
        for plugin in [HeadersPlugin(["X-A": value]), HeadersPlugin { _ in ["X-A": value] }] {
            let transport = MockTransport { PulseResponse(statusCode: 200, request: $0) }
            let client = ClientStage.client(.root, plugins: [plugin], retry: .default, over: transport)
            let result = await client.result(of: Get(path: "/a"))
            guard case .failure(.invalidRequest(let reason)) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(reason.contains("X-A"))
            #expect(transport.requests.isEmpty)
        }
    }

    @Test func descriptionsHideTheFieldValues() {
        let plugin = HeadersPlugin(["X-API-Key": "hunter2", "X-A": "hunter2"])
        #expect("\(plugin)" == "HeadersPlugin(X-A, X-API-Key)")
        var text = String(reflecting: [plugin])
        dump([plugin], to: &text)
        #expect(!text.contains("hunter2"))
    }

    @Test func onlyAClosureAsksTheApp() {
        #expect(!HeadersPlugin(["X-A": "1"]).asksTheAppForFields)
        #expect(HeadersPlugin { _ in ["X-A": "1"] }.asksTheAppForFields)
    }
}
