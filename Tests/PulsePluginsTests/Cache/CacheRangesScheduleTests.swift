// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulseCalls
@testable import PulsePlugins

/// Random ranges, conditions, changes and failures through one cache, against a server with known versions. Every
/// response must have the bytes of exactly one version, as current as its freshness demands, with the stated range and
/// length.
@Suite(.tags(.schedule), .throttled)
struct CacheRangesScheduleTests {
    private static let steps =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { $0 / 10 } ?? 600

    @Test(arguments: [false, true]) func everyResponseHasTheBytesOfOneSufficientlyCurrentVersion(onDisk: Bool)
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // Small limits, so that entries are evicted and some are too large.
        let (bytes, entries) = (8_000, 6)
        let store: any CacheStorage =
            onDisk
            ? DiskCacheStorage(directory: folder, maxBytes: bytes, maxEntries: entries)
            : MemoryCacheStorage(maxBytes: bytes, maxEntries: entries)
        let trace = RangeTrace(store, seed: 34)
        // A trace that never reaches these cases would show nothing. Which of them come soon depends on the order in
        // which tasks run.
        let cases: Set = [
            "206 cache", "200 cache", "206 revalidated", "200 revalidated", "304 cache", "304 revalidated", "416 cache",
            "206 mock", "200 mock", "304 mock", "416 mock", "part from the store", "completed", "failed",
        ]
        var step = 0
        while step < Self.steps || step < 10 * Self.steps && !cases.isSubset(of: trace.counts.keys) {
            await trace.step(step)
            if trace.hasFailed { return }
            let usage = await store.usage()
            #expect(usage.bytes <= bytes && usage.entries <= entries)
            step += 1
        }
        await trace.client.shutdown()
        #expect(cases.isSubset(of: trace.counts.keys), "\(trace.counts)")
    }
}

private final class RangeTrace: Sendable {
    let client: PulseClient
    private let random: SeededRandomness
    private let clock = TestClock()
    private let server: VersionedServer
    private let cache: CachePlugin
    private let state = Locked((counts: [String: Int](), hasFailed: false))

    init(_ store: any CacheStorage, seed: UInt64) {
        random = SeededRandomness(seed: seed)
        server = VersionedServer(clock: clock, seed: seed &+ 1)
        cache = CachePlugin(policy: .rfc9111.respondingToConditionalRequests(), storage: store)
        client = ClientStage.client(
            .root, plugins: [cache], clock: clock,
            over: MockTransport(recordsRequests: false) { [server] in try server.respond(to: $0) })
    }

    var counts: [String: Int] { state.withLock { $0.counts } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    private func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
    private func chance(_ oneIn: UInt64) -> Bool { random.next() % oneIn == 0 }

    func step(_ number: Int) async {
        switch random.next() % 20 {
        case 0, 1: server.change(path())
        case 2...4: clock.shiftWallClock(by: TimeInterval(random.next() % 25))
        case 5: clock.shiftWallClock(by: 100)
        case 6: await post(path())
        case 7 where chance(10): await cache.clearAll()
        default:
            let requests = (0..<pick([1, 1, 1, 2, 4])).map { _ in plannedRequest() }
            await withTaskGroup(of: Void.self) { group in
                for request in requests { group.addTask { await self.get(request, number) } }
            }
        }
        await cache.cache.flights.waitUntilIdle()
    }

    private func path() -> String { pick(["/a", "/a", "/b", "/large"]) }

    private struct PlannedRequest: Sendable {
        let path: String
        let headers: [String: String]
        let mode: RequestOptions.Cache
        let isStreamed: Bool
    }

    private func plannedRequest() -> PlannedRequest {
        let path = path()
        var headers = ["Accept-Language": pick(["en", "EN;q=1.0", "fr"])]
        if chance(4) { headers["Authorization"] = pick(["Bearer a", "Bearer b"]) }
        let known = server.validators(path, headers)
        if !chance(3) {
            let (first, last) = (Int(random.next() % 50), Int(random.next() % 50))
            headers["Range"] =
                "bytes="
                + pick([
                    "\(first)-", "-\(last)", "\(min(first, last))-\(max(first, last))", "0-\(last)", "5-2", "0-0,4-4",
                ])
            if chance(5) { headers["If-Range"] = pick(known) }
        } else if chance(3) {
            headers["If-None-Match"] = pick(known + ["\"x\", " + pick(known), "*"])
        }
        let mode: RequestOptions.Cache =
            chance(2) ? .default : pick([.default, .reload, .revalidate, .onlyIfCached, .staleWhileRevalidate])
        return PlannedRequest(path: path, headers: headers, mode: mode, isStreamed: chance(3))
    }

    private func post(_ path: String) async {
        var options = RequestOptions()
        options.acceptedStatuses = .any
        let response = try? await client.rawRequest(Request<EmptyResponse>(.post, PathTemplate(path)), options: options)
        // Whatever the outcome, the cache removes what the request may have changed.
        if response != nil { server.raiseFloor(path) }
    }

    private func get(_ request: PlannedRequest, _ step: Int) async {
        var options = RequestOptions()
        options.acceptedStatuses = .any
        options.headers = request.headers
        options.cache = request.mode
        var response: PulseResponse
        do {
            let endpoint = Request<EmptyResponse>(.get, PathTemplate(request.path))
            let shape = CallShape(delivery: request.isStreamed ? .streamed : nil)
            response = try await client.perform(client.plan(endpoint, options, shape))
            if let bytes = response.bytes { response.data = try await bytes.collect(upTo: .max) }
        } catch {
            count("failed")
            return
        }
        count("\(response.statusCode) \(response.origin)")
        if response.statusCode == 206, response.origin == .cache { count("part from the store") }
        if response.statusCode == 200, response.origin == .revalidated { count("completed") }
        guard let problem = server.problem(with: response, request.path, request.headers, isFirst: request.mode) else {
            return
        }
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed
        }
        guard isFirst else { return }
        let text =
            "seed \(random.seed), step \(step): \(request): \(response.statusCode) \(response.origin) \(response.headers): \(problem)"
        Issue.record("\(text)")
    }

    private func count(_ name: String) {
        state.withLock { $0.counts[name, default: 0] += 1 }
    }
}
