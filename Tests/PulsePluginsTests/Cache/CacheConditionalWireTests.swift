// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseTesting
import TestSupport
import Testing

/// The caller's own conditions, evaluated by the cache (RFC 9111, section 4.3.2; RFC 9110, section 13.1). Over sockets,
/// under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheConditionalWireTests {
    private static func run(_ body: (CacheStage) async throws -> Void) async throws {
        try await CacheStage.run(CachePlugin(policy: .rfc9111.respondingToConditionalRequests()), body)
    }

    private static func text(_ response: PulseResponse) -> String {
        "\(response.statusCode) \(String(decoding: response.data, as: UTF8.self)) \(response.origin)"
    }

    @Test(arguments: [
        ("\"1\"", true), ("W/\"1\"", true), ("\"0\", \"1\", \"2\"", true), ("*", true), ("\"2\"", false), ("1", false),
        ("\"0,\"1\"", false), ("", false),
    ])
    func ifNoneMatchOfAFreshResponseIsA304(tags: String, isSame: Bool) async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Own": "1"])
            try await stage.get()
            let response = try await stage.get("/a", ["If-None-Match": tags])
            #expect(Self.text(response) == (isSame ? "304  cache" : "200 body 1 cache"))
            #expect(response.headers["ETag"] == "\"1\"" && response.headers["Age"] == "0")
            #expect(response.headers.contains("Content-Length") != isSame)
            #expect(stage.sent == 1)
        }
    }

    @Test(arguments: [
        (-3_000.0, true), (-2_000, true), (0, true), (-3_001, false),
    ])
    func ifModifiedSinceIsComparedWithLastModified(offset: TimeInterval, isSame: Bool) async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Last-Modified": stage.date(-3_000)])
            try await stage.get()
            let response = try await stage.get("/a", ["If-Modified-Since": stage.date(offset)])
            #expect(Self.text(response) == (isSame ? "304  cache" : "200 body 1 cache"))
        }
    }

    @Test func ifModifiedSinceIsComparedWithDateWithoutLastModified() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.get("/a", ["If-Modified-Since": stage.date()]).statusCode == 304)
            #expect(try await stage.get("/a", ["If-Modified-Since": stage.date(-1)]).statusCode == 200)
            #expect(try await stage.get("/a", ["If-Modified-Since": "yesterday"]).statusCode == 200)
            #expect(stage.sent == 1)
        }
    }

    @Test func ifNoneMatchTakesPrecedenceOverIfModifiedSince() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": stage.date(-3_000)])
            try await stage.get()
            let fields = ["If-None-Match": "\"2\"", "If-Modified-Since": stage.date()]
            #expect(try await stage.get("/a", fields).statusCode == 200)
            #expect(stage.sent == 1)
        }
    }

    /// RFC 9110, section 13.2.1.
    @Test func aConditionAppliesToASuccessOnly() async throws {
        try await Self.run { stage in
            stage.serve("/a", status: 404, ["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "*"])) == "404 body 1 cache")
        }
    }

    @Test func validationSendsTheCachesAndTheCallersTags() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            await stage.pass(61)
            let own = try await stage.get("/a", ["If-None-Match": "\"0\""])
            #expect(Self.text(own) == "200 body 1 revalidated")
            #expect(stage.lastSent?.headers["If-None-Match"] == "\"0\", \"1\"")
            await stage.pass(61)
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "\"1\""])) == "304  revalidated")
            #expect(stage.lastSent?.headers["If-None-Match"] == "\"1\"")
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "\"1\""])) == "304  cache")
            #expect(stage.sent == 3)
        }
    }

    /// The stored response is outdated then.
    @Test func a304ToTheCallersTagGoesToTheCaller() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            await stage.pass(61)
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"2\""])
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "\"2\""])) == "304  network")
            #expect(try await Self.text(stage.get("/a", cache: .cacheElseNetwork)) == "200 body 1 network")
        }
    }

    @Test func a304WithoutATagCausesAResendWhenTheCallerSentTags() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            await stage.pass(61)
            stage.server.on(.get, "/a") { request in
                request.headers["If-None-Match"] == "\"2\"" ? .text("new") : .status(304)
            }
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "\"2\""])) == "200 new network")
        }
    }

    @Test func aResponseToAConditionalRequestIsStored() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            let first = try await stage.get("/a", ["If-None-Match": "\"0\""])
            #expect(Self.text(first) == "200 body 1 network")
            #expect(try await Self.text(stage.get("/a", ["If-None-Match": "\"1\""])) == "304  cache")
            #expect(try await Self.text(stage.get()) == "200 body 1 cache")
        }
    }

    @Test func conditionsOnHeadAreEvaluatedAsOnGET() async throws {
        try await Self.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "ETag": "\"1\""])
            try await stage.get()
            #expect(try await stage.get("/a", ["If-None-Match": "\"1\""], method: .head).statusCode == 304)
            #expect(stage.sent == 1)
        }
    }

    /// RFC 9111, section 4.3.2: only the server evaluates these.
    @Test(arguments: [
        ["If-Match": "\"1\""], ["If-Unmodified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"],
        ["If-None-Match": "\"1\"", "Range": "bytes=0-1"],
    ])
    func ifMatchAndIfUnmodifiedSinceBypassTheCache(fields: [String: String]) async throws {
        try await Self.run { stage in
            stage.server.on(.get, "/a") { _ in .text("a", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]) }
            try await stage.get()
            #expect(try await stage.get("/a", fields).origin == .network)
        }
    }
}
