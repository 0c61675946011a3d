// SPDX-License-Identifier: MIT

/// What plugins keep for one call: shared by all hops, attempts and copies of its context, and thread-safe.
public struct ContextStore: Sendable {
    struct Values: Sendable {
        var named: [String: any Sendable] = [:]
        var typed: [ObjectIdentifier: any Sendable] = [:]
    }

    private let values: Locked<Values>

    init(_ values: Values = Values()) {
        self.values = Locked(values)
    }

    /// The value under a name: `context.store["start"] = Date()`.
    public subscript(name: String) -> (any Sendable)? {
        get { values.withLock { $0.named[name] } }
        nonmutating set { values.withLock { $0.named[name] = newValue } }
    }

    /// The value under a typed key, which two plugins cannot take for each other's.
    public subscript<Key: ContextKey>(key: Key.Type) -> Key.Value? {
        get { values.withLock { $0.typed[ObjectIdentifier(key)] } as? Key.Value }
        nonmutating set { values.withLock { $0.typed[ObjectIdentifier(key)] = newValue } }
    }

    /// A store of its own with the same typed values: for work that outlives its call.
    func detached() -> ContextStore {
        ContextStore(Values(typed: values.withLock(\.typed)))
    }
}

/// A typed key of a ``ContextStore``: `enum AccountID: ContextKey { typealias Value = String }`.
public protocol ContextKey {
    associatedtype Value: Sendable
}
