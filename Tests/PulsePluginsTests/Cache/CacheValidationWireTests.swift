// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// RFC 9111, sections 4.2.4 and 4.3, RFC 5861, and the options of a call. Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheValidationWireTests {
    @Test func aStaleResponseIsConfirmedByItsEntityTag() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            await stage.pass(60)
            #expect(try await stage.text() == "body 1 revalidated")
            #expect(stage.lastSent?.headers["If-None-Match"] == "\"1\"")
            #expect(try await stage.text() == "body 1 cache")
            #expect(stage.sent == 2)
            #expect(stage.events.contains("cacheRevalidated"))
        }
    }

    @Test func aStaleResponseIsConfirmedByLastModified() async throws {
        try await CacheStage.run { stage in
            let changed = stage.date(-500)
            stage.server.on(.get, "/a") { request in
                let headers: HTTPHeaders = [
                    "Cache-Control": "max-age=60", "Last-Modified": changed, "Date": stage.date(),
                ]
                return request.headers["If-Modified-Since"] == changed
                    ? .status(304, headers: headers) : .text("body", headers: headers)
            }
            try await stage.get()
            await stage.pass(60)
            #expect(try await stage.text() == "body revalidated")
        }
    }

    @Test func theEntityTagsOfAllStoredVariantsAreSent() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                let language = request.headers["Accept-Language"] ?? ""
                // Welsh readers get English.
                let tag = language == "fr" ? "\"fr\"" : "\"en\""
                let headers: HTTPHeaders = [
                    "Cache-Control": "max-age=60", "Vary": "Accept-Language", "ETag": tag, "Date": stage.date(),
                ]
                return request.headers["If-None-Match"]?.contains(tag) == true
                    ? .status(304, headers: headers) : .text(tag, headers: headers)
            }
            for language in ["en", "fr"] { try await stage.get("/a", ["Accept-Language": language]) }
            #expect(try await stage.text("/a", ["Accept-Language": "cy"]) == "\"en\" revalidated")
            let sent = stage.lastSent?.headers["If-None-Match"]
            #expect(sent?.contains("\"en\"") == true && sent?.contains("\"fr\"") == true)
            #expect(try await stage.text("/a", ["Accept-Language": "cy"]) == "\"en\" cache")
            #expect(try await stage.text("/a", ["Accept-Language": "fr"]) == "\"fr\" cache")
        }
    }

    @Test func a304UpdatesTheStoredHeadersExceptThoseOfTheBody() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                guard request.headers["If-None-Match"] != nil else {
                    return .text(
                        "body",
                        headers: [
                            "Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Own": "old", "Content-Language": "en",
                            "Age": "10", "Date": stage.date(),
                        ])
                }
                return .status(
                    304,
                    headers: [
                        "Cache-Control": "max-age=90", "ETag": "\"1\"", "X-Own": "new", "Content-Language": "fr",
                        "X-Hop": "1", "Connection": "X-Hop", "Content-Encoding": "br", "Date": stage.date(),
                    ])
            }
            try await stage.get()
            await stage.pass(60)
            let confirmed = try await stage.get()
            #expect(confirmed.origin == .revalidated && confirmed.statusCode == 200)
            #expect(confirmed.headers["X-Own"] == "new")
            #expect(confirmed.headers["Content-Language"] == "fr")
            #expect(confirmed.headers["Content-Length"] == "4")
            #expect(confirmed.headers["Age"] == nil)
            for name in ["X-Hop", "Connection", "Content-Encoding"] { #expect(!confirmed.headers.contains(name)) }
            await stage.pass(89)
            #expect(try await stage.text() == "body cache")
            await stage.pass(1)
            #expect(try await stage.text() == "body revalidated")
        }
    }

    @Test func aNewBodyReplacesTheOldOne() async throws {
        try await CacheStage.run { stage in
            stage.server.on(
                .get, "/a",
                script: [
                    .text("old", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": stage.date()]),
                    .text("new", headers: ["Cache-Control": "max-age=99", "ETag": "\"2\""]),
                ])
            try await stage.get()
            await stage.pass(60)
            #expect(try await stage.text() == "new network")
            #expect(try await stage.text() == "new cache")
        }
    }

    @Test func a304WithAnUnknownTagCausesAResendWithoutConditions() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                request.headers["If-None-Match"] == nil
                    ? .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": stage.date()])
                    : .status(304, headers: ["ETag": "\"other\""])
            }
            try await stage.get()
            await stage.pass(60)
            #expect(try await stage.text() == "body network")
            #expect(stage.sent == 3)
        }
    }

    /// As from a server that compresses responses, and weakens the tag of the compressed form.
    @Test func a304WithTheStrongFormOfAWeakTagServesTheStoredResponseUnchanged() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                request.headers["If-None-Match"] == "W/\"1\""
                    ? .status(304, headers: ["Cache-Control": "max-age=600", "ETag": "\"1\"", "Date": stage.date()])
                    : .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "W/\"1\"", "Date": stage.date()])
            }
            try await stage.get()
            await stage.pass(60)
            for _ in 0..<2 { #expect(try await stage.text() == "body revalidated") }
            #expect(stage.sent == 3)
        }
    }

    /// Two variants under one opaque tag: the strong form does not tell which one it means.
    @Test func a304WithATagOfTwoWeakVariantsCausesAResend() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                let language = request.headers["Accept-Language"] ?? ""
                let headers: HTTPHeaders = [
                    "Cache-Control": "max-age=60", "Vary": "Accept-Language", "ETag": "W/\"1\"", "Date": stage.date(),
                ]
                return request.headers["If-None-Match"] == nil
                    ? .text(language, headers: headers) : .status(304, headers: ["ETag": "\"1\""])
            }
            try await stage.get("/a", ["Accept-Language": "en"], cache: .reload)
            try await stage.get("/a", ["Accept-Language": "fr"], cache: .reload)
            #expect(try await stage.text("/a", ["Accept-Language": "cy"]) == "cy network")
            #expect(stage.sent == 4)
        }
    }

    @Test func anInvalidTagConfirmsAResponseWithTheSameText() async throws {
        try await CacheStage.run { stage in
            let changed = stage.date(-500)
            stage.server.on(.get, "/a") { request in
                let headers: HTTPHeaders = [
                    "Cache-Control": "max-age=60", "Last-Modified": changed, "ETag": "unquoted", "Date": stage.date(),
                ]
                return request.headers["If-Modified-Since"] == changed
                    ? .status(304, headers: headers) : .text("body", headers: headers)
            }
            try await stage.get()
            await stage.pass(60)
            #expect(try await stage.text() == "body revalidated")
            #expect(stage.lastSent?.headers["If-None-Match"] == nil)
            #expect(try await stage.text() == "body cache")
        }
    }

    // MARK: Stale

    @Test func staleWhileRevalidateServesAndValidatesOnceInTheBackground() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            let count = Locked(0)
            stage.server.on(.get, "/a") { request in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number > 1 { await gate.pass() }
                return .text(
                    "body \(number)",
                    headers: ["Cache-Control": "max-age=60, stale-while-revalidate=30", "Date": stage.date()])
            }
            try await stage.get()
            await stage.pass(90)
            for _ in 0..<3 { #expect(try await stage.text() == "body 1 stale") }
            try await stage.server.wait { $0.connections.count >= 2 || $0.requests.count >= 2 }
            gate.open()
            try await stage.untilStored(2)
            #expect(try await stage.text() == "body 2 cache")
            #expect(stage.sent == 2)
            await stage.pass(91)
            #expect(try await stage.text() == "body 3 network")
        }
    }

    @Test func shutdownEndsABackgroundValidationAndThePluginStaysUsable() async throws {
        try await CacheStage.run { stage in
            let (count, reached) = (Locked(0), Gate(isOpen: true))
            stage.server.on(.get, "/a") { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number == 2 {
                    await reached.pass()
                    return .raw([.stall])
                }
                return .text(
                    "body \(number)",
                    headers: ["Cache-Control": "max-age=60, stale-while-revalidate=99", "Date": stage.date()])
            }
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.text() == "body 1 stale")
            await reached.arrivals(atLeast: 1)
            #expect(stage.cache.cache.flights.runCount == 1)
            await stage.cache.shutdown()
            #expect(stage.cache.cache.flights.runCount == 0)
            try await stage.server.connectionsClosedByClient()
            #expect(try await stage.text() == "body 1 stale")
            try await stage.untilStored(2)
        }
    }

    @Test func staleIfErrorServesAStaleResponseWhenTheServerFails() async throws {
        try await CacheStage.run { stage in
            let ok: MockServer.Response = .text(
                "body", headers: ["Cache-Control": "max-age=60, stale-if-error=30", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [ok, .status(503), .status(502), .status(404), ok])
            try await stage.get()
            await stage.pass(90)
            #expect(try await stage.text() == "body stale")
            #expect(try await stage.text() == "body stale")
            // A definite response, not a failure.
            #expect(try await stage.get().statusCode == 404)
            try await stage.get()
        }
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60, stale-if-error=30"])
            try await stage.get()
            stage.server.on(.get, "/a") { _ in .disconnect }
            await stage.pass(90)
            #expect(try await stage.text() == "body 1 stale")
            await stage.pass(1)
            await #expect(throws: PulseError.self) { try await stage.get() }
        }
    }

    @Test(arguments: [500, 502, 503, 504])
    func staleIfErrorServesAStaleResponseAfterAllAttemptsFailed(status: Int) async throws {
        var retries = RetryPolicy.immediate(2)
        retries.reportsExhaustion = true
        try await CacheStage.run(after: [.retry(policy: retries)]) { stage in
            let ok: MockServer.Response = .text(
                "body", headers: ["Cache-Control": "max-age=60, stale-if-error=30", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [ok, .status(status)])
            try await stage.get()
            await stage.pass(90)
            // With statuses that are not all accepted.
            let response = try await stage.client.rawRequest(Request<EmptyResponse>(.get, "/a"))
            #expect(response.data == Data("body".utf8) && response.origin == .stale)
            #expect(stage.sent == 3)
        }
    }

    @Test func withoutStaleIfErrorAServerFailureIsTheResponse() async throws {
        try await CacheStage.run { stage in
            let ok: MockServer.Response = .text(
                "body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [ok, .status(503)])
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.get().statusCode == 503)
            #expect(try await stage.text("/a", cache: .cacheElseNetwork) == "body stale")
            #expect(try await stage.text("/a", ["Cache-Control": "stale-if-error=99"]) == "body stale")
        }
    }

    @Test func withoutAConnectionAStaleResponseIsServedUnlessForbidden() async throws {
        let offline = Locked(false)
        let line = OfflineSwitch(isOffline: offline)
        try await CacheStage.run(after: [line]) { stage in
            stage.serve("/a", ["Cache-Control": "max-age=60"])
            stage.serve("/b", ["Cache-Control": "max-age=60, must-revalidate"])
            for path in ["/a", "/b"] { try await stage.get(path) }
            await stage.pass(1_000)
            offline.withLock { $0 = true }
            #expect(try await stage.text("/a") == "body 1 stale")
            let error = await #expect(throws: PulseError.self) { try await stage.get("/b") }
            #expect(error?.kind == .noConnection)
            let refused = await #expect(throws: PulseError.self) { try await stage.get("/a", cache: .reload) }
            #expect(refused?.kind == .noConnection)
        }
    }

    // MARK: The options of a call

    @Test func reloadBypassesTheCacheAndReplacesItsEntry() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await stage.text("/a", cache: .reload) == "body 2 network")
            #expect(stage.lastSent?.headers["If-None-Match"] == nil)
            #expect(stage.lastSent?.headers["Cache-Control"] == "no-cache")
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    @Test func revalidateValidatesAFreshResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await stage.text("/a", cache: .revalidate) == "body 1 revalidated")
        }
    }

    @Test func cacheElseNetworkServesAResponseOfAnyAge() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get("/a", cache: .cacheElseNetwork)
            await stage.pass(1e6)
            #expect(try await stage.text("/a", cache: .cacheElseNetwork) == "body 1 stale")
        }
    }

    @Test func onlyIfCachedIsAMissWithoutAStoredResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            let error = await #expect(throws: PulseError.self) { try await stage.get("/a", cache: .onlyIfCached) }
            #expect(error?.kind == .cacheMiss)
            try await stage.get()
            await stage.pass(1e6)
            #expect(try await stage.text("/a", cache: .onlyIfCached) == "body 1 stale")
            #expect(stage.sent == 1)
        }
    }

    /// Neither for an uncacheable request, nor for a body that does not decode.
    @Test func onlyIfCachedNeverSendsARequest() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(.post, "/a") { _ in .text("changed") }
            let alone = ClientStage.client(of: stage.server, retry: .default)
            let endpoint = Request<EmptyResponse>(.get, "/a").option(\.cache, .onlyIfCached)
            for call in [
                { try await stage.get("/a", ["Range": "bytes=0-1"], cache: .onlyIfCached) },
                { try await stage.get("/a", ["If-Match": "\"1\""], cache: .onlyIfCached) },
                { try await stage.get("/a", cache: .onlyIfCached, method: .post) },
                { try await alone.rawRequest(endpoint) },
            ] {
                let error = await #expect(throws: PulseError.self) { try await call() }
                #expect(error?.kind == .cacheMiss)
            }
            #expect(stage.sent == 0)
            try await stage.get()
            let number = Request<Int>(.get, "/a").option(\.cache, .onlyIfCached)
            let error = await #expect(throws: PulseError.self) { try await stage.client.request(number) }
            #expect(error?.kind == .decodingFailed)
            #expect(stage.sent == 1)
            await alone.shutdown()
        }
    }

    /// The response to such a request could not be stored.
    @Test func aRequestWithNoStoreStartsNoBackgroundValidation() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", ["Cache-Control": "max-age=60"])
            stage.serve("/b", ["Cache-Control": "max-age=60, stale-while-revalidate=600"])
            for path in ["/a", "/b"] { try await stage.get(path) }
            await stage.pass(61)
            let headers = ["Cache-Control": "no-store"]
            #expect(try await stage.text("/a", headers, cache: .staleWhileRevalidate) == "body 1 stale")
            #expect(stage.cache.cache.flights.runCount == 0)
            #expect(try await stage.text("/b", headers) == "body 2 network")
            #expect(stage.sent == 3)
        }
    }

    @Test func theOptionStaleWhileRevalidateNeedsNoResponseDirective() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(1e6)
            #expect(try await stage.text("/a", cache: .staleWhileRevalidate) == "body 1 stale")
            try await stage.untilStored(2)
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    // MARK: The time-to-live policy

    @Test func theTimeToLivePolicyStores200ResponsesToGETForItsTime() async throws {
        try await CacheStage.run(CachePlugin(ttl: 300, maxMemoryItems: 200)) { stage in
            stage.serve("/a", ["Cache-Control": "no-cache, max-age=0"])
            stage.serve("/b", ["Cache-Control": "no-store"])
            stage.serve("/c", status: 404, [:])
            for path in ["/a", "/b", "/c"] { try await stage.get(path) }
            await stage.pass(299)
            #expect(try await stage.text("/a") == "body 1 cache")
            #expect(try await stage.text("/b") == "body 2 network")
            #expect(try await stage.text("/c") == "body 2 network")
            await stage.pass(1)
            #expect(try await stage.text("/a") == "body 2 network")
            #expect(try await stage.text("/b", ["Cache-Control": "no-store"]) == "body 3 network")
        }
    }

    @Test func theTimeToLivePolicyObeysVaryAndValidatesStaleResponses() async throws {
        try await CacheStage.run(CachePlugin(ttl: 300)) { stage in
            stage.serve(["Vary": "Accept-Language", "ETag": "\"1\""])
            try await stage.get("/a", ["Accept-Language": "en"])
            #expect(try await stage.text("/a", ["Accept-Language": "en"]) == "body 1 cache")
            #expect(stage.sent == 1)
            await stage.pass(300)
            #expect(try await stage.text("/a", ["Accept-Language": "en"]) == "body 1 revalidated")
            stage.serve(["Vary": "Accept-Language", "ETag": "\"2\""])
            #expect(try await stage.text("/a", ["Accept-Language": "fr"]) == "body 1 network")
            #expect(stage.sent == 3)
        }
    }

    @Test func theTimeToLivePolicyEvictsTheLeastRecentlyUsed() async throws {
        try await CacheStage.run(CachePlugin(ttl: 300, maxMemoryItems: 2)) { stage in
            for path in ["/a", "/b", "/c"] {
                stage.serve(path, [:])
                try await stage.get(path)
            }
            #expect(try await stage.text("/c") == "body 1 cache")
            #expect(try await stage.text("/b") == "body 1 cache")
            #expect(try await stage.text("/a") == "body 2 network")
        }
    }

    // MARK: In a client

    @Test func aBodyThatFailsToDecodeIsRefetchedOnceBypassingTheCache() async throws {
        try await CacheStage.run { stage in
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Type": "application/json"]
            stage.server.on(.get, "/a", script: [.text("{}", headers: headers), .text("[1]", headers: headers)])
            try await stage.get()
            let numbers = try await stage.client.request(Request<[Int]>(.get, "/a"))
            #expect(numbers == [1])
            #expect(stage.sent == 2)
            let again = try await stage.client.response(for: Request<[Int]>(.get, "/a"))
            #expect(again.response.origin == .cache && again.value == [1])
        }
    }

    @Test func aRedirectHasAnEntryOfItsOwn() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/old") { _ in
                .status(301, headers: ["Location": "/a", "Cache-Control": "max-age=60", "Date": stage.date()])
            }
            stage.serve(["Cache-Control": "max-age=60"])
            for _ in 0..<2 {
                let response = try await stage.get("/old")
                #expect(response.redirects.map(\.statusCode) == [301])
                #expect(response.data == Data("body 1".utf8))
            }
            #expect(stage.sent == 2)
        }
    }

    @Test func statisticsCountHitsMissesAndInvalidations() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            try await stage.get()
            await stage.pass(60)
            try await stage.get()
            try await stage.get("/a", cache: .reload)
            let statistics = await stage.cache.statistics
            #expect(statistics.hits == 1 && statistics.revalidations == 1 && statistics.misses == 2)
            #expect(statistics.stores == 3 && statistics.entries == 1 && statistics.bytes > 0)
            #expect(statistics.hitRatio == 0.5)
        }
    }
}

/// Between cache and transport: fails with no connection while it is offline.
struct OfflineSwitch: PulsePlugin {
    let identifier = "com.pulse.tests.offline"
    let isOffline: Locked<Bool>

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        if isOffline.withLock({ $0 }) { throw PulseError.noConnection }
    }
}
