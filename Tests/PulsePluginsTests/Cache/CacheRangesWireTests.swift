// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Ranges of stored responses (RFC 9110, sections 13.1.5, 14 and 15.3.7). Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheRangesWireTests {
    private static let digits = "0123456789"
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]

    private static func run(
        onDisk: Bool = false, _ headers: HTTPHeaders = fresh, _ body: (CacheStage) async throws -> Void
    ) async throws {
        try await withStorage(onDisk: onDisk) { store in
            try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
                stage.serveRanges { RangeResource(digits, headers) }
                try await body(stage)
                #expect(stage.cache.cache.parts.keyCount == 0)
            }
        }
    }

    @Test(arguments: [
        ("0-1", "206 bytes 0-1/10 01 cache"), ("7-", "206 bytes 7-9/10 789 cache"),
        ("-1", "206 bytes 9-9/10 9 cache"), ("-99", "206 bytes 0-9/10 0123456789 cache"),
        ("8-99", "206 bytes 8-9/10 89 cache"), ("0-9", "206 bytes 0-9/10 0123456789 cache"),
        ("8-99999999999999999999999", "206 bytes 8-9/10 89 cache"), (" 3-3 ,", "206 bytes 3-3/10 3 cache"),
        // After the end.
        ("10-", "416 bytes */10 cache"), ("99999999999999999999999-", "416 bytes */10 cache"),
        ("-0", "416 bytes */10 cache"),
        // Invalid, and therefore ignored.
        ("5-2", "200 0123456789 cache"), ("a-b", "200 0123456789 cache"), ("-", "200 0123456789 cache"),
        ("", "200 0123456789 cache"), ("0-1,x", "200 0123456789 cache"), ("0 -1", "200 0123456789 cache"),
    ])
    func aRangeOfAStoredResponseIsServedFromIt(range: String, expected: String) async throws {
        for onDisk in [false, true] {
            try await Self.run(onDisk: onDisk) { stage in
                try await stage.get()
                for isStreamed in [false, true] {
                    #expect(try await stage.part(range, isStreamed: isStreamed) == expected)
                }
                #expect(stage.sent == 1)
                #expect(try await stage.part(nil) == "200 0123456789 cache")
            }
        }
    }

    @Test func aSuffixRangeOfAnEmptyResponseIsTheWhole() async throws {
        try await CacheStage.run { stage in
            stage.serveRanges { RangeResource("", Self.fresh) }
            try await stage.get()
            #expect(try await stage.part("-5") == "200 cache")
            #expect(try await stage.part("0-") == "416 bytes */0 cache")
        }
    }

    @Test func severalRangesAndOtherUnitsGoToTheServer() async throws {
        try await Self.run { stage in
            try await stage.get()
            for range in ["bytes=0-1,4-5", "items=0-1"] {
                let response = try await stage.get("/a", ["Range": range])
                #expect(response.origin == .network)
                #expect(stage.lastSent?.headers["Range"] == range)
            }
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    @Test func aRangeOnHeadGoesToTheServer() async throws {
        try await Self.run { stage in
            stage.server.on(.head, "/a") { _ in .status(200, headers: Self.fresh) }
            try await stage.get()
            let head = try await stage.get("/a", ["Range": "bytes=0-1"], method: .head)
            #expect(head.statusCode == 200 && head.origin == .network)
        }
    }

    /// RFC 9110, section 14.2: a range applies only where the response would be a success.
    @Test func aRangeOfAStoredFailureIsServedAsTheFailure() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", status: 404, ["Cache-Control": "max-age=60"])
            try await stage.get()
            #expect(try await stage.part("0-1") == "404 body 1 cache")
        }
    }

    /// The field has no meaning in a 200 (RFC 9110, section 14.4).
    @Test func aContentRangeInA200IsStoredAndIgnored() async throws {
        var headers = Self.fresh
        headers["Content-Range"] = "bytes 3-4/5"
        try await Self.run(headers) { stage in
            try await stage.get()
            #expect(try await stage.part(nil) == "200 bytes 3-4/5 0123456789 cache")
            #expect(try await stage.part("0-1") == "206 bytes 0-1/10 01 cache")
        }
    }

    /// They cover the bytes of the whole.
    @Test func aServedPartHasNoDigestsOfTheWhole() async throws {
        var headers = Self.fresh
        for name in ["Content-MD5", "Content-Digest", "Repr-Digest"] { headers[name] = "x" }
        try await Self.run(headers) { stage in
            try await stage.get()
            let part = try await stage.get("/a", ["Range": "bytes=0-1"])
            #expect(part.headers["Repr-Digest"] == "x" && part.headers["Age"] == "0")
            #expect(!part.headers.contains("Content-MD5") && !part.headers.contains("Content-Digest"))
        }
    }

    // MARK: If-Range

    @Test(arguments: [
        ("\"1\"", "206 bytes 0-1/10 01 cache"), ("\"2\"", "200 0123456789 cache"), ("W/\"1\"", "200 0123456789 cache"),
        ("x", "200 0123456789 cache"),
    ])
    func ifRangeServesARangeOnlyOfTheSameVersion(condition: String, expected: String) async throws {
        try await Self.run { stage in
            try await stage.get()
            #expect(try await stage.part("0-1", ["If-Range": condition]) == expected)
            #expect(stage.sent == 1)
        }
    }

    @Test(arguments: [(-3_600.0, true), (-60, true), (-59, false)])
    func aDateInIfRangeMustBeStrong(offset: TimeInterval, isStrong: Bool) async throws {
        try await CacheStage.run { stage in
            let changed = stage.date(offset)
            stage.serveRanges {
                RangeResource(Self.digits, ["Cache-Control": "max-age=60", "Last-Modified": changed])
            }
            try await stage.get()
            let part = try await stage.part("0-1", ["If-Range": changed])
            #expect(part == (isStrong ? "206 bytes 0-1/10 01 cache" : "200 0123456789 cache"))
            #expect(try await stage.part("0-1", ["If-Range": stage.date(-9_999)]) == "200 0123456789 cache")
            #expect(stage.sent == 1)
        }
    }

    @Test func ifRangeWithoutARangeIsIgnored() async throws {
        try await Self.run { stage in
            try await stage.get()
            #expect(try await stage.part(nil, ["If-Range": "\"2\""]) == "200 0123456789 cache")
        }
    }
}
