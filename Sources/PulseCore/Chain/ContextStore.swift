// SPDX-License-Identifier: MIT

/// What plugins keep for one call: shared by all hops, attempts and copies of its context, and thread-safe.
public struct ContextStore: Sendable {
    struct Values: Sendable {
        var named: [String: any Sendable] = [:]
        var typed: [ObjectIdentifier: any Sendable] = [:]
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
            if let known = values.typed[ObjectIdentifier(key)], let known = known as? Key.Value { return known }
            values.typed[ObjectIdentifier(key)] = other
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
        call.withStore { $0.typed[key] }
    }

    @usableFromInline
    func setTypedValue(_ value: (any Sendable)?, _ key: ObjectIdentifier) {
        _ = call.withStore { values in
            defer { values.typed[key] = value }
            return values.typed[key]
        }
    }
}

/// A typed key of a ``ContextStore``: `enum AccountID: ContextKey { typealias Value = String }`.
public protocol ContextKey {
    associatedtype Value: Sendable
}
