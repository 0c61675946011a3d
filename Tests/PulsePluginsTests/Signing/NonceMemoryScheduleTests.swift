// SPDX-License-Identifier: MIT

import Foundation
import PulseTesting
import Testing

@testable import PulsePlugins

/// Random requests, clock jumps and floods against a memory without bounds.
@Suite(.timeLimit(.minutes(5)))
struct NonceMemoryScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap { Int($0) } ?? 10_000

    @Test(arguments: [1, 2, 3] as [UInt64])
    func neverTakesARequestTwiceAndStaysBounded(seed: UInt64) {
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
                #expect(accepted.insert(request).inserted, "seed \(seed), step \(step): taken twice")
                #expect(timestamp >= floor, "seed \(seed), step \(step): of a forgotten second")
            case .replayed:
                #expect(accepted.contains(request), "seed \(seed), step \(step): never seen")
            case .forgotten:
                floor = max(floor, timestamp + 1)
            }
            #expect(memory.count <= capacity, "seed \(seed), step \(step)")
        }
        #expect(accepted.count > Self.steps / 100)
    }
}
