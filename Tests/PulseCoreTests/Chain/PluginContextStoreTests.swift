// SPDX-License-Identifier: MIT

import PulseTesting
import TestSupport
import Testing

@testable import PulseCore

@Suite(.throttled)
struct PluginContextStoreTests {
    private enum Account: PluginContext.Key { typealias Value = String }
    private enum Session: PluginContext.Key { typealias Value = String }

    @Test
    func valuesAreStoredByName() throws {
        let store = PluginContext.mock().store
        let start = Date()
        #expect(store["start"] == nil)
        store["start"] = start
        #expect(store["start"] as? Date == start)
        store["start"] = "later"
        #expect(store["start"] as? String == "later")
        store["start"] = nil
        #expect(store["start"] == nil)
    }

    @Test
    func keysOfDifferentTypesDoNotCollide() {
        let store = PluginContext.mock().store
        store[Account.self] = "a"
        store[Session.self] = "s"
        store["Account"] = "named"
        #expect(store[Account.self] == "a")
        #expect(store[Session.self] == "s")
        store[Account.self] = nil
        #expect(store[Account.self] == nil)
        #expect(store[Session.self] == "s")
    }

    @Test
    func copiesShareTheirValues() {
        let store = PluginContext.mock().store
        let copy = store
        copy["a"] = 1
        #expect(store["a"] as? Int == 1)
    }

    @Test
    func aDetachedStoreCopiesOnlyTypedValues() {
        let context = PluginContext.mock()
        let store = context.store
        store["named"] = 1
        store[Account.self] = "a"
        let detached = context.detached().store
        #expect(detached["named"] == nil)
        #expect(detached[Account.self] == "a")
        detached[Account.self] = "b"
        #expect(store[Account.self] == "a")
    }
}

@Suite(.tags(.threads, .addresses), .throttled)
struct ContextStoreStressTests {
    @Test
    func concurrentWritesAreSafe() async {
        let store = PluginContext.mock().store
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<500 {
                        store["\(task)"] = step
                        _ = store["\((task + 1) % 8)"]
                    }
                }
            }
        }
        for task in 0..<8 { #expect(store["\(task)"] as? Int == 499) }
    }
}

extension PluginContextStoreTests {
    @Test
    func aValueMayUseTheStoreInItsDeinitializer() {
        final class Last: Sendable {
            let store: PluginContext.Store
            init(_ store: PluginContext.Store) { self.store = store }
            deinit { store["gone"] = true }
        }
        enum Key: PluginContext.Key { typealias Value = Last }

        // The contexts outlive the values: a value that retained its own call's store would be a cycle.
        let context = PluginContext.mock()
        context.store["value"] = Last(context.store)
        context.store["value"] = nil
        #expect(context.store["gone"] as? Bool == true)
        context.store["gone"] = nil
        context.store[Key.self] = Last(context.store)
        context.store[Key.self] = nil
        #expect(context.store["gone"] as? Bool == true)
    }
}
