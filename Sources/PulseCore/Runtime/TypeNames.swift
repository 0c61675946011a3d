// SPDX-License-Identifier: MIT

/// The names of types, each spelled once: the runtime takes half a microsecond, and each event of a call asks again.
package struct TypeNames: Sendable {
    private let names = Locked<[ObjectIdentifier: String]>([:])

    package init() {}

    package func name(of type: Any.Type) -> String {
        let key = ObjectIdentifier(type)
        if let name = names.withLock({ $0[key] }) { return name }
        let name = String(describing: type)
        names.withLock { $0[key] = name }
        return name
    }
}
