// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import TestSupport
import Testing

/// What each plugin does around a stream: each connection is a call, and ends with its body.
@Suite(.throttled)
struct PluginsAroundStreamsTests {
    private struct Scene {
        let client: PulseClient
        let transport: MockTransport

        func header(_ name: String) -> [String?] {
            transport.requests.map { $0.value(forHTTPHeaderField: name) }
        }

        func lines() async -> (lines: [String], error: PulseError?) {
            var lines: [String] = []
            do {
                for try await line in client.lines("/lines") { lines.append(line) }
                return (lines, nil)
            } catch {
                return (lines, PulseError(wrapping: error))
            }
        }

        func events(_ options: EventStream.Options = EventStream.Options()) async -> (ids: [String], error: PulseError?)
        {
            var ids: [String] = []
            do {
                for try await event in client.serverSentEvents("/events", stream: options) { ids.append(event.id) }
                return (ids, nil)
            } catch {
                return (ids, PulseError(wrapping: error))
            }
        }
    }

    private static let lost = TransportFailure(code: .networkConnectionLost, phase: .responseStarted)

    private func scene(
        _ plugins: [any PulsePlugin], _ replies: Stub.Reply..., retry: RetryPolicy = .immediate(),
        clock: any PulseClock = TestClock(autoAdvances: true)
    ) -> Scene {
        let rest = Locked(replies[...])
        let transport = MockTransport { request in
            let reply = rest.withLock { $0.count > 1 ? $0.popFirst() : $0.first }
            return try await MockTransport(stubs: [Stub().reply(reply ?? .status(500))]).send(
                TransportRequest(urlRequest: request, delivery: .streamed))
        }
        let client = ClientStage.client(
            .root.with(\.connectivity, value: .manual()), plugins: plugins, retry: retry, clock: clock,
            over: transport)
        return Scene(client: client, transport: transport)
    }

    private static func events(_ ids: ClosedRange<Int>) -> Stub.Reply {
        .events(ids.map { ServerSentEvent(data: "x", id: "\($0)") })
    }

    private final class Store: TokenProvider {
        private let number = Locked(0)

        func accessToken() async -> String? { "token \(number.withLock { $0 })" }

        func refreshToken() async throws -> String {
            "token \(number.withLock { number in number += 1; return number })"
        }

        func handleAuthenticationFailure() async {}
    }

    @Test func authenticationRefreshesOnEachConnection() async {
        let scene = scene(
            [.auth(Store())], Self.events(1...2), .status(401), Self.events(3...4), .status(204))
        let found = await scene.events()
        #expect(found.ids == ["1", "2", "3", "4"] && found.error == nil)
        #expect(scene.header("Authorization") == [0, 0, 1, 1].map { "Bearer token \($0)" })
        #expect(scene.header("Last-Event-ID") == [nil, "2", "2", "4"])
    }

    @Test func theRetryLoopEndsAtTheHead() async {
        let scene = scene(
            [], .status(503), .chunks([Data("a\nb".utf8)], failure: Self.lost), .text("never"))
        let found = await scene.lines()
        #expect(found.lines == ["a"] && found.error?.kind == .transport)
        #expect(scene.transport.requests.count == 2)
    }

    @Test func theBreakerJudgesTheHead() async {
        let breaker = CircuitBreakerPlugin(failureThreshold: 2)
        let broken = Stub.Reply.chunks([Data("a".utf8)], failure: Self.lost)
        let scene = scene([breaker], broken, broken, broken, .status(503), .status(503), .text("never"), retry: .never)
        for _ in 0..<3 { #expect(await scene.lines().error?.kind == .transport) }
        for _ in 0..<2 { #expect(await scene.lines().error?.statusCode == 503) }
        #expect(await scene.lines().error?.kind == .circuitOpen)
        #expect(scene.transport.requests.count == 5)
    }

    @Test func anOpenCircuitIsWaitedOut() async {
        let breaker = CircuitBreakerPlugin(failureThreshold: 1, cooldownDuration: 45)
        let clock = TestClock(autoAdvances: true)
        let scene = scene([breaker], Self.events(1...1), .status(503), .status(204), retry: .never, clock: clock)
        let found = await scene.events()
        #expect(found.ids == ["1"] && found.error == nil)
        #expect(clock.sleeps(for: .backoff).contains { $0 > 30 && $0 <= 45 }, "\(clock.sleeps)")
        #expect(scene.transport.requests.count == 3)
    }

    @Test func theCacheServesLinesAndIsBypassedByEvents() async {
        let fresh = HTTPHeaders(["Cache-Control": "max-age=600"])
        let scene = scene([.cache(policy: .rfc9111)], .text("a\n", headers: fresh), .status(204))
        #expect(await scene.lines().lines == ["a"])
        #expect(await scene.lines().lines == ["a"])
        #expect(scene.transport.requests.count == 1)
        for _ in 0..<2 { #expect(await scene.events().error == nil) }
        #expect(scene.transport.requests.count == 3)
    }

    @Test func aPermitIsHeldUntilTheBodyEnds() async throws {
        let scene = scene([ConcurrencyLimitPlugin(limit: 1)], .text("a\nb\n"))
        var first = scene.client.lines("/lines").makeAsyncIterator()
        #expect(try await first.next() == "a")
        let second = Task { await scene.lines().lines }
        for _ in 0..<100 { await Task.yield() }
        #expect(scene.transport.requests.count == 1)
        while try await first.next() != nil {}
        #expect(await second.value == ["a", "b"])
    }

    @Test func concurrentStreamsShareNothing() async {
        let scene = scene([.coalescing(), .hedging(delay: .fixed(0.001))], .text("a\n"))
        async let first = scene.lines()
        async let second = scene.lines()
        let found = await [first.lines, second.lines]
        #expect(found == [["a"], ["a"]])
        #expect(scene.transport.requests.count == 2)
    }

    @Test func theLoggerReadsNoBody() async throws {
        let log = Locked("")
        let options = LoggerPlugin.Options(verbosity: .verbose) { text in log.withLock { $0 += text + "\n" } }
        let scene = scene(
            [.logger(options: options)], .events([ServerSentEvent(data: "private", id: "1")]), .status(204))
        #expect(await scene.events().ids == ["1"])
        await scene.client.shutdown()
        #expect(log.withLock { $0.contains("/events") && !$0.contains("private") })
    }

    @Test func eachConnectionIsSignedAndTracedAnew() async {
        let scene = scene(
            [.signing(secret: "key"), .tracing(), .headers(["X-App": "1"])], Self.events(1...1), Self.events(2...2),
            .status(204))
        #expect(await scene.events().ids == ["1", "2"])
        #expect(Set(scene.header("traceparent")).count == 3)
        #expect(scene.header("X-Signature-256").allSatisfy { $0 != nil })
        #expect(scene.header("X-App") == ["1", "1", "1"])
    }

    @Test func aValidatorJudgesTheHeadOfAStream() async {
        let isMaintenance = Validator { _, response, _ in
            response.headers["X-Maintenance"] == nil ? .accept : .fail(PulseError.noConnection)
        }
        let scene = scene(
            [.validator(isMaintenance)], .text("a\n", headers: ["X-Maintenance": "1"]), .text("b\n"), retry: .never)
        #expect(await scene.lines().error?.kind == .noConnection)
        #expect(await scene.lines().lines == ["b"])
    }
}
