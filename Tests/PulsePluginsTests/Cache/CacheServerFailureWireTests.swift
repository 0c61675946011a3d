// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// Which stored responses are served when the server fails or cannot be reached.
@Suite(.tags(.threads), .throttled)
struct CacheServerFailureWireTests {
    private static func offlineStage(
        _ cache: CachePlugin = CachePlugin(policy: .rfc9111),
        _ body: (CacheStage, Locked<Bool>) async throws -> Void
    ) async throws {
        let offline = Locked(false)
        try await CacheStage.run(cache, after: [OfflineSwitch(isOffline: offline)]) { stage in
            try await body(stage, offline)
        }
    }

    @Test func aFailureWithABarePrivateDoesNotReplaceAStoredResponse() async throws {
        try await Self.offlineStage { stage, offline in
            let response: MockServer.Response = .text(
                "response", headers: ["Cache-Control": "private, max-age=60", "Date": stage.date()])
            let failure: MockServer.Response = .text(
                "failure", status: 500, headers: ["Cache-Control": "private", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [response, failure])
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.text() == "failure network")
            offline.withLock { $0 = true }
            #expect(try await stage.text() == "response stale")
        }
    }

    @Test func aStaleStoredFailureIsNotServedAfterAServerFailure() async throws {
        try await Self.offlineStage { stage, offline in
            stage.serve("/a", status: 500, ["Cache-Control": "max-age=60, stale-if-error=999"])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(61)
            offline.withLock { $0 = true }
            await #expect(throws: PulseError.self) { try await stage.get() }
        }
    }

    @Test(arguments: ["max-age=30", "min-fresh=1", "no-cache", "max-age=0"])
    func requestDirectivesHoldWithoutAConnection(directive: String) async throws {
        try await Self.offlineStage { stage, offline in
            stage.serve("/a", ["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(61)
            offline.withLock { $0 = true }
            let error = await #expect(throws: PulseError.self) {
                try await stage.get("/a", ["Cache-Control": directive])
            }
            #expect(error?.kind == .noConnection)
            #expect(try await stage.text() == "body 1 stale")
        }
    }

    @Test func aFreshResponseOlderThanTheRequestAllowsIsNotServedWithoutAConnection() async throws {
        try await Self.offlineStage { stage, offline in
            stage.serve("/a", ["Cache-Control": "max-age=60"])
            try await stage.get()
            await stage.pass(20)
            offline.withLock { $0 = true }
            await #expect(throws: PulseError.self) { try await stage.get("/a", ["Cache-Control": "max-age=19"]) }
            // Regardless of other freshness information (RFC 5861, section 4).
            #expect(try await stage.text("/a", ["Cache-Control": "max-age=19, stale-if-error=0"]) == "body 1 cache")
        }
    }

    @Test func requestDirectivesHoldAfterAServerFailure() async throws {
        try await CacheStage.run { stage in
            let response: MockServer.Response = .text(
                "response", headers: ["Cache-Control": "max-age=60, stale-if-error=999", "Date": stage.date()])
            stage.server.on(.get, "/a", script: [response, .status(503), .status(503), .status(503)])
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.get("/a", ["Cache-Control": "max-age=60"]).statusCode == 503)
            #expect(try await stage.get("/a", ["Cache-Control": "min-fresh=1"]).statusCode == 503)
            #expect(try await stage.text("/a", ["Cache-Control": "max-age=61"]) == "response stale")
        }
    }

    @Test func theTimeToLivePolicyServesNothingStaleWithoutAConnection() async throws {
        try await Self.offlineStage(CachePlugin(ttl: 300)) { stage, offline in
            stage.serve("/a", [:])
            try await stage.get()
            offline.withLock { $0 = true }
            await stage.pass(299)
            #expect(try await stage.text() == "body 1 cache")
            await stage.pass(1)
            let error = await #expect(throws: PulseError.self) { try await stage.get() }
            #expect(error?.kind == .noConnection)
            // A caller that accepts any age says so.
            #expect(try await stage.text("/a", cache: .cacheElseNetwork) == "body 1 stale")
        }
    }

    // MARK: HEAD

    @Test func aHeadResponseToANoStoreRequestUpdatesNothing() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in
                .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Seen": "get"])
            }
            stage.server.on(.head, "/a") { _ in
                .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Seen": "head"])
            }
            try await stage.get()
            await stage.pass(61)
            try await stage.get("/a", ["Cache-Control": "no-store"], method: .head)
            #expect(try await stage.get("/a", cache: .cacheElseNetwork).headers["X-Seen"] == "get")
            try await stage.get("/a", method: .head)
            #expect(try await stage.get("/a", cache: .cacheElseNetwork).headers["X-Seen"] == "head")
        }
    }

    @Test(arguments: [("*", 0), ("Accept-Language", 1)])
    func varyOfAHeadResponseAppliesToTheStoredResponse(vary: String, entries: Int) async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in
                .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
            }
            stage.server.on(.head, "/a") { _ in
                .text("body", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Vary": vary])
            }
            try await stage.get("/a", ["Accept-Language": "en"])
            await stage.pass(61)
            try await stage.get("/a", ["Accept-Language": "en"], method: .head)
            let statistics = await stage.cache.statistics
            #expect(statistics.entries >= entries)
            #expect(try await stage.text("/a", ["Accept-Language": "fr"]) == "body network")
        }
    }
}
