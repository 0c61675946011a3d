// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseObservability
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A server on a socket, a client with a cache, and a stopped clock.
final class CacheStage: Sendable {
    let server: MockServer
    let clock: TestClock
    let cache: CachePlugin
    let client: PulseClient
    private let sink = CacheEventLog()
    private let bus: PulseEventBus

    private init(
        _ server: MockServer, _ clock: TestClock, _ cache: CachePlugin, before: [any PulsePlugin],
        after: [any PulsePlugin]
    ) {
        self.server = server
        self.clock = clock
        self.cache = cache
        bus = PulseEventBus(sink: sink)
        client = ClientStage.client(of: server, plugins: before + [cache] + after, clock: clock, events: bus)
    }

    static func run(
        _ cache: CachePlugin = CachePlugin(policy: .rfc9111), before: [any PulsePlugin] = [],
        after: [any PulsePlugin] = [], clock: TestClock = TestClock(), _ body: (CacheStage) async throws -> Void
    ) async throws {
        try await MockServer.run { server in
            let stage = CacheStage(server, clock, cache, before: before, after: after)
            do {
                try await body(stage)
            } catch {
                await stage.client.shutdown()
                throw error
            }
            await stage.client.shutdown()
            #expect(cache.cache.flights.runCount == 0)
        }
    }

    // MARK: The server

    /// `Date` by the stage's clock, with an offset in seconds.
    func date(_ offset: TimeInterval = 0) -> String { HTTPDate.format(clock.now.addingTimeInterval(offset)) }

    /// Responds to GET with `body 1`, `body 2` and so on, these headers and a `Date`. A request whose `If-None-Match`
    /// has the `ETag` gets a 304.
    func serve(_ headers: HTTPHeaders) { serve("/a", headers) }

    func serve(_ path: String, status: Int = 200, _ headers: HTTPHeaders) {
        let count = Locked(0)
        server.on(.get, path) { request in
            var headers = headers
            if !headers.contains("Date") { headers["Date"] = self.date() }
            if let tag = headers["ETag"], request.headers["If-None-Match"]?.contains(tag) == true {
                return .status(304, headers: headers)
            }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .text("body \(number)", status: status, headers: headers)
        }
    }

    /// Requests that reached the server.
    var sent: Int { server.requests.count }
    var lastSent: RecordedRequest? { server.requests.last }

    // MARK: The client

    @discardableResult
    func get(
        _ path: String = "/a", _ headers: [String: String] = [:], cache mode: RequestOptions.Cache? = nil,
        method: HTTPMethod = .get, tag: String? = nil
    ) async throws -> PulseResponse {
        var options = RequestOptions()
        options.cache = mode
        options.acceptedStatuses = .any
        // No request in a test may end by a timeout.
        options.timeout = .infinity
        options.tag = tag
        options.headers = headers
        return try await client.rawRequest(Request<EmptyResponse>(method, PathTemplate(path)), options: options)
    }

    /// `body 1 network` and the like.
    func text(
        _ path: String = "/a", _ headers: [String: String] = [:], cache mode: RequestOptions.Cache? = nil
    ) async throws -> String {
        let response = try await get(path, headers, cache: mode)
        return String(decoding: response.data, as: UTF8.self) + " \(response.origin)"
    }

    func isFromNetwork(_ path: String = "/a", cache mode: RequestOptions.Cache? = nil) async throws -> Bool {
        try await get(path, cache: mode).origin == .network
    }

    func age(_ path: String = "/a") async throws -> String? {
        try await get(path).headers["Age"]
    }

    /// The names of the cache's events, in order.
    var events: [String] { sink.names.filter { $0.hasPrefix("cache") } }
    var warnings: [String] { sink.warnings }
    /// The invalidation events, as a sink that prints them sees them.
    var raw: String { sink.raw }

    /// Suspends until the cache has emitted this many store events.
    func untilStored(_ count: Int) async throws { try await sink.wait("cacheStored", count) }

    func pass(_ seconds: TimeInterval) async { await clock.advance(by: seconds) }
}

final class CacheEventLog: EventSink {
    private let events = Locked<[NetworkEvent]>([])
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    init() {
        (arrivals, arrived) = AsyncStream<Void>.makeStream()
    }

    var isActive: Bool { true }

    func emit(_ event: NetworkEvent) {
        events.withLock { $0.append(event) }
        arrived.yield()
    }

    /// For one task at a time.
    func wait(_ name: String, _ count: Int) async throws {
        if names.count(where: { $0 == name }) >= count { return }
        for await _ in arrivals where names.count(where: { $0 == name }) >= count { return }
        throw CancellationError()
    }

    var names: [String] {
        events.withLock { $0 }.map { Mirror(reflecting: $0).children.first?.label ?? "" }
    }

    var raw: String {
        var text = ""
        for case .cacheInvalidated(let url) in events.withLock({ $0 }) { dump(url.absoluteString, to: &text) }
        return text
    }

    var warnings: [String] {
        events.withLock { $0 }.compactMap { event in
            if case .warning(let text) = event { return text }
            return nil
        }
    }
}

func withStorage(onDisk: Bool, _ body: (any CacheStorage) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-cache-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(onDisk ? DiskCacheStorage(directory: folder) : MemoryCacheStorage())
}
