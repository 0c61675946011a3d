// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled, .timeLimit(.minutes(15)))
struct MembersTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func membersAgreeWithADictionary(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        var (members, model) = (Members<UInt64>(), [Int: UInt64]())
        for step in 0..<2_000 {
            let (number, value) = (Int(random.next() % 4), random.next())
            switch random.next() % 4 {
            case 0, 1:
                members[number] = value
                model[number] = value
            case 2:
                members[number] = nil
                model[number] = nil
            default:
                let removed = members.remove(number)
                #expect(removed == model.removeValue(forKey: number), "seed \(seed), step \(step)")
            }
            var values: [UInt64] = []
            members.forEach { values.append($0) }
            #expect(values.sorted() == model.values.sorted(), "seed \(seed), step \(step)")
            #expect(members.isEmpty == model.isEmpty, "seed \(seed), step \(step)")
            for number in 0..<4 { #expect(members[number] == model[number], "seed \(seed), step \(step)") }
        }
    }
}
