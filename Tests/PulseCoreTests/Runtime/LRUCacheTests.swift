// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct LRUCacheTests {
    @Test
    func theLeastRecentlyUsedValueIsEvicted() {
        var map = LRUCache<String, Int>(capacity: 2)
        map.withValue(for: "a", default: 1) { _ in }
        map.withValue(for: "b", default: 2) { _ in }
        map.withValue(for: "a", default: 0) { #expect($0 == 1) }
        map.withValue(for: "c", default: 3) { _ in }
        #expect(map.peek("b") == nil)
        #expect(map.peek("a") == 1)
        #expect(map.peek("c") == 3)
    }

    @Test
    func readingWithoutUseDoesNotRefreshAValue() {
        var map = LRUCache<String, Int>(capacity: 2)
        map.withValue(for: "a", default: 1) { _ in }
        map.withValue(for: "b", default: 2) { _ in }
        #expect(map.peek("a") == 1)
        map.withValue(for: "c", default: 3) { _ in }
        #expect(map.peek("a") == nil)
    }

    @Test
    func valuesInUseStayBeyondTheCapacity() {
        var map = LRUCache<Int, Bool>(capacity: 2, isEvictable: { $0 })
        for key in 0..<4 { map.withValue(for: key, default: false) { _ in } }
        #expect(map.count == 4)
        map.withValue(for: 1) { $0 = true }
        map.withValue(for: 3) { $0 = true }
        map.withValue(for: 9, default: true) { _ in }
        #expect(Set(map.keys) == [0, 2, 9])
    }

    @Test
    func removingTheOldestReturnsTheLeastRecentlyUsed() {
        var map = LRUCache<String, Int>(capacity: .max)
        map.withValue(for: "a", default: 1) { _ in }
        map.withValue(for: "b", default: 2) { _ in }
        map.withValue(for: "a") { _ in }
        #expect(map.removeLeastRecentlyUsed()?.key == "b")
        #expect(map.removeLeastRecentlyUsed()?.key == "a")
        #expect(map.removeLeastRecentlyUsed() == nil)
        #expect(map.count == 0)
    }

    /// The model is a list in order of use.
    @Test
    func theCacheAgreesWithAPlainModel() {
        let random = SeededRandomness(seed: 7)
        var map = LRUCache<Int, Int>(capacity: 5)
        var model: [(key: Int, value: Int)] = []
        for step in 0..<20_000 {
            let key = Int(random.next() % 12)
            let known = model.firstIndex { $0.key == key }
            switch random.next() % 4 {
            case 0, 1:
                map.withValue(for: key, default: 0) { $0 = step }
                if let known { model.remove(at: known) }
                model.append((key, step))
                if model.count > 5 { model.removeFirst() }
            case 2:
                let value = map.withValue(for: key) { $0 }
                #expect(value == known.map { model[$0].value })
                if let known { model.append(model.remove(at: known)) }
            default:
                #expect(map.removeValue(for: key) == known.map { model[$0].value })
                if let known { model.remove(at: known) }
            }
            #expect(Set(map.keys) == Set(model.map(\.key)))
        }
    }
}
