// SPDX-License-Identifier: MIT

/// What plugins keep for one call: shared by all hops, attempts and copies of its context, and thread-safe.
public struct ContextStore: Sendable {
    struct Values: Sendable {
        var named: [String: any Sendable] = [:]
        var typed: [ObjectIdentifier: any Sendable] = [:]
    }

    let call: Call

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

    /// The value under a typed key, which two plugins cannot take for each other's.
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value? {
        get { call.withStore { $0.typed[ObjectIdentifier(key)] } as? Key.Value }
        nonmutating set {
            _ = call.withStore { values in
                defer { values.typed[ObjectIdentifier(key)] = newValue }
                return values.typed[ObjectIdentifier(key)]
            }
        }
    }
}

/// A typed key of a ``ContextStore``: `enum AccountID: ContextKey { typealias Value = String }`.
public protocol ContextKey {
    associatedtype Value: Sendable
}
