// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// RFC 9111, section 4.2: how long a response is used without validation. Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheFreshnessWireTests {
    @Test func maxAgeSetsTheFreshnessLifetime() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            let first = try await stage.text()
            #expect(first == "body 1 network")
            await stage.pass(59)
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(1)
            #expect(try await stage.text() == "body 2 network")
            #expect(stage.events == ["cacheStored", "cacheMiss", "cacheHit", "cacheStored", "cacheMiss"])
        }
    }

    @Test func expiresSetsTheLifetimeWithoutMaxAge() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Expires": stage.date(30)])
            try await stage.get()
            await stage.pass(29)
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(1)
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test func maxAgeWinsOverExpires() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Expires": stage.date(-1000), "Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
        }
    }

    @Test func theHeuristicLifetimeIsATenthOfTheTimeSinceTheLastModification() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Last-Modified": stage.date(-1000)])
            try await stage.get()
            await stage.pass(99)
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(1)
            #expect(try await stage.isFromNetwork())
        }
    }

    @Test func aHeuristicLifetimeIsAtMostADay() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Last-Modified": stage.date(-1e8)])
            try await stage.get()
            await stage.pass(86_399)
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(1)
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test(arguments: [
        "max-age=-1", "max-age=1.5", "max-age=x", "max-age=", "max-age", "max-age=60, max-age=61",
    ])
    func anInvalidMaxAgeMeansStale(value: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": value, "Expires": stage.date(100), "Last-Modified": stage.date(-1e6)])
            try await stage.get()
            #expect(try await stage.isFromNetwork())
        }
    }

    @Test(arguments: ["0", "-1", "tomorrow"])
    func anInvalidExpiresMeansStale(value: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Expires": value, "Last-Modified": stage.date(-1e6)])
            try await stage.get()
            #expect(try await stage.isFromNetwork())
        }
    }

    @Test func sMaxageAndProxyRevalidateAreIgnored() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "s-maxage=0, max-age=60, proxy-revalidate"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
        }
    }

    // MARK: Age

    @Test func theAgeFieldCountsAndTheServedResponseHasOne() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Age": "50"])
            let first = try await stage.age()
            #expect(first == "50")
            await stage.pass(4)
            #expect(try await stage.age() == "54")
            await stage.pass(6)
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test func theFirstOfSeveralAgesCounts() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Age": "7, 100"])
            try await stage.get()
            #expect(try await stage.age() == "7")
        }
    }

    @Test(arguments: ["-50", "x", "1.5", "100s"])
    func anAgeThatIsNoNumberIsIgnored(value: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Age": value])
            try await stage.get()
            #expect(try await stage.age() == "0")
        }
    }

    @Test func aDateInThePastMakesAResponseOlder() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Date": stage.date(-40)])
            try await stage.get()
            await stage.pass(19)
            #expect(try await stage.age() == "59")
            await stage.pass(1)
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test func theResponseDelayIsAddedToTheAgeField() async throws {
        let clock = TestClock()
        try await CacheStage.run(clock: clock) { stage in
            stage.server.on(.get, "/slow") { _ in
                clock.shiftWallClock(by: 20)
                return .text("slow", headers: ["Cache-Control": "max-age=60", "Age": "5", "Date": stage.date()])
            }
            try await stage.get("/slow")
            #expect(try await stage.age("/slow") == "25")
        }
    }

    @Test func aClockSetBackMakesEntriesStale() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            stage.clock.shiftWallClock(by: -1e7)
            #expect(try await stage.text() == "body 2 network")
            #expect(try await stage.text() == "body 2 cache")
        }
    }

    // MARK: The request's directives

    @Test func aRequestMayForbidUseWithoutValidation() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await stage.text("/a", ["Cache-Control": "no-cache"]) == "body 1 revalidated")
            #expect(try await stage.text("/a", ["Pragma": "no-cache"]) == "body 1 revalidated")
        }
    }

    @Test func pragmaCountsOnlyWithoutCacheControl() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            let headers = ["Pragma": "no-cache", "Cache-Control": "max-age=100"]
            #expect(try await stage.text("/a", headers) == "body 1 cache")
        }
    }

    @Test func aRequestMayDemandAYoungerResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(10)
            #expect(try await stage.text("/a", ["Cache-Control": "max-age=10"]) == "body 1 cache")
            #expect(try await stage.text("/a", ["Cache-Control": "max-age=9"]) == "body 2 network")
        }
    }

    @Test func aRequestMayDemandAResponseThatStaysFresh() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(10)
            #expect(try await stage.text("/a", ["Cache-Control": "min-fresh=50"]) == "body 1 cache")
            #expect(try await stage.text("/a", ["Cache-Control": "min-fresh=51"]) == "body 2 network")
        }
    }

    @Test func aRequestMayAcceptAStaleResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(70)
            #expect(try await stage.text("/a", ["Cache-Control": "max-stale=10"]) == "body 1 stale")
            #expect(try await stage.text("/a", ["Cache-Control": "max-stale"]) == "body 1 stale")
            #expect(try await stage.text("/a", ["Cache-Control": "max-stale=9"]) == "body 2 network")
        }
    }

    @Test func onlyIfCachedIsA504WithoutAStoredResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            let missing = try await stage.get("/a", ["Cache-Control": "only-if-cached"])
            #expect(missing.statusCode == 504 && missing.origin == .cache)
            #expect(stage.sent == 0)
            try await stage.get()
            #expect(try await stage.text("/a", ["Cache-Control": "only-if-cached"]) == "body 1 cache")
        }
    }

    /// RFC 9111, section 5.3: any other date is in the past.
    @Test(arguments: [
        ("Thu, 18 Aug 2050 02:01:18 GMT", true), ("THU, 18 AUG 2050 02:01:18 gMT", true),
        ("Thursday, 18-Aug-50 02:01:18 GMT", true), ("Thu Aug 18 02:01:18 2050", true),
        ("Mon Aug  8 02:01:18 2050", true), ("Sun, 21 Nov 2286 04:46:39 GMT", true),
        ("Thu, 18  Aug  2050 02:01:18 GMT", false), ("Thu, 18 Aug 2050 02:01:18 UTC", false),
        ("Thu, 18 Aug 2050 02:01:18", false), ("Thu, 18 Aug 50 02:01:18 GMT", false),
        ("Thu 18 Aug 2050 02:01:18 GMT", false), ("Thu, 18-Aug-2050 02:01:18 GMT", false),
        ("Thu, 18 Aug 2050 02.01.18 GMT", false), ("Thu, 18 Aug 2050 2:01:18 GMT", false),
        ("Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:19 GMT", false), ("0", false),
    ])
    func anExpiresDateMustMatchTheGrammar(expires: String, isDate: Bool) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Expires": expires])
            try await stage.get()
            #expect(try await stage.isFromNetwork() == !isDate)
        }
    }

    @Test(arguments: ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"])
    func conditionsOfTheCallerBypassTheCache(name: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.text("/a", [name: "x"]) == "body 2 network")
            #expect(stage.lastSent?.headers[name] == "x")
            #expect(try await stage.text() == "body 1 cache")
        }
    }

    // MARK: The response's directives

    @Test func aNoCacheResponseIsAlwaysValidated() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60, no-cache", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await stage.text() == "body 1 revalidated")
            #expect(try await stage.text("/a", ["Cache-Control": "max-stale"]) == "body 1 revalidated")
        }
    }

    @Test func aMustRevalidateResponseIsNeverServedStale() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60, must-revalidate, stale-while-revalidate=99, stale-if-error=99"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(61)
            #expect(try await stage.text("/a", ["Cache-Control": "max-stale"]) == "body 2 network")
            await stage.pass(61)
            #expect(try await stage.text("/a", cache: .cacheElseNetwork) == "body 3 network")
            await stage.pass(61)
            stage.server.on(.get, "/a") { _ in .disconnect }
            await #expect(throws: PulseError.self) { try await stage.get() }
            let error = await #expect(throws: PulseError.self) { try await stage.get("/a", cache: .onlyIfCached) }
            #expect(error?.kind == .cacheMiss)
        }
    }

    @Test func anImmutableResponseIsNotValidatedWhileFresh() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", ["Cache-Control": "max-age=60, immutable", "ETag": "\"1\""])
            stage.serve("/b", ["Cache-Control": "max-age=60", "ETag": "\"1\""])
            for path in ["/a", "/b"] { try await stage.get(path) }
            #expect(try await stage.text("/a", cache: .revalidate) == "body 1 cache")
            #expect(try await stage.text("/b", cache: .revalidate) == "body 1 revalidated")
            await stage.pass(61)
            #expect(try await stage.text("/a", cache: .revalidate) == "body 1 revalidated")
        }
    }
}
