// SPDX-License-Identifier: MIT

extension JSONValue {
    /// JSON written as a dictionary or array literal whose values have different types: variables, literals, optionals
    /// and any other `Encodable` values.
    ///
    /// `RequestBody.json(["name": name, "age": age])` creates one. A mixture inside it needs the type:
    /// `["name": name, "size": ["width": width, "unit": unit] as JSONValue.Literal]`. Arrays and dictionaries of one
    /// type do not.
    ///
    /// Each value is encoded by the call's encoder, with its strategies for dates and keys. Nil is `null`. If a key is
    /// repeated, its last value counts. The keys are data: key strategies do not change them.
    public struct Literal: Encodable, Sendable {
        private enum Content: Sendable {
            case object([String: Member])
            case array([Member])
        }

        private struct Member: Encodable, Sendable {
            let value: (any Encodable & Sendable)?

            // Through a container: `value.encode(to:)` would bypass the encoder's strategies for dates and data.
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                if let value {
                    try container.encode(value)
                } else {
                    try container.encodeNil()
                }
            }
        }

        private let content: Content

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch content {
            case .object(let members): try container.encode(members)
            case .array(let elements): try container.encode(elements)
            }
        }
    }
}

extension JSONValue.Literal: ExpressibleByDictionaryLiteral {
    /// Creates an object; if a key is repeated, its last value counts.
    public init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
        content = .object(Dictionary(elements.map { ($0.0, Member(value: $0.1)) }) { _, last in last })
    }
}

extension JSONValue.Literal: ExpressibleByArrayLiteral {
    /// Creates an array.
    public init(arrayLiteral elements: (any Encodable & Sendable)?...) {
        content = .array(elements.map { Member(value: $0) })
    }
}
