// SPDX-License-Identifier: MIT

import Foundation
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// Random requests, clock jumps and floods against an unbounded memory.
@Suite(.tags(.schedule), .throttled)
struct NonceMemoryScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap { Int($0) } ?? 10_000

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func aRequestIsNeverAcceptedTwiceAndTheMemoryIsBounded(seed: UInt64) {
        let chance = SeededRandomness(seed: seed)
        let capacity = 50
        var memory = NonceMemory(capacity: capacity)
        var accepted: Set<String> = []
        var (now, floor) = (Int64(1000), Int64.min)
        for step in 0..<Self.steps {
            func below(_ limit: UInt64) -> Int64 { Int64(chance.next() % limit) }
            switch below(20) {
            case 0: now -= below(40)
            case 1: now += below(40)
            default: now += below(2)
            }
            let timestamp = now - 10 + below(21)
            let nonce = String(below(8))
            let request = "\(timestamp) \(nonce)"
            switch memory.admit(nonce, timestamp: timestamp, oldest: now - 10) {
            case .new:
                #expect(accepted.insert(request).inserted, "seed \(seed), step \(step): accepted twice")
                #expect(timestamp >= floor, "seed \(seed), step \(step): of an evicted second")
            case .replayed:
                #expect(accepted.contains(request), "seed \(seed), step \(step): never seen")
            case .evicted:
                floor = max(floor, timestamp + 1)
            }
            #expect(memory.count <= capacity, "seed \(seed), step \(step)")
        }
        #expect(accepted.count > Self.steps / 100)
    }

    @Test(arguments: [4, 5, 6] as [UInt64])
    @HeavyWork func verdictsMatchAPlainModel(seed: UInt64) {
        let chance = SeededRandomness(seed: seed)
        let capacity = 60
        var memory = NonceMemory(capacity: capacity)
        var plain = PlainMemory(capacity: capacity)
        var now: Int64 = 1000
        var verdicts: [NonceMemory.Verdict] = []
        for step in 0..<Self.steps {
            func below(_ limit: UInt64) -> Int64 { Int64(chance.next() % limit) }
            switch below(60) {
            case 0: now -= below(60)
            case 1: now += below(60)
            case 2: now += below(4) == 0 ? -10_000 : 10_000
            default: now += below(2)
            }
            let oldest = now - 10 - below(20)
            let timestamp = now - 30 + below(61)
            let nonce = String(below(3))
            let verdict = memory.admit(nonce, timestamp: timestamp, oldest: oldest)
            let expected = plain.admit(nonce, timestamp: timestamp, oldest: oldest)
            #expect(verdict == expected, "seed \(seed), step \(step)")
            #expect(memory.count == plain.entries.count, "seed \(seed), step \(step)")
            if !verdicts.contains(verdict) { verdicts.append(verdict) }
        }
        #expect(verdicts.count == 3)
    }
}

/// A plain model of the memory.
private struct PlainMemory {
    let capacity: Int
    private(set) var entries: [(second: Int64, nonce: String)] = []
    private var floor = Int64.min

    init(capacity: Int) {
        self.capacity = capacity
    }

    mutating func admit(_ nonce: String, timestamp: Int64, oldest: Int64) -> NonceMemory.Verdict {
        evict { $0 < oldest }
        guard timestamp >= floor else { return .evicted }
        guard !entries.contains(where: { $0.second == timestamp && $0.nonce == nonce }) else { return .replayed }
        entries.append((second: timestamp, nonce: nonce))
        while entries.count > capacity, let first = entries.map({ $0.second }).min() { evict { $0 == first } }
        return .new
    }

    private mutating func evict(where isEvicted: (Int64) -> Bool) {
        for (second, _) in entries where isEvicted(second) { floor = max(floor, second + 1) }
        entries.removeAll { isEvicted($0.second) }
    }
}
