// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Reporting

/// Measures the cost that the cache adds to a call and the cost of its stores, beside `URLCache` and a plain
/// dictionary. Prints it, and exits with code 1 if a limit is exceeded. `--short` runs a fiftieth of it, with margins
/// that only a gross regression exceeds.
@main
struct CacheBenchmarks {
    private let isShort: Bool
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cache-benchmarks-\(UUID())")
    private var report = Report()
    private var promises: [Promise] = []

    static func main() async throws {
        let isShort = CommandLine.arguments.contains("--short")
        let holds = try await Task.detached {
            var benchmarks = CacheBenchmarks(isShort: isShort)
            defer { try? FileManager.default.removeItem(at: benchmarks.folder) }
            return try await benchmarks.run()
        }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
    }

    private mutating func run() async throws -> Bool {
        try await measureCalls()
        try await measureLookups()
        try await measureSets()
        try await measureOpening()
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    private mutating func promise(_ text: String, atMost limit: Double, _ measured: Double) {
        promises.append(Promise(text, .atMost, limit, measured: measured, margin: isShort ? 4 : 0.03))
    }

    // MARK: Calls

    private mutating func measureCalls() async throws {
        let disk = DiskCacheStorage(directory: folder.appendingPathComponent("calls"))
        let bare = try CachedWorkload.client()
        let memory = try CachedWorkload.client(plugins: [.cache(policy: .rfc9111, storage: .memory())])
        let plain = try CachedWorkload.client(plugins: [.cache(ttl: 300)])
        let onDisk = try CachedWorkload.client(plugins: [.cache(policy: .rfc9111, storage: disk)])
        let missing = try CachedWorkload.client(
            plugins: [.cache(policy: .rfc9111, storage: .memory())], control: "no-store")
        let calls = [
            ("bare client over a mock", bare), ("hit in memory, RFC 9111", memory), ("hit in memory, plain TTL", plain),
            ("hit on disk", onDisk), ("no-store response through the cache", missing),
        ]
        report.heading("client.rawRequest, 100 KB body", ["minimum", "median", "added"])
        let costs = try await costs(calls.map { $0.1 }) { _ = try await CachedWorkload.call($0) }
        for ((name, _), cost) in zip(calls, costs) {
            report.row(
                name, [Self.micro(cost.minimum), Self.micro(cost.median), Self.micro(cost.minimum - costs[0].minimum)])
        }
        promise("hit in memory, RFC 9111 / bare call", atMost: 2, costs[1].minimum / costs[0].minimum)
        promise("hit in memory, plain TTL / bare call", atMost: 1.5, costs[2].minimum / costs[0].minimum)
        let file = folder.appendingPathComponent("plain")
        try CachedWorkload.body.write(to: file)
        let read = try await self.costs([file]) { keep(try Data(contentsOf: $0)) }[0]
        report.row("Data(contentsOf:) of that size", [Self.micro(read.minimum), Self.micro(read.median), ""])
        promise(
            "what a hit on disk adds / reading a file", atMost: 10,
            (costs[3].minimum - costs[0].minimum) / read.minimum)
    }

    // MARK: Stores by themselves

    private mutating func measureLookups() async throws {
        let memory = MemoryCacheStorage()
        let disk = DiskCacheStorage(directory: folder.appendingPathComponent("lookups"))
        let key = CacheKey(url: CachedWorkload.address)
        let response = CachedWorkload.response
        _ = try await memory.store(response, for: key)
        _ = try await disk.store(response, for: key)
        let dictionary = Locked([key: response])
        report.heading("a look-up of 100 KB", ["minimum", "median", ""])
        let names = ["plain dictionary behind a lock", "MemoryCacheStorage", "DiskCacheStorage, read and checked"]
        let lookUps: [@Sendable () async throws -> Int] = [
            { dictionary.value(for: key)?.body.count ?? 0 },
            { await memory.responses(for: key).first?.body.count ?? 0 },
            { try await disk.responses(for: key).first?.body.data().count ?? 0 },
        ]
        for (name, cost) in zip(names, try await costs(lookUps) { _ = try await $0() }) {
            report.row(name, [Self.micro(cost.minimum), Self.micro(cost.median), ""])
        }
        try await measureURLCache()
    }

    private mutating func measureURLCache() async throws {
        guard let url = URL(string: CachedWorkload.address),
            let reply = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=600"])
        else { return }
        let request = URLRequest(url: url)
        let cached = CachedURLResponse(response: reply, data: CachedWorkload.body)
        for (name, memory, disk) in [("URLCache in memory", 8 << 20, 0), ("URLCache on disk", 0, 64 << 20)] {
            let cache = URLCache(
                memoryCapacity: memory, diskCapacity: disk, diskPath: folder.appendingPathComponent("url-cache").path)
            cache.storeCachedResponse(cached, for: request)
            var samples: [Double] = []
            for _ in 0..<(isShort ? 20 : 400) {
                let start = SystemClock().uptime
                let found = cache.cachedResponse(for: request)
                samples.append(SystemClock().uptime - start)
                if found == nil { samples = [] }
                if found == nil { break }
            }
            samples.sort()
            report.row(
                name,
                samples.isEmpty
                    ? ["finds nothing", "", ""] : [Self.micro(samples[0]), Self.micro(samples[samples.count / 2]), ""])
        }
    }

    /// The cost of a set must not depend on the number of entries.
    private mutating func measureSets() async throws {
        let counts = isShort ? [100, 1_000] : [1_000, 10_000, 100_000]
        report.heading("a set of 1 KB, by entries there", ["memory", "disk", ""])
        var stores: [(store: any CacheStorage, count: Int)] = []
        for count in counts {
            let memory = MemoryCacheStorage(maxBytes: 1 << 30, maxEntries: count)
            let disk = DiskCacheStorage(
                directory: folder.appendingPathComponent("sets-\(count)"), maxBytes: 1 << 32, maxEntries: count)
            for number in 0..<count {
                _ = try await memory.store(CachedWorkload.small, for: CachedWorkload.key(number))
                _ = try await disk.store(CachedWorkload.small, for: CachedWorkload.key(number))
            }
            stores += [(memory, count), (disk, count)]
        }
        let costs = try await sets(stores)
        let ofMemory = counts.indices.map { costs[2 * $0] }
        let ofDisk = counts.indices.map { costs[2 * $0 + 1] }
        for (index, count) in counts.enumerated() {
            report.row("\(count)", [Self.micro(ofMemory[index]), Self.micro(ofDisk[index]), ""])
        }
        promise("a set in memory among most / fewest entries", atMost: 3, (ofMemory.last ?? 0) / ofMemory[0])
        promise("a set on disk among most / fewest entries", atMost: 3, (ofDisk.last ?? 0) / ofDisk[0])
    }

    /// Seconds of a set that evicts one entry, in each of the stores: the median, or in the short form, which must hold
    /// on any machine, the best. The stores alternate, so that a busy moment affects them alike.
    private func sets(_ stores: [(store: any CacheStorage, count: Int)]) async throws -> [Double] {
        var samples = [[Double]](repeating: [], count: stores.count)
        for number in 0..<(isShort ? 50 : 1_000) {
            for (index, (store, count)) in stores.enumerated() {
                let key = CachedWorkload.key(count + number)
                let before = SystemClock().uptime
                _ = try await store.store(CachedWorkload.small, for: key)
                samples[index].append(SystemClock().uptime - before)
            }
        }
        return samples.map { samples in
            let sorted = samples.sorted()
            return isShort ? sorted[0] : sorted[sorted.count / 2]
        }
    }

    private mutating func measureOpening() async throws {
        let count = isShort ? 1_000 : 100_000
        let directory = folder.appendingPathComponent("sets-\(count)")
        var first: [Double] = []
        var whole: [Double] = []
        for _ in 0..<5 {
            let start = SystemClock().uptime
            let store = DiskCacheStorage(directory: directory, maxBytes: 1 << 32, maxEntries: count)
            let found = await store.responses(for: CachedWorkload.key(count + 7)).count
            first.append(SystemClock().uptime - start)
            let usage = await store.usage()
            whole.append(SystemClock().uptime - start)
            guard found == 1, usage.entries == count else { throw PulseError.cacheMiss }
        }
        report.heading("opening \(count) entries", ["minimum", "", ""])
        report.row("the first response found", [Self.micro(first.min() ?? 0), "", ""])
        report.row("all counted, in order of use", [Self.micro(whole.min() ?? 0), "", ""])
        // Entries are counted in the background; calls wait only for their own file. In the short form both take a time
        // slice of a busy machine.
        if isShort { return }
        promise("opened, first response / all counted", atMost: 0.05, (first.min() ?? 0) / (whole.min() ?? 0))
    }

    // MARK: Figures

    private struct Cost {
        let minimum: Double
        let median: Double
    }

    /// Seconds of one run of each, alternating, so that a busy moment of the machine affects them alike.
    private func costs<Subject>(
        _ subjects: [Subject], _ run: (Subject) async throws -> Void
    ) async throws -> [Cost] {
        var samples = [[Double]](repeating: [], count: subjects.count)
        let clock = SystemClock()
        for _ in 0..<(isShort ? 20 : 1_000) {
            for (index, subject) in subjects.enumerated() {
                let times = 20
                let start = clock.uptime
                for _ in 0..<times { try await run(subject) }
                samples[index].append((clock.uptime - start) / Double(times))
            }
        }
        return samples.map { samples in
            let sorted = samples.sorted()
            return Cost(minimum: sorted[0], median: sorted[sorted.count / 2])
        }
    }

    private static func micro(_ seconds: Double) -> String { Report.decimal(seconds * 1e6, 1) + " µs" }
}
