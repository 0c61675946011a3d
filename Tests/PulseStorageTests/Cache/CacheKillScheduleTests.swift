// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

#if !canImport(UIKit)
/// Two processes at a time write in one folder until they are killed: 20 rounds in `swift test`, 1,000 where
/// `PULSE_STEPS` is 100,000.
@Suite(.tags(.schedule), .throttled)
struct CacheKillScheduleTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init).map { max(20, $0 / 100) } ?? 20

    /// Rounds run in parallel, each in a folder of its own.
    private static let groups = 4

    private static let victim = ChildProcess.product("cache-victim")

    @Test(arguments: 0..<groups)
    func everyResponseFoundAfterAKillIsIntact(group: Int) async throws {
        let rounds = Self.rounds / Self.groups
        try await TestFolder.run { folder in
            let random = SeededRandomness(seed: UInt64(9 + group))
            var found = 0
            for round in 0..<rounds {
                let what: Comment = "seed \(random.seed), round \(round)"
                // One of them may be killed before it has stored anything, the other one stores something first.
                let arguments = [0, 8].map { least in
                    [folder.url.path, "\(random.next() >> 1)", "\(1_000 + random.next() % 30_000)", "\(least)"]
                }
                async let first = ChildProcess.run(Self.victim, arguments[0])
                async let second = ChildProcess.run(Self.victim, arguments[1])
                #expect(try await [first.signal, second.signal] == [SIGKILL, SIGKILL], what)
                let store = DiskCacheStorage(directory: folder.url, maxBytes: 4 << 20, maxEntries: 30)
                let usage = await store.usage()
                #expect(usage.entries <= 30 && usage.bytes <= 4 << 20, what)
                #expect(try SystemDirectory.names(in: store.folder.temporaryPath).isEmpty, what)
                for number in 0..<40 {
                    for partition in ["0", "1"] {
                        let key = CacheKey(partition: partition, url: "/\(number)")
                        for response in await store.responses(for: key) {
                            let nonce = try #require(response.head.headers["X-Nonce"].flatMap(Int.init))
                            #expect("/\(nonce % 40)" == key.url && "\(nonce % 2)" == partition, what)
                            let whole = Self.body(key.url, nonce)
                            let ranges = response.head.parts?.ranges ?? [0..<whole.count]
                            let expected = ranges.reduce(into: Data()) { $0 += whole[$1] }
                            #expect(try await response.body.data() == expected, what)
                            found += 1
                        }
                    }
                }
            }
            #expect(found > 0)
        }
    }

    private static func body(_ path: String, _ nonce: Int) -> Data {
        Data(String(repeating: "\(path) \(nonce)\n", count: nonce % 9_000).utf8)
    }
}
#endif
