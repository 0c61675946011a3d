// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Partial responses in the store (RFC 9111, sections 3.3 and 3.4). Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CachePartsWireTests {
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

    @Test(arguments: [false, true], [false, true])
    func aPartIsStoredAndServed(onDisk: Bool, isStreamed: Bool) async throws {
        try await Self.run(onDisk: onDisk) { stage in
            #expect(try await stage.part("-5", isStreamed: isStreamed) == "206 bytes 5-9/10 56789 network")
            for (range, expected) in [
                ("-5", "206 bytes 5-9/10 56789 cache"), ("6-8", "206 bytes 6-8/10 678 cache"),
                ("6-", "206 bytes 6-9/10 6789 cache"), ("-1", "206 bytes 9-9/10 9 cache"),
                ("20-", "416 bytes */10 cache"),
            ] {
                #expect(try await stage.part(range, isStreamed: isStreamed) == expected)
            }
            #expect(stage.sent == 1)
            let head = try await stage.get("/a", ["Range": "bytes=6-8"])
            #expect(head.headers["ETag"] == "\"1\"" && head.headers["Age"] == "0")
            #expect(try await stage.part("4-5") == "206 bytes 4-5/10 45 network")
        }
    }

    @Test func aPartIsStoredEvenIfItsCallIsCancelledWhileAnotherOneIsJoined() async throws {
        try await Self.run { stage in
            let parts = stage.cache.cache.parts
            let key = CacheKey(url: CacheURL.normalized(stage.server.baseURL.appendingPathComponent("a")))
            try await parts.acquire(key)
            let call = Task { try await stage.part("0-4") }
            while parts.waiterCount(key) == 0 { await Task.yield() }
            call.cancel()
            parts.release(key)
            _ = try? await call.value
            while parts.keyCount > 0 { await Task.yield() }
            #expect(await stage.cache.statistics.entries == 1)
            #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 cache")
        }
    }

    @Test func aPartWithoutAValidatorIsServedAndNeverJoined() async throws {
        try await Self.run(["Cache-Control": "max-age=60"]) { stage in
            _ = try await stage.part("0-4")
            #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 cache")
            _ = try await stage.part("5-9")
            #expect(try await stage.part("5-6") == "206 bytes 5-6/10 56 cache")
            #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 network")
            #expect(try await stage.part(nil) == "200 0123456789 network")
            #expect(stage.lastAsked == [nil, nil])
        }
    }

    @Test(arguments: [false, true], [false, true])
    func partsOfOneVersionAreJoined(onDisk: Bool, isStreamed: Bool) async throws {
        try await Self.run(onDisk: onDisk) { stage in
            for range in ["0-1", "6-7", "4-6"] { _ = try await stage.part(range, isStreamed: isStreamed) }
            #expect(try await stage.part("4-7") == "206 bytes 4-7/10 4567 cache")
            #expect(try await stage.part("0-1") == "206 bytes 0-1/10 01 cache")
            #expect(stage.sent == 3)
            #expect(await stage.cache.statistics.entries == 1)
            // The missing bytes make it a whole response.
            for range in ["2-3", "8-"] { _ = try await stage.part(range, isStreamed: isStreamed) }
            #expect(try await stage.part(nil, isStreamed: isStreamed) == "200 0123456789 cache")
            #expect(stage.sent == 5)
        }
    }

    @Test func aPartThatCoversEverythingIsStoredAsAWholeResponse() async throws {
        try await Self.run { stage in
            _ = try await stage.part("0-")
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    @Test func concurrentPartsAreAllStored() async throws {
        try await Self.run { stage in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in 0..<10 {
                    group.addTask { _ = try await stage.part("\(start)-\(start)") }
                }
                try await group.waitForAll()
            }
            #expect(try await stage.part(nil) == "200 0123456789 cache")
            #expect(stage.sent == 10)
        }
    }

    @Test func aPartOfAnotherVersionReplacesTheOldParts() async throws {
        try await CacheStage.run { stage in
            let version = Locked(1)
            stage.serveRanges {
                let version = version.withLock { $0 }
                return RangeResource(
                    version == 1 ? "0123456789" : "abcdefghij",
                    ["Cache-Control": "max-age=60", "ETag": "\"\(version)\""])
            }
            _ = try await stage.part("0-4")
            version.withLock { $0 = 2 }
            _ = try await stage.part("5-9")
            #expect(try await stage.part("5-6") == "206 bytes 5-6/10 fg cache")
            #expect(try await stage.part("0-1") == "206 bytes 0-1/10 ab network")
        }
    }

    /// Weak tags, dates that are too recent, and differing lengths do not prove the same version.
    @Test(arguments: ["weak tag", "young date", "another length"])
    func partsAreJoinedOnlyUnderAStrongValidator(kind: String) async throws {
        try await CacheStage.run { stage in
            let changed = stage.date(-10)
            let count = Locked(0)
            stage.serveRanges {
                let isFirst = count.withLock { count in
                    count += 1
                    return count == 1
                }
                var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
                switch kind {
                case "weak tag": headers["ETag"] = "W/\"1\""
                case "young date": headers["Last-Modified"] = changed
                default: headers["ETag"] = "\"1\""
                }
                return RangeResource(kind == "another length" && isFirst ? "01234567" : Self.digits, headers)
            }
            _ = try await stage.part("0-1")
            _ = try await stage.part("2-9")
            #expect(try await stage.part("2-3").hasSuffix("cache"))
            // For the last part, whose version is known in one case, the rest is requested.
            let isKnown = kind == "another length"
            #expect(try await stage.part(nil) == "200 0123456789 \(isKnown ? "revalidated" : "network")")
            #expect(stage.lastAsked == (isKnown ? ["bytes=0-1", "\"1\""] : [nil, nil]))
        }
    }

    @Test func partsAreSeparatedByUserAndVary() async throws {
        try await Self.run(["Cache-Control": "max-age=60", "Vary": "Accept-Language"]) { stage in
            let requests: [[String: String]] = [
                ["Accept-Language": "en"], ["Accept-Language": "fr"], ["Accept-Language": "en", "Authorization": "a"],
            ]
            for request in requests {
                let part = try await stage.part("0-4", request)
                #expect(part == "206 bytes 0-4/10 01234 network")
            }
            for request in requests { #expect(try await stage.part("1-2", request) == "206 bytes 1-2/10 12 cache") }
        }
    }

    @Test func anUnsafeRequestInvalidatesParts() async throws {
        try await Self.run { stage in
            stage.server.on(.post, "/a") { _ in .text("changed") }
            _ = try await stage.part("0-4")
            try await stage.get(method: .post)
            #expect(try await stage.part("0-4") == "206 bytes 0-4/10 01234 network")
            await stage.cache.clearAll()
            #expect(try await stage.part("0-4") == "206 bytes 0-4/10 01234 network")
        }
    }

    @Test func aStalePartIsValidated() async throws {
        try await Self.run { stage in
            _ = try await stage.part("0-4")
            await stage.pass(61)
            #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 revalidated")
            #expect(stage.lastSent?.headers["If-None-Match"] == "\"1\"")
            #expect(try await stage.part("0-3") == "206 bytes 0-3/10 0123 cache")
            // A part without the requested bytes is not validated: a 304 would not supply them.
            await stage.pass(61)
            #expect(try await stage.part("3-6") == "206 bytes 3-6/10 3456 network")
            #expect(stage.lastSent?.headers["If-None-Match"] == nil)
            #expect(try await stage.part("0-6") == "206 bytes 0-6/10 0123456 cache")
        }
    }

    @Test func aStaleWholeResponseIsValidatedByARange() async throws {
        try await Self.run { stage in
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 revalidated")
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    /// After a reload: a part does not replace the whole response.
    @Test func aPartOfTheSameVersionDoesNotReplaceAWholeResponse() async throws {
        try await Self.run { stage in
            try await stage.get()
            await stage.pass(50)
            #expect(try await stage.part("1-2", cache: .reload) == "206 bytes 1-2/10 12 network")
            await stage.pass(50)
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    @Test func anUnstorablePartIsNotStored() async throws {
        for headers: HTTPHeaders in [
            ["Cache-Control": "no-store", "ETag": "\"1\""],
            ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Vary": "*"],
        ] {
            try await Self.run(headers) { stage in
                for _ in 0..<2 {
                    let part = try await stage.part("0-1")
                    #expect(part == "206 bytes 0-1/10 01 network")
                }
            }
        }
    }

    @Test func theTimeToLivePolicyStoresNoParts() async throws {
        try await CacheStage.run(CachePlugin(ttl: 60)) { stage in
            stage.serveRanges { RangeResource(Self.digits, Self.fresh) }
            for _ in 0..<2 {
                let part = try await stage.part("0-1")
                #expect(part == "206 bytes 0-1/10 01 network")
            }
            try await stage.get()
            #expect(try await stage.part("0-1") == "206 bytes 0-1/10 01 cache")
        }
    }

    /// A server without range support sends the whole response, which is stored as usual.
    @Test func aWholeResponseToARangeIsStored() async throws {
        try await CacheStage.run { stage in
            stage.serveRanges {
                var resource = RangeResource(Self.digits, Self.fresh)
                resource.knowsRanges = false
                return resource
            }
            let whole = try await stage.part("0-1")
            #expect(whole == "200 0123456789 network")
            #expect(try await stage.part("0-1") == "206 bytes 0-1/10 01 cache")
        }
    }

    @Test(arguments: [400, 416])
    func anErrorResponseToARangeRequestIsNotStored(status: Int) async throws {
        try await Self.run { stage in
            try await stage.get()
            await stage.pass(61)
            stage.server.on(.get, "/a") { _ in .text("no", status: status, headers: Self.fresh) }
            #expect(try await stage.part("50-") == "\(status) no network")
            #expect(try await stage.part(nil, cache: .cacheElseNetwork) == "200 0123456789 stale")
        }
    }

    @Test(arguments: [
        "bytes 0-1", "bytes 0-2/10", "bytes 1-0/10", "bytes 0-1/1", "bytes */10", "items 0-1/10", "0-1/10",
        "bytes 0-99999999999999999999/*", "bytes 0-9223372036854775807/*", "", "bytes 0-1/10, bytes 0-1/10",
    ])
    func aPartWithAnInvalidContentRangePassesUnstored(range: String) async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in
                var headers = Self.fresh
                headers["Content-Range"] = range
                return .data(Data("01".utf8), status: 206, headers: headers)
            }
            for isStreamed in [false, true, false] {
                let part = try await stage.part("0-1", isStreamed: isStreamed)
                #expect(part.hasSuffix("01 network"))
            }
        }
    }

    /// Found by the random schedule: a part claims to be the whole, but its body ends early.
    @Test(arguments: ["bytes 0-9/10", "bytes 0-9/20"])
    func aStreamShorterThanItsRangeIsNotStored(range: String) async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in
                var headers = Self.fresh
                headers["Content-Range"] = range
                return .data(Data("012345678".utf8), status: 206, headers: headers).framed(.chunked(sizes: [4]))
            }
            for isStreamed in [true, false] {
                let part = try await stage.part("0-", isStreamed: isStreamed)
                #expect(part.hasSuffix("012345678 network"))
            }
        }
    }

    @Test func severalRangesInOneResponseAreNotStored() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in
                .text(
                    "--x", status: 206,
                    headers: [
                        "Cache-Control": "max-age=60", "Content-Type": "multipart/byteranges; boundary=x",
                    ])
            }
            for _ in 0..<2 {
                let part = try await stage.part("0-1")
                #expect(part == "206 --x network")
            }
        }
    }
}
