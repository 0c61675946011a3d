// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulsePlugins
import PulseStorage
import PulseTesting
import TestSupport
import Testing

/// Completing partial entries (RFC 9111, section 3.4). Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheCompletionWireTests {
    private static let digits = "0123456789"
    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]

    private static func run(
        onDisk: Bool = false, _ body: (CacheStage, Locked<RangeResource>) async throws -> Void
    ) async throws {
        let resource = Locked(RangeResource(digits, fresh))
        try await withStorage(onDisk: onDisk) { store in
            try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: store)) { stage in
                stage.serveRanges { resource.withLock { $0 } }
                try await body(stage, resource)
            }
        }
    }

    @Test(
        arguments: [
            (["0-4"], "bytes=5-9"), (["4-9"], "bytes=0-3"), (["0-1", "7-9"], "bytes=2-6"),
            (["0-1", "4-5", "8-9"], "bytes=2-7"), (["0-1", "4-5"], "bytes=2-9"),
        ], [false, true])
    func onlyTheMissingBytesAreRequested(_ parts: (held: [String], asked: String), isStreamed: Bool) async throws {
        for onDisk in [false, true] {
            try await Self.run(onDisk: onDisk) { stage, _ in
                for range in parts.held { _ = try await stage.part(range) }
                let sent = stage.sent
                #expect(try await stage.part(nil, isStreamed: isStreamed) == "200 0123456789 revalidated")
                #expect(stage.lastAsked == [parts.asked, "\"1\""])
                #expect(stage.lastSent?.headers["Accept-Encoding"] == "identity")
                #expect(try await stage.part(nil, isStreamed: isStreamed) == "200 0123456789 cache")
                #expect(stage.sent == sent + 1)
                #expect(await stage.cache.statistics.revalidations == 1)
            }
        }
    }

    @Test func missingBytesOfAnUnknownLengthAreRequestedWithoutAnEnd() async throws {
        try await Self.run { stage, resource in
            resource.withLock { $0.tellsLength = false }
            _ = try await stage.part("0-4")
            #expect(try await stage.part("1-2") == "206 bytes 1-2/* 12 cache")
            // Only the server can serve a range that depends on the length.
            #expect(try await stage.part("1-") == "206 bytes 1-9/* 123456789 network")
            await stage.cache.clearAll()
            _ = try await stage.part("0-4")
            resource.withLock { $0.tellsLength = true }
            #expect(try await stage.part(nil) == "200 0123456789 revalidated")
            #expect(stage.lastAsked == ["bytes=5-", "\"1\""])
        }
    }

    @Test func aPartWithoutAKnownLengthIsNotCompleted() async throws {
        try await Self.run { stage, resource in
            resource.withLock { $0.tellsLength = false }
            _ = try await stage.part("0-4")
            #expect(try await stage.part(nil) == "200 0123456789 network")
            #expect(stage.lastAsked == [nil, nil])
        }
    }

    @Test(arguments: [false, true])
    func aChangedVersionIsServedWhole(ignoresIfRange: Bool) async throws {
        for isStreamed in [false, true] {
            try await Self.run { stage, resource in
                _ = try await stage.part("0-4")
                resource.withLock { resource in
                    resource = RangeResource("abcdefghij", ["Cache-Control": "max-age=60", "ETag": "\"2\""])
                    resource.ignoresIfRange = ignoresIfRange
                }
                #expect(try await stage.part(nil, isStreamed: isStreamed) == "200 abcdefghij network")
                // The whole response comes at once, or after a part that does not fit.
                #expect(stage.sent == (ignoresIfRange ? 3 : 2))
                #expect(try await stage.part(nil) == "200 abcdefghij cache")
            }
        }
    }

    @Test(arguments: ["shorter", "longer", "elsewhere", "another length", "416", "304"])
    func aResponseThatDoesNotCompleteThePartIsRefetchedWhole(kind: String) async throws {
        try await Self.run { stage, _ in
            _ = try await stage.part("0-4")
            stage.server.on(.get, "/a") { request in
                let resource = RangeResource(Self.digits, Self.fresh)
                guard request.headers["Range"] != nil else { return .data(resource.body, headers: Self.fresh) }
                let (status, headers, body) =
                    switch kind {
                    case "shorter": resource.part(5..<8)
                    case "longer": resource.part(4..<10)
                    case "elsewhere": resource.part(0..<5)
                    case "another length": RangeResource(Self.digits + "a", Self.fresh).part(5..<10)
                    case "416": (416, ["Content-Range": "bytes */4"], Data())
                    default: (304, Self.fresh, Data())
                    }
                return .data(body, status: status, headers: headers)
            }
            #expect(try await stage.part(nil) == "200 0123456789 network")
            #expect(stage.sent == 3)
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    /// A body shorter than its head states: no delivered byte is misplaced.
    @Test func aRestOfTheWrongLengthFailsTheStream() async throws {
        for isStreamed in [false, true] {
            try await Self.run { stage, _ in
                _ = try await stage.part("0-4")
                stage.server.on(.get, "/a") { request in
                    let resource = RangeResource(Self.digits, Self.fresh)
                    guard request.headers["Range"] != nil else { return .data(resource.body, headers: Self.fresh) }
                    let (status, headers, body) = resource.part(5..<10)
                    return .data(Data(body.dropLast()), status: status, headers: headers).framed(.chunked(sizes: [2]))
                }
                if isStreamed {
                    await #expect(throws: PulseError.self) { try await stage.part(nil, isStreamed: true) }
                }
                #expect(try await stage.part(nil) == "200 0123456789 network")
            }
        }
    }

    @Test func aStalePartIsCompleted() async throws {
        try await Self.run { stage, _ in
            _ = try await stage.part("0-4")
            await stage.pass(100)
            #expect(try await stage.part(nil) == "200 0123456789 revalidated")
            #expect(try await stage.part(nil) == "200 0123456789 cache")
        }
    }

    @Test func theFieldsOfTheRestReplaceThoseOfThePart() async throws {
        try await Self.run { stage, resource in
            _ = try await stage.part("0-4")
            var headers = Self.fresh
            headers["X-New"] = "1"
            headers["Content-MD5"] = "of the rest"
            resource.withLock { [headers] in $0 = RangeResource(Self.digits, headers) }
            let whole = try await stage.get()
            #expect(whole.headers["X-New"] == "1" && whole.headers["Content-Length"] == "10")
            #expect(!whole.headers.contains("Content-Range") && !whole.headers.contains("Content-MD5"))
        }
    }

    @Test func callsThatNeedTheSameRestShareOneRequest() async throws {
        try await Self.run { stage, _ in
            _ = try await stage.part("0-4")
            let gate = Gate()
            stage.server.on(.get, "/a") { request in
                await gate.pass()
                let (status, headers, body) = RangeResource(Self.digits, Self.fresh).response {
                    request.headers[$0]
                }
                return .data(body, status: status, headers: headers)
            }
            let texts = try await stage.many(3, whenWaiting: { gate.open() }) { try await stage.part(nil) }
            #expect(texts.sorted().first == "200 0123456789 coalesced" && Set(texts).count == 2)
            #expect(stage.sent == 2)
        }
    }

    @Test func afterAServerFailureAPartServesOnlyTheBytesItHas() async throws {
        var headers = Self.fresh
        headers["Cache-Control"] = "max-age=60, stale-if-error=600"
        let resource = RangeResource(Self.digits, headers)
        try await CacheStage.run { stage in
            stage.serveRanges { resource }
            _ = try await stage.part("0-4")
            await stage.pass(100)
            stage.server.on(.get, "/a") { _ in .status(503) }
            #expect(try await stage.part("0-2") == "206 bytes 0-2/10 012 stale")
            #expect(try await stage.part("4-6") == "503 network")
            #expect(try await stage.part(nil) == "503 network")
        }
    }

    @Test func aDamagedPartIsRefetchedWhole() async throws {
        try await withStorage(onDisk: false) { store in
            let broken = BrokenBodies(store)
            try await CacheStage.run(CachePlugin(policy: .rfc9111, storage: broken)) { stage in
                stage.serveRanges { RangeResource(Self.digits, Self.fresh) }
                for isStreamed in [false, true] {
                    _ = try await stage.part("0-4")
                    broken.isBroken.withLock { $0 = true }
                    #expect(try await stage.part(nil, isStreamed: isStreamed) == "200 0123456789 network")
                    broken.isBroken.withLock { $0 = false }
                    await stage.cache.clearAll()
                }
                _ = try await stage.part("0-4")
                broken.isBroken.withLock { $0 = true }
                #expect(try await stage.part("1-2") == "206 bytes 1-2/10 12 network")
            }
        }
    }
}

/// A store whose bodies are unreadable while it is broken.
private final class BrokenBodies: CacheStorage {
    let isBroken = Locked(false)
    private let store: any CacheStorage

    init(_ store: any CacheStorage) {
        self.store = store
    }

    func responses(for key: CacheKey) async -> [CachedResponse] {
        let found = await store.responses(for: key)
        guard isBroken.withLock({ $0 }) else { return found }
        return found.map { CachedResponse(head: $0.head, body: CachedResponse.Body(Unreadable(count: $0.body.count))) }
    }

    func store(_ response: CachedResponse, for key: CacheKey) async throws -> Bool {
        try await store.store(response, for: key)
    }

    func writer(for key: CacheKey) async throws -> any CachedResponse.Writer { try await store.writer(for: key) }
    func remove(_ selection: CacheKey.Selection) async throws -> Int { try await store.remove(selection) }
    func usage() async -> CacheUsage { await store.usage() }

    private struct Unreadable: CachedResponse.BodySource {
        let count: Int
        func data() async throws -> Data { throw CancellationError() }
        func stream() async throws -> ByteStream { throw CancellationError() }
    }
}
