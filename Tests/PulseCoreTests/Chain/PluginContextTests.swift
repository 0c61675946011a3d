// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled)
struct PluginContextTests {
    private func context(
        _ options: RequestOptions = RequestOptions(), method: HTTPMethod = .get, hop: Int = 0,
        body: PluginContext.Body = .inRequest, trusted: [URL] = []
    ) throws -> PluginContext {
        .mock(
            for: try request(method, "https://api.example.com/v1?q"), options: options, body: body, hop: hop,
            trustedOrigins: trusted, clock: TestClock(uptime: 100))
    }

    @Test
    func aContextDescribesItsCall() throws {
        let options = RequestOptions().with(\.deadline, value: 5).with(\.route, value: "r")
        let context = try context(options, method: .put, hop: 2)
        #expect(context.method == .put)
        #expect(context.hop == 2)
        #expect(context.attempt == 1)
        #expect(context.route == "r")
        #expect(context.endpointPath == "/v1")
        #expect(context.deadline == 105)
        #expect(context.startedAt == context.clock.now)
        #expect(context.delivery == .buffered(limit: 128 << 20))
        let summary = context.summary
        #expect(summary.id == context.id)
        #expect(summary.endpointPath == "/v1" && summary.route == "r" && summary.host == "api.example.com")
        #expect(summary.method == .put && summary.attempt == 1 && summary.retryDelay == 0 && summary.traceID == nil)
    }

    @Test
    func textsAndEventsMaskASecretInThePath() {
        let context = PluginContext.mock(endpointPath: "/a;jsessionid=hunter2")
        #expect(context.endpointPath == "/a;jsessionid=hunter2")
        #expect(context.summary.endpointPath == "/a;jsessionid=\(Redaction.mask)")
        #expect(!"\(context)".contains("hunter2") && "\(context)".contains("/a;jsessionid="))
    }

    @Test
    func aSendLogRecordsEachRequestSentFurtherIn() async throws {
        let clock = TestClock(uptime: 100)
        let unwatched = PluginContext.mock(for: try request(.get, "https://api.example.com"), clock: clock)
        let outer = unwatched.watchingSends()
        let inner = outer.watchingSends()
        _ = outer.onWire()
        await clock.advance(by: 1)
        _ = inner.onWire()
        await clock.advance(by: 1)
        _ = inner.onWire()
        #expect(unwatched.sendWatch == nil)
        #expect(outer.sendWatch?.count == 3)
        #expect(outer.sendWatch?.first == 100 && outer.sendWatch?.last == 102)
        #expect(inner.sendWatch?.count == 2)
        #expect(inner.sendWatch?.first == 101 && inner.sendWatch?.last == 102)
    }

    @Test
    func anUnsentRequestCountsFromItsNextSend() async throws {
        let clock = TestClock(uptime: 100)
        let outer = PluginContext.mock(for: try request(.get, "https://api.example.com"), clock: clock)
            .watchingSends()
        let inner = outer.watchingSends()
        let (first, detached) = (inner.onWire(), inner.rebased(onto: inner.call.detached()))
        let second = detached.onWire()
        #expect(outer.call.sentCount == 2 && detached.call.sentCount == 1)
        second.noteUnsent()
        #expect(outer.call.sentCount == 1 && detached.call.sentCount == 0)
        first.noteUnsent()
        #expect(outer.call.sentCount == 0)
        for log in [outer.sendWatch, inner.sendWatch] {
            #expect(log?.count == 0 && log?.first == nil && log?.last == nil)
        }
        await clock.advance(by: 1)
        second.noteSent()
        await clock.advance(by: 1)
        first.noteSent()
        #expect(outer.call.sentCount == 2 && detached.call.sentCount == 1)
        for log in [outer.sendWatch, inner.sendWatch] {
            #expect(log?.count == 2 && log?.first == 101 && log?.last == 102)
        }
    }

