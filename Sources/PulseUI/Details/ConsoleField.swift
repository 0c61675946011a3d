// SPDX-License-Identifier: MIT

/// A name and a value, such as a header: a line in the details of a call.
package struct ConsoleField: Sendable, Hashable, Identifiable {
    /// The index of the field in its list, because names may repeat.
    package let id: Int
    /// The name.
    package let name: String
    /// The value, secrets masked.
    package let value: String

    /// The fields that have a value.
    static func list(_ fields: [(name: String, value: String?)]) -> [ConsoleField] {
        fields.compactMap { name, value in value.map { (name, $0) } }.enumerated().map { index, field in
            ConsoleField(id: index, name: field.0, value: field.1)
        }
    }
}
