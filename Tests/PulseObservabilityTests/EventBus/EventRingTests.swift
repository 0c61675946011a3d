// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct EventRingTests {
    private static func text(_ event: NetworkEvent?) -> String? {
        guard case .warning(let text)? = event else { return nil }
        return text
    }

    @Test(arguments: [1, 2, 15, 16, 17, 100])
    func behavesLikeAnArrayInARandomSchedule(capacity: Int) {
        let random = SplitMix(seed: 7)
        var (ring, model) = (EventRing(capacity: capacity), [String]())
        for step in 0..<5000 {
            // Phases of filling and emptying, so that the ring wraps around at every size.
            if random.below(10) < (step / 500 % 2 == 0 ? 6 : 4) {
                let fits = ring.append(.warning("\(step)"))
                #expect(fits == (model.count < capacity))
                if model.count == capacity { model.removeFirst() }
                model.append("\(step)")
            } else {
                let (text, expected) = (Self.text(ring.popFirst()), model.isEmpty ? nil : model.removeFirst())
                #expect(text == expected)
            }
            #expect(ring.count == model.count)
        }
    }

    @Test func aRingAcceptsAnyCapacity() {
        for capacity in [Int.min, -1, 0, .max] {
            var ring = EventRing(capacity: capacity)
            let fits = ring.append(.warning("1"))
            let texts = [Self.text(ring.popFirst()), Self.text(ring.popFirst())]
            #expect(fits && texts == ["1", nil])
        }
    }
}
