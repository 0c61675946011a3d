// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct TracingPluginTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static func client(
        _ transport: MockTransport, _ plugins: [any PulsePlugin] = [.tracing()]
    ) -> PulseClient {
        ClientStage.client(
            .root.with(\.randomness, value: SeededRandomness(seed: 3)), plugins: plugins, retry: .immediate(),
            over: transport)
    }

    private static func spans(_ transport: MockTransport) -> [TraceContext?] {
        transport.requests.map { request in
            request.value(forHTTPHeaderField: "traceparent").flatMap { TraceContext(traceparent: $0) }
        }
    }

    @Test func everyAttemptHasANewSpanAndEveryCallOneTrace() async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(503), .status(503), .status(204))])
        let client = Self.client(transport)
        _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        let spans = Self.spans(transport).compactMap { $0 }
        #expect(spans.count == 4)
        #expect(Set(spans.map(\.spanID)).count == 4)
        #expect(Set(spans[0...2].map(\.traceID)).count == 1)
        #expect(spans[3].traceID != spans[0].traceID)
        #expect(spans.allSatisfy { $0.isSampled })
        await client.shutdown()
    }

    @Test func aRedirectHopHasTheSameTrace() async throws {
        let transport = MockTransport(stubs: [
            Stub(.get, "/old").reply(.status(302, headers: ["Location": "/new"])),
            Stub(.get, "/new").reply(.status(204)),
        ])
        let client = Self.client(transport)
        _ = try await client.request(Request<EmptyResponse>(.get, "/old"))
        let spans = Self.spans(transport).compactMap { $0 }
        #expect(Set(spans.map(\.traceID)).count == 1 && Set(spans.map(\.spanID)).count == 2)
        await client.shutdown()
    }

    @Test func aCallContinuesATaskLocalParent() async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(503), .status(204))])
        let client = Self.client(transport, [.tracing(isSampled: false)])
        let parent = try #require(TraceContext(traceparent: Self.parent, tracestate: "rojo=1"))
        try await TraceContext.$current.withValue(parent) {
            _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        }
        let spans = Self.spans(transport).compactMap { $0 }
        #expect(spans.count == 2)
        for span in spans {
            #expect(span.traceID == parent.traceID)
            #expect(span.spanID != parent.spanID)
            #expect(span.isSampled)
        }
        #expect(transport.requests.allSatisfy { $0.value(forHTTPHeaderField: "tracestate") == "rojo=1" })
        _ = try await client.request(Request<EmptyResponse>(.get, "/"))
        #expect(Self.spans(transport).last??.isSampled == false)
        await client.shutdown()
    }

    @Test func anInvalidTaskLocalParentIsIgnored() async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(204))])
        let client = Self.client(transport)
        let zeros = TraceContext(traceparent: "00-00000000000000000000000000000000-00f067aa0ba902b7-01")
        try await TraceContext.$current.withValue(zeros) {
            _ = try await client.request(
                Request<EmptyResponse>(.get, "/").header("traceparent", "nonsense").header("tracestate", "own=1"))
        }
        let span = try #require(Self.spans(transport).first ?? nil)
        #expect(span.traceID != "00000000000000000000000000000000")
        #expect(transport.requests.first?.value(forHTTPHeaderField: "tracestate") == nil)
        await client.shutdown()
    }

    @Test(arguments: [
        ("/", true), ("https://API.example.com:443/", true), ("https://partner.example/", true),
        ("https://PARTNER.example:8443/", true), ("https://sub.partner.example/", false),
        ("https://other.example/", false),
        ("http://api.example.com/", false),
    ])
    func traceHeadersAreSentToHomeOriginsAndListedHosts(_ target: String, _ isTraced: Bool) async throws {
        let transport = MockTransport(stubs: [Stub().reply(.status(204))])
        let client = Self.client(transport, [.tracing(hosts: ["Partner.Example"])])
        _ = try await client.request(Request<EmptyResponse>(.get, PathTemplate(target)))
        #expect((transport.requests[0].value(forHTTPHeaderField: "traceparent") != nil) == isTraced)
        await client.shutdown()
    }

    @Test func aRedirectToAForeignOriginHasNoTraceHeaders() async throws {
        let transport = MockTransport(stubs: [
            Stub(.get, "/old").reply(.status(302, headers: ["Location": "https://other.example/new"])),
            Stub(.get, "https://other.example/new").reply(.status(204)),
        ])
        let client = Self.client(transport)
        _ = try await client.request(Request<EmptyResponse>(.get, "/old"))
        #expect(Self.spans(transport).map { $0 != nil } == [true, false])
        await client.shutdown()
    }

    @Test func theEventsOfACallHaveItsTraceID() async throws {
        let context = PluginContext.mock()
        #expect(context.summary.traceID == nil)
        let response = try await TracingPlugin().run(in: context) { PulseResponse(statusCode: 200, request: $0) }
        let sent = try #require(response.request.value(forHTTPHeaderField: "traceparent"))
        #expect(context.summary.traceID == TraceContext(traceparent: sent)?.traceID)
    }

    @Test func aConcurrentCopyHasTheSameTrace() async throws {
        let sent = Locked<[String]>([])
        let randomness = InterruptingRandomness()
        let chain = PluginChain.mock([.tracing()], context: .mock(randomness: randomness)) { request in
            sent.withLock { $0.append(request.value(forHTTPHeaderField: "traceparent") ?? "") }
            return PulseResponse(statusCode: 200, request: request)
        }
        let copy = Locked<Task<PulseResponse, any Error>?>(nil)
        randomness.interruption.withLock {
            $0 = {
                let task = Task.startingNow { try await chain(.mock()) }
                copy.withLock { $0 = task }
            }
        }
        _ = try await chain(.mock())
        _ = try await copy.withLock { $0 }?.value
        let spans = sent.withLock { $0 }.compactMap { TraceContext(traceparent: $0) }
        #expect(spans.count == 2)
        #expect(Set(spans.map(\.traceID)).count == 1 && Set(spans.map(\.spanID)).count == 2)
    }

    /// Runs a closure before it returns its first number.
    private final class InterruptingRandomness: Randomness {
        let interruption = Locked<(@Sendable () -> Void)?>(nil)

        func next() -> UInt64 {
            let interruption = interruption.withLock { interruption in
                defer { interruption = nil }
                return interruption
            }
            interruption?()
            return SystemRandomness().next()
        }
    }

    @Test func aDetachedCallHasTheTraceOfItsOriginalCall() async throws {
        let sent = Locked<[URLRequest]>([])
        let pipeline = PluginChain.mock([DetachingPlugin(), .tracing()]) { request in
            sent.withLock { $0.append(request) }
            return PulseResponse(statusCode: 200, request: request)
        }
        _ = try await pipeline(.mock())
        let spans = sent.withLock { $0 }.compactMap {
            $0.value(forHTTPHeaderField: "traceparent").flatMap { TraceContext(traceparent: $0) }
        }
        #expect(spans.count == 2)
        #expect(Set(spans.map(\.traceID)).count == 1 && Set(spans.map(\.spanID)).count == 2)
    }

    /// Sends the request for its call, and once more detached from it.
    private struct DetachingPlugin: PulsePlugin {
        let identifier = "com.example.detaching"

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            let response = try await next(request)
            _ = try await next.detached()(request)
            return response
        }
    }
}