    @Test
    func theDefaultRouteIsTheTypesNameOrTheHost() throws {
        for (type, route) in [(PluginContextTests.self as Any.Type?, "PluginContextTests"), (nil, "h")] {
            let call = Call(
                endpointPath: "/", routeType: type, method: .get, host: "h", options: RequestOptions(),
                delivery: .streamed, environment: CallEnvironment())
            #expect(PluginContext(call: call, url: try url("https://h/"), method: .get).route == route)
        }
    }

    @Test
    func anotherAttemptSharesTheCall() throws {
        let first = try context()
        let second = first.with(attempt: 2)
        #expect((first.attempt, second.attempt) == (1, 2))
        #expect(first.id == second.id)
        second.store["a"] = 1
        #expect(first.store["a"] as? Int == 1)
        second.idempotencyKey = "k"
        #expect(first.idempotencyKey == "k")
    }

    @Test
    func wireAttemptsAreCountedPerCall() throws {
        let context = try context()
        #expect(context.wireAttempt == 1)
        #expect(context.onWire().wireAttempt == 1)
        #expect(context.with(attempt: 2).wireAttempt == 2)
        #expect(context.with(attempt: 2).onWire().wireAttempt == 2)
        let hop = PluginContext(call: context.call, url: context.url, method: .get, hop: 1)
        #expect(hop.wireAttempt == 3)
        #expect(hop.attempt == 1)
        #expect(hop.onWire().wireAttempt == 3)
    }

    @Test
    func aPluginsOwnRequestInheritsNothingFromTheCall() throws {
        let context = try context(
            RequestOptions().with(\.route, value: "r").with(\.deadline, value: 5), method: .put, hop: 1)
        context.idempotencyKey = "k"
        let own = try context.auxiliaryRequest(try request(.post, "https://auth.example/login?q"), limit: 10).context
        #expect(own.id != context.id && own.call.root === context.call)
        #expect(own.idempotencyKey == nil && own.deadline == nil && own.hop == 0)
        #expect(own.delivery == .buffered(limit: 10) && own.method == .post)
        let summary = own.summary
        #expect(summary.endpointPath == "/login" && summary.method == .post)
        #expect(summary.host == "auth.example" && summary.route == "auth.example")
        let redirect = PulseResponse(statusCode: 302, headers: ["Location": "/next"], request: try request())
        #expect(context.willFollow(redirect) && !own.willFollow(redirect))
        // Away from the home origin, its own headers are the only secrets that it may carry.
        #expect(own.builtHeaders == [:] && own.storedCookies == nil)
        var keyed = try request(.post, "https://api.example.com/login")
        keyed.setValue("own", forHTTPHeaderField: "Idempotency-Key")
        let home = try context.auxiliaryRequest(keyed, limit: 10).context
        #expect(home.idempotencyKey == "own" && home.builtHeaders == nil)
    }

    /// A login during a GraphQL query by POST must not be sent twice.
    @Test
    func aPluginsOwnRequestMayWriteWhereTheCallOnlyReads() throws {
        let context = try context(method: .post)
        let post = try request(.post, "https://api.example.com/")
        context.store[ReadOnlyKey.self] = true
        #expect(ReplaySafety(of: post, sent: post, in: context).allowsRepeat())
        #expect(ReplaySafety(of: post, in: context.detached()).allowsRepeat())
        let own = try context.auxiliaryRequest(try request(.post, "https://api.example.com/login"), limit: 10)
        #expect(!ReplaySafety(of: own.request, sent: own.request, in: own.context).allowsRepeat())
    }

    @Test
    func aPluginsOwnRequestNeedsAnAbsoluteURLAndABody() throws {
        let context = try context()
        for text in ["/relative", "ftp://api.example.com/", "wss://api.example.com/"] {
            let ready = URLRequest(url: try url(text))
            let error = #expect(throws: PulseError.self) { try context.auxiliaryRequest(ready, limit: 10) }
            #expect(error?.kind == .invalidURL, "\(text)")
        }
        var streamed = try request(.post, "https://api.example.com/")
        streamed.httpBodyStream = InputStream(data: Data("x".utf8))
        let error = #expect(throws: PulseError.self) { try context.auxiliaryRequest(streamed, limit: 10) }
        #expect(error?.kind == .unsupported)
    }

