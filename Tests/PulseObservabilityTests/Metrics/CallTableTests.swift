// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseObservability

@Suite(.throttled)
struct CallTableTests {
    enum Ids: CaseIterable, Sendable {
        case random, counted, countedFromTheTop, equalHalves

        func id(_ number: Int) -> UUID {
            let bits = UInt64(number)
            let (high, low): (UInt64, UInt64) =
                switch self {
                case .random: (bits &* 0x9E37_79B9_7F4A_7C15, bits &* 0xBF58_476D_1CE4_E5B9)
                case .counted: (0, bits)
                case .countedFromTheTop: (0, bits << 52)
                case .equalHalves: (bits, bits)
                }
            var uuid = UUID().uuid
            withUnsafeMutableBytes(of: &uuid) { bytes in
                bytes.storeBytes(of: high, as: UInt64.self)
                bytes.storeBytes(of: low, toByteOffset: 8, as: UInt64.self)
            }
            return UUID(uuid: uuid)
        }
    }

    @Test(arguments: Ids.allCases)
    @HeavyWork func behavesLikeADictionaryInARandomSchedule(ids: Ids) {
        let random = SplitMix(seed: 11)
        var (table, model) = (CallTable<Int>(), [UUID: Int]())
        for step in 0..<6_000 {
            let id = ids.id(random.below(300))
            switch random.below(5) {
            case 0, 1:
                let (old, expected) = (table.insert(step, for: id), model.updateValue(step, forKey: id))
                #expect(old == expected)
            case 2, 3:
                let (old, expected) = (table.remove(id), model.removeValue(forKey: id))
                #expect(old == expected)
            default: #expect(table[id] == model[id])
            }
            #expect(table.count == model.count)
        }
        table.updateAll { $0 += 1 }
        for number in 0..<300 { #expect(table[ids.id(number)] == model[ids.id(number)].map { $0 + 1 }) }
        table.removeAll()
        #expect(table.count == 0 && table[ids.id(1)] == nil)
        let gone = table.remove(ids.id(1))
        #expect(gone == nil)
    }

    @Test @HeavyWork func aBurstOfCallsIsInsertedAndRemoved() {
        var table = CallTable<Int>()
        let ids = (0..<5000).map { _ in UUID() }
        for _ in 0..<2 {
            let known = ids.enumerated().compactMap { table.insert($0.offset, for: $0.element) }
            #expect(known.isEmpty && table.count == ids.count)
            let removed = ids.map { table.remove($0) }
            #expect(removed == Array(ids.indices))
            #expect(table.count == 0)
        }
    }
}
