// SPDX-License-Identifier: MIT

/// Any JSON value (RFC 8259): for bodies, GraphQL variables and extensions without a dedicated Swift type.
///
/// It is written as literals, `["name": "Ann", "tags": ["a", "b"], "age": 41, "manager": nil]`, and read with
/// subscripts, `json["tags"]?[0]?.stringValue`. It is Codable, so it can be a member of any Codable type.
///
/// JSON has one kind of number. A whole number in the range of `Int64` is an ``integer(_:)`` and keeps every digit; any
/// other is a ``number(_:)`` with the precision of `Double`. The two are equal when their values are, so an encoded
/// value equals the decoded one. Object keys are data: key strategies of a JSON coder do not change them.
public enum JSONValue: Sendable {
    /// The literal `null`.
    case null
    /// The literal `true` or `false`.
    case bool(Bool)
    /// A whole number in the range of `Int64`.
    case integer(Int64)
    /// Any other number. A number that is not finite cannot be encoded.
    case number(Double)
    /// A string.
    case string(String)
    /// An array of values.
    case array([JSONValue])
    /// An unordered object: values by name.
    case object([String: JSONValue])
}

extension JSONValue {
    /// The value of a key, or nil if the key is missing or this is not an object. A null value is `.null`.
    public subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The element at an index, or nil if it is out of range or this is not an array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The Boolean, or nil if this is not a Boolean.
    public var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The whole number in the range of `Int64`, in any notation (`2` and `2.0` alike), or nil if this is not one.
    public var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number, or nil if this is not a number. An integer beyond 2^53 becomes the nearest `Double`.
    public var numberValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    /// The string, or nil if this is not a string.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements, or nil if this is not an array.
    public var arrayValue: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The members by name, or nil if this is not an object.
    public var objectValue: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }
}

extension JSONValue: Hashable {
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
            Int64(exactly: number) == integer
        case (.string(let left), .string(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value):
            if let integer = Int64(exactly: value) { hasher.combine(integer) } else { hasher.combine(value) }
        case .string(let value): hasher.combine(value)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}