    @Test(arguments: [
        ("https://api.example.com/other", true), ("https://trusted.example:8443/", true),
        ("wss://api.example.com/socket", true), ("http://api.example.com/", false), ("https://evil.example/", false),
        ("https://api.example.com.evil.example/", false), ("https://api.example.com@evil.example/", false),
        ("https://trusted.example/", false), ("ftp://api.example.com/", false), ("/relative", false),
    ])
    func onlyTheHomeOriginIsTrusted(text: String, isTrusted: Bool) throws {
        let context = try context(trusted: [try url("https://trusted.example:8443/any/path")])
        #expect(context.isTrusted(try url(text)) == isTrusted)
    }

    @Test
    func withoutABaseURLNoOriginIsTrusted() throws {
        let call = Call(
            endpointPath: "/", routeType: nil, method: .get, host: "h", options: RequestOptions(), delivery: .streamed,
            environment: CallEnvironment())
        let address = try url("https://h/")
        #expect(!PluginContext(call: call, url: address, method: .get).isTrusted(address))
    }

    @Test(
        arguments: [
            (302, "/next", 0, true), (302, nil, 0, false), (200, "/next", 0, false), (304, "/next", 0, false),
            (302, "http://api.example.com/", 0, false), (302, "/next", 9, true), (302, "/next", 10, false),
            (308, "https://other.example/", 0, true),
        ] as [(Int, String?, Int, Bool)])
    func willFollowReportsRedirectsThatAreFollowed(status: Int, location: String?, hop: Int, follows: Bool) throws {
        let context = try context(hop: hop)
        let response = PulseResponse(
            statusCode: status, headers: location.map { ["Location": $0] } ?? [:], request: try request())
        #expect(context.willFollow(response) == follows)
        let refusing = try self.context(RequestOptions().with(\.redirectPolicy, value: .refuse), hop: hop)
        #expect(!refusing.willFollow(response))
    }

    @Test
    func aOneShotBodyIsNotSentToARedirectThatKeepsIt() throws {
        let body = PluginContext.Body.stream(RequestBody.Stream(length: nil, isOneShot: true) { ByteStream([]) })
        let context = try context(method: .post, body: body)
        for (status, follows) in [(307, false), (308, false), (303, true), (302, true)] {
            let response = PulseResponse(
                statusCode: status, headers: ["Location": "/next"], request: try request(.post))
            #expect(context.willFollow(response) == follows, "\(status)")
        }
    }

    @Test
    func markedSecretsAreCaseInsensitive() throws {
        let context = try context()
        context.with(attempt: 2).markSecret(header: "X-Session")
        context.markSecret(header: "x-session")
        #expect(context.call.markedSecrets == ["x-session"])
        #expect(context.detached().call.markedSecrets == ["x-session"])
    }

    @Test
    func eventsAreBuiltOnlyForAListener() throws {
        let sink = Mute()
        let context = PluginContext.mock(events: sink)
        context.emit(.warning(sink.built()))
        #expect(sink.counts.withLock { $0 } == [0, 0])
        sink.listens.withLock { $0 = true }
        context.emit(.warning(sink.built()))
        #expect(sink.counts.withLock { $0 } == [1, 1])
        PluginContext.mock().emit(.warning(sink.built()))
        #expect(sink.counts.withLock { $0 } == [1, 1])
    }

    private final class Mute: EventSink {
        let listens = Locked(false)
        let counts = Locked([0, 0])

        var isActive: Bool { listens.withLock { $0 } }

        func built() -> String {
            counts.withLock { $0[0] += 1 }
            return "x"
        }

        func emit(_ event: NetworkEvent) {
            counts.withLock { $0[1] += 1 }
        }
    }
}
