// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Traces of calls whose requests are sent separately from them, for them and others.
@Suite(.throttled)
struct SharedRequestTracesTests {
    enum Sharing: CaseIterable, Sendable {
        case none, cache, coalescing

        var plugins: [any PulsePlugin] {
            switch self {
            case .none: []
            case .cache: [CachePlugin(policy: .rfc9111)]
            case .coalescing: [CoalescingPlugin()]
            }
        }
    }

    /// Responds with a redirect, a failure and a success.
    private static func transport() -> MockTransport {
        let statuses = Locked([302, 503, 200][...])
        return MockTransport { request in
            let status = statuses.withLock { $0.popFirst() } ?? 200
            return PulseResponse(
                statusCode: status,
                headers: ["Location": "/new", "Cache-Control": "max-age=60", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"],
                data: Data("x".utf8), request: request)
        }
    }

    private static func client(_ sharing: Sharing, _ transport: MockTransport, _ bus: PulseEventBus) -> PulseClient {
        ClientStage.client(
            .root, plugins: sharing.plugins + [TracingPlugin()], retry: .immediate(2),
            clock: TestClock(autoAdvances: true), over: transport, events: bus)
    }

    @Test(arguments: Sharing.allCases)
    func aTraceHasTheSpansThatWereSentToTheServer(sharing: Sharing) async throws {
        let (bus, buffer, transport) = (PulseEventBus(), CallTracer.Buffer(), Self.transport())
        bus.addSink(CallTracer(output: buffer))
        let client = Self.client(sharing, transport, bus)
        let parent = try #require(
            TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
        _ = try await TraceContext.$current.withValue(parent) {
            try await client.request(Request<String>(.get, "/old"))
        }
        await client.shutdown()
        let trace = try #require(buffer.takeAll().first)
        let sent = transport.requests.compactMap {
            $0.value(forHTTPHeaderField: "traceparent").flatMap { TraceContext(traceparent: $0) }
        }
        #expect(sent.count == 3 && sent.allSatisfy { $0.traceID == parent.traceID })
        #expect(trace.traceID == parent.traceID && trace.parentSpanID == parent.spanID)
        #expect(trace.attempts.map(\.spanID) == sent.map(\.spanID))
        #expect(trace.attempts.map(\.statusCode) == [302, 503, 200])
        #expect(trace.marks.map(\.kind).contains(.requestRetrying))
    }

    @Test(arguments: Sharing.allCases)
    func allRequestsOfACallShareItsTrace(sharing: Sharing) async throws {
        let (bus, buffer, transport) = (PulseEventBus(), CallTracer.Buffer(), Self.transport())
        bus.addSink(CallTracer(output: buffer))
        let client = Self.client(sharing, transport, bus)
        _ = try await client.request(Request<String>(.get, "/old"))
        await client.shutdown()
        let sent = transport.requests.compactMap {
            $0.value(forHTTPHeaderField: "traceparent").flatMap { TraceContext(traceparent: $0)?.traceID }
        }
        #expect(sent.count == 3 && Set(sent) == Set(buffer.takeAll().map(\.traceID)))
    }

    @Test(arguments: Sharing.allCases)
    func aCallFilterMatchesTheEventsOfItsRequests(sharing: Sharing) async throws {
        let bus = PulseEventBus()
        let starts = bus.subscribe(matching: .kinds(.requestStarted))
        let all = bus.subscribe()
        let client = Self.client(sharing, Self.transport(), bus)
        _ = try await client.request(Request<String>(.get, "/old"))
        await client.shutdown()
        starts.cancel()
        all.cancel()
        var id: UUID?
        for await event in starts { id = event.call?.id }
        let filter = PulseEventBus.Filter.call(try #require(id))
        var kinds: [NetworkEvent.Kind] = []
        for await event in all where filter.matches(event) { kinds.append(event.kind) }
        #expect(kinds.filter { $0 == .attemptStarted }.count == 3)
    }
}
