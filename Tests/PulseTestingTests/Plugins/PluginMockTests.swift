// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct PluginMockTests {
    /// Records each hook as it runs.
    private struct Probe: PulsePlugin {
        let identifier = "com.example.probe"
        var scope = PluginScope.attempt
        let log = Locked<[String]>([])

        func note(_ text: String) { log.withLock { $0.append(text) } }

        func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
            request.setValue("b", forHTTPHeaderField: "A")
            note("prepare \(context.attempt).\(context.wireAttempt)")
        }
        func willSend(_ request: URLRequest, for context: PluginContext) async {
            note("willSend \(request.value(forHTTPHeaderField: "A") ?? "-") \(context.wireAttempt)")
        }
        func didReceive(
            _ result: Result<PulseResponse, PulseError>, for context: PluginContext
        ) async throws -> Result<PulseResponse, PulseError>? {
            note("didReceive")
            return nil
        }
        func didComplete(_ context: PluginContext) async { note("didComplete \(context.route)") }
    }

    /// Sends the request twice.
    private struct Repeater: PulsePlugin {
        let identifier = "com.example.repeater"
        let scope = PluginScope.retry

        func intercept(
            _ request: URLRequest, for context: PluginContext, next: PluginChain
        ) async throws -> PulseResponse {
            _ = await next.result(request)
            return try await next(request, context: context.with(attempt: 2))
        }
    }

    @Test func runsAPluginLikeAClient() async throws {
        let probe = Probe()
        let response = try await probe.run(.mock(.post, "/users")) { request in
            probe.note("wire")
            return PulseResponse(statusCode: 201, request: request)
        }
        #expect(response.statusCode == 201)
        #expect(response.request.value(forHTTPHeaderField: "A") == "b")
        #expect(
            probe.log.withLock { $0 } == [
                "prepare 1.1", "willSend b 1", "wire", "didReceive", "didComplete /users",
            ])
    }

    @Test func completesAPluginAfterAFailureAndGivesAPulseError() async {
        struct Broken: Error {}
        let probe = Probe()
        await #expect { try await probe.run { _ in throw Broken() } } throws: { ($0 as? PulseError)?.kind == .custom }
        #expect(probe.log.withLock { $0.last } == "didComplete /")
    }

    @Test func completesAPluginWhenItsStreamEnds() async throws {
        let probe = Probe()
        let response = try await probe.run(in: .mock(delivery: .streamed)) { request in
            var response = PulseResponse(statusCode: 200, request: request)
            response.body = .stream(ByteStream([Data("a".utf8)]))
            return response
        }
        #expect(probe.log.withLock { $0.last } == "didReceive")
        #expect(try await response.bytes?.collect(upTo: 10) == Data("a".utf8))
    }

    @Test func runsTheRestOfAChainBehindAPlugin() async throws {
        let inner = Probe()
        let chain = PluginChain.mock([inner, Repeater()]) { PulseResponse(statusCode: 204, request: $0) }
        #expect(try await chain(.mock()).statusCode == 204)
        #expect(
            inner.log.withLock { $0 } == [
                "prepare 1.1", "willSend b 1", "didReceive", "prepare 2.2", "willSend b 2", "didReceive",
            ])
    }

    @Test func aMockedChainRetainsNoCall() async throws {
        weak var call: Call?
        do {
            let context = PluginContext.mock()
            call = context.call
            let chain = PluginChain.mock([Probe(), Repeater()], context: context) {
                PulseResponse(statusCode: 204, request: $0)
            }
            _ = try await chain(.mock())
            _ = try await chain(.mock())
            #expect(call != nil)
        }
        #expect(call == nil)
    }

    @Test func aMockedContextHasItsParts() async {
        let clock = TestClock(uptime: 100)
        let request = URLRequest.mock(.put, "/users/7?page=2")
        let context = PluginContext.mock(
            for: request, options: RequestOptions().with(\.tag, value: "t"), delivery: .streamed, deadline: 5,
            attempt: 3,
            hop: 2, trustedOrigins: [URL(fileURLWithPath: "/"), .example("https://cdn.example.com")], clock: clock)
        #expect(context.method == .put)
        #expect(context.endpointPath == "/users/7" && context.route == "/users/7")
        #expect(context.options.tag == "t")
        #expect(context.delivery == .streamed)
        #expect(context.deadline == 105)
        #expect(context.attempt == 3 && context.hop == 2)
        #expect(context.startedAt == clock.now)
        #expect(context.isTrusted(.example("https://api.example.com/other")))
        #expect(context.isTrusted(.example("https://cdn.example.com/x")))
        #expect(!context.isTrusted(.example("http://api.example.com/")))
    }

    @Test func passesEventsToTheSink() async throws {
        final class Sink: EventSink {
            let events = Locked<[NetworkEvent]>([])
            let isActive = true
            func emit(_ event: NetworkEvent) { events.withLock { $0.append(event) } }
        }
        let sink = Sink()
        PluginContext.mock(events: sink).emit(.warning("w"))
        #expect(sink.events.withLock { $0.count } == 1)
    }

    @Test func makesARequestFromAPathOrAURL() {
        let request = URLRequest.mock(.post, "/a?b=c", headers: ["X": "y"], body: Data([1]))
        #expect(request.url?.absoluteString == "https://api.example.com/a?b=c")
        #expect(request.httpMethod == "POST" && request.httpBody == Data([1]))
        #expect(request.value(forHTTPHeaderField: "x") == "y")
        #expect(URLRequest.mock(.get, "http://other/x").url?.absoluteString == "http://other/x")
        #expect(URLRequest.mock(.get, "http://[").url?.host == "api.example.com")
    }
}

extension URL {
    fileprivate static func example(_ text: String) -> URL { URL(string: text) ?? URL(fileURLWithPath: "/") }
}
