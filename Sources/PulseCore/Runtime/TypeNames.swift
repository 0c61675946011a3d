// SPDX-License-Identifier: MIT

/// A cache of type names: the runtime takes half a microsecond for one, and each event of a call needs it.
package struct TypeNames: Sendable {
    private struct State {
        var names: [ObjectIdentifier: String] = [:]
        /// The last name, which is usually the next one needed; compared without hashing.
        var last: (key: ObjectIdentifier, name: String)?

        mutating func name(of key: ObjectIdentifier) -> String? {
            if let last, last.key == key { return last.name }
            guard let name = names[key] else { return nil }
            last = (key, name)
            return name
        }
    }

    private let state = Locked(State())

    package init() {}

    package func name(of type: Any.Type) -> String {
        let key = ObjectIdentifier(type)
        if let name = state.withLock({ $0.name(of: key) }) { return name }
        let name = String(describing: type)
        state.withLock { $0.names[key] = name }
        return name
    }
}
