// SPDX-License-Identifier: MIT

extension PluginContext {
    /// The values that plugins store for one call. All hops, attempts and copies of its context share one store. The
    /// store is safe to use from any thread.
    public struct Store: Sendable {
        struct Values: Sendable {
            var named: [String: any Sendable] = [:]
            /// Typed values. There are few, so a linear search is faster than hashing a key.
            var typed: [(key: ObjectIdentifier, value: any Sendable)] = []

            subscript(key: ObjectIdentifier) -> (any Sendable)? {
                // By index: iterating over the entries themselves would copy each value.
                for index in typed.indices where typed[index].key == key { return typed[index].value }
                return nil
            }

            /// Sets the value under a key, or removes it if `value` is nil. Returns the previous value.
            mutating func set(_ value: (any Sendable)?, for key: ObjectIdentifier) -> (any Sendable)? {
                guard let index = typed.firstIndex(where: { $0.key == key }) else {
                    guard let value else { return nil }
                    if typed.isEmpty { typed.reserveCapacity(4) }
                    typed.append((key, value))
                    return nil
                }
                defer { if let value { typed[index].value = value } else { typed.remove(at: index) } }
                return typed[index].value
            }
        }

        let call: Call

        package init(call: Call) {
            self.call = call
        }

        /// The value under a name, `context.store["start"] = Date()`; nil if there is none. Setting nil removes it.
        public subscript(name: String) -> (any Sendable)? {
            get { call.withStore { $0.named[name] } }
            nonmutating set {
                // The old value is released outside the lock: its deinitializer may use the store.
                _ = call.withStore { values in
                    defer { values.named[name] = newValue }
                    return values.named[name]
                }
            }
        }

        /// Returns the value under a typed key, after setting it to `other` if there is none. If copies of a call do
        /// this at the same time, one copy sets it.
        package func value<Key: PluginContext.Key>(of key: Key.Type, orKeep other: Key.Value) -> Key.Value {
            call.withStore { values in
                if let known = values[ObjectIdentifier(key)] as? Key.Value { return known }
                _ = values.set(other, for: ObjectIdentifier(key))
                return other
            }
        }

        // Inlinable, so that the caller's module knows the types. Most lookups find nothing, and a cast is expensive.
        /// The value under a typed key; nil if there is none. Setting nil removes it. The keys of two plugins cannot
        /// collide.
        @inlinable
        public subscript<Key: PluginContext.Key>(key: Key.Type) -> Key.Value? {
            get {
                guard let value = typedValue(ObjectIdentifier(key)) else { return nil }
                return value as? Key.Value
            }
            nonmutating set { setTypedValue(newValue, ObjectIdentifier(key)) }
        }

        @usableFromInline
        func typedValue(_ key: ObjectIdentifier) -> (any Sendable)? {
            call.withStore { $0[key] }
        }

        @usableFromInline
        func setTypedValue(_ value: (any Sendable)?, _ key: ObjectIdentifier) {
            // The old value is released outside the lock: its deinitializer may use the store.
            _ = call.withStore { $0.set(value, for: key) }
        }
    }

    /// A typed key of a ``PluginContext/Store``: `enum StartDate: PluginContext.Key { typealias Value = Date }`.
    public protocol Key {
        /// The type of the value under this key.
        associatedtype Value: Sendable
    }
}
