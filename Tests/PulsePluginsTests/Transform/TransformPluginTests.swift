// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct TransformPluginTests {
    private static func client(
        _ plugin: TransformPlugin, _ respond: @escaping @Sendable (URLRequest) async throws -> PulseResponse
    ) -> PulseClient {
        ClientStage.client(.root, plugins: [plugin], retry: .immediate(), respond)
    }

    /// Appends a letter to each body.
    private static func marking(everyAttempt: Bool = false, _ count: Locked<Int> = Locked(0)) -> TransformPlugin {
        .transform(everyAttempt: everyAttempt) { response, _ in
            count.withLock { $0 += 1 }
            var response = response
            response.data += Data("!".utf8)
            return response
        }
    }

    @Test func theCallGetsTheTransformedResponse() async throws {
        let client = Self.client(Self.marking()) { PulseResponse(statusCode: 200, data: Data("a".utf8), request: $0) }
        #expect(try await client.get("/a") as String == "a!")
        await client.shutdown()
    }

    @Test func aResponseOfAnyStatusIsTransformed() async throws {
        let plugin = TransformPlugin { response, context in
            #expect(context.endpointPath == "/a")
            return PulseResponse(statusCode: 200, data: Data("none".utf8), request: response.request)
        }
        let client = Self.client(plugin) { PulseResponse(statusCode: 404, request: $0) }
        #expect(try await client.get("/a") as String == "none")
        await client.shutdown()
    }

    @Test func aFollowedRedirectPassesUnchanged() async throws {
        let count = Locked(0)
        let client = Self.client(Self.marking(count)) { request in
            request.url?.path == "/to"
                ? PulseResponse(statusCode: 200, data: Data("a".utf8), request: request)
                : PulseResponse(statusCode: 302, headers: ["Location": "/to"], request: request)
        }
        #expect(try await client.get("/from") as String == "a!")
        #expect(count.withLock { $0 } == 1)
        await client.shutdown()
    }

    @Test func aFailurePassesUnchanged() async throws {
        let count = Locked(0)
        let client = Self.client(Self.marking(count)) { _ in throw PulseError.noConnection }
        #expect(await client.result(of: Request<String>(.post, "/a")).failureKind == .noConnection)
        #expect(count.withLock { $0 } == 0)
        await client.shutdown()
    }

    @Test func theTransformRunsPerCallOrPerAttempt() async throws {
        for (everyAttempt, expected) in [(false, 1), (true, 3)] {
            let count = Locked(0)
            let client = Self.client(Self.marking(everyAttempt: everyAttempt, count)) {
                PulseResponse(statusCode: 503, request: $0)
            }
            _ = await client.result(of: Request<String>(.get, "/a"))
            #expect(count.withLock { $0 } == expected)
            await client.shutdown()
        }
    }

    @Test func anErrorOfTheTransformFailsTheCall() async throws {
        struct Envelope: Error {}
        let client = Self.client(.transform { _, _ in throw Envelope() }) {
            PulseResponse(statusCode: 200, request: $0)
        }
        #expect(await client.result(of: Request<String>(.get, "/a")).failureKind == .custom)
        await client.shutdown()
    }

    @Test func aDroppedStreamIsCancelled() async throws {
        let stream = ByteStream([Data("a".utf8)])
        let plugin = TransformPlugin { response, _ in PulseResponse(statusCode: 200, request: response.request) }
        _ = try await plugin.run { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(stream)
            return response
        }
        let end = Locked<PulseError.Kind?>(nil)
        stream.onEnd { error in end.withLock { $0 = error?.kind } }
        #expect(end.withLock { $0 } == .cancelled)
    }
}

extension Result where Failure == PulseError {
    fileprivate var failureKind: PulseError.Kind? {
        if case .failure(let error) = self { error.kind } else { nil }
    }
}
