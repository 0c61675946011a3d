// SPDX-License-Identifier: MIT

// Inlinable, so that other modules specialize it.
/// Values by number. The first one is stored inline, since there is usually only one member.
@usableFromInline
package struct Members<Value: Sendable>: Sendable {
    @usableFromInline var first: (number: Int, value: Value)?
    @usableFromInline var others: [Int: Value] = [:]

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { first == nil && others.isEmpty }

    @inlinable
    package var count: Int { (first == nil ? 0 : 1) + others.count }

    @inlinable
    package subscript(number: Int) -> Value? {
        get {
            if let first, first.number == number { first.value } else { others.isEmpty ? nil : others[number] }
        }
        set {
            if first?.number == number {
                first = newValue.map { (number, $0) }
            } else if first != nil || others[number] != nil {
                others[number] = newValue
            } else if let newValue {
                first = (number, newValue)
            }
        }
    }

    /// Removes the member with that number and returns it.
    @inlinable
    package mutating func remove(_ number: Int) -> Value? {
        guard let first, first.number == number else { return others.removeValue(forKey: number) }
        self.first = nil
        return first.value
    }

    /// Runs `body` with each member, in no particular order.
    @inlinable
    package func forEach(_ body: (Value) -> Void) {
        if let first { body(first.value) }
        for value in others.values { body(value) }
    }
}
