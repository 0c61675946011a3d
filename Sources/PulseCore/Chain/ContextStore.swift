// SPDX-License-Identifier: MIT

/// What plugins keep for one call: shared by all hops, attempts and copies of its context, and thread-safe.
public struct ContextStore: Sendable {
    struct Values: Sendable {
        var named: [String: any Sendable] = [:]
        /// Of few keys: to look at each is quicker than to hash one.
        var typed: [(key: ObjectIdentifier, value: any Sendable)] = []

        subscript(key: ObjectIdentifier) -> (any Sendable)? {
            // By its index: to go through the entries themselves is to copy each value.
            for index in typed.indices where typed[index].key == key { return typed[index].value }
            return nil
        }

        /// Gives what was there before.
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

    /// The value under a name: `context.store["start"] = Date()`.
    public subscript(name: String) -> (any Sendable)? {
        get { call.withStore { $0.named[name] } }
        nonmutating set {
            // What goes leaves the lock first: its end may use the store.
            _ = call.withStore { values in
                defer { values.named[name] = newValue }
                return values.named[name]
            }
        }
    }

    /// The value under a typed key; `other` from now on if there is none. Of copies of a call that ask at the same time one
    /// sets it.
    package func value<Key: ContextKey>(of key: Key.Type, orKeep other: Key.Value) -> Key.Value {
        call.withStore { values in
            if let known = values[ObjectIdentifier(key)] as? Key.Value { return known }
            _ = values.set(other, for: ObjectIdentifier(key))
            return other
        }
    }

    /// The value under a typed key, which two plugins cannot take for each other's.
    // Inlinable, so that a caller's module knows the types; most keys are asked for in vain, and a cast is not cheap.
    @inlinable
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value? {
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
        // What goes leaves the lock first: its end may use the store.
        _ = call.withStore { $0.set(value, for: key) }
    }
}

/// A typed key of a ``ContextStore``: `enum AccountID: ContextKey { typealias Value = String }`.
public protocol ContextKey {
    associatedtype Value: Sendable
}
