// SPDX-License-Identifier: MIT

extension JSONValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try container.decodeIfMatching(Double.self) {
            self = .number(value)
        } else if let value = try container.decodeIfMatching(String.self) {
            self = .string(value)
        } else if let elements = try container.decodeIfMatching([JSONValue].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Throws `EncodingError.invalidValue` for a number that is not finite, whatever the encoder's own strategy: JSON
    /// has no such thing (RFC 8259, section 6).
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value):
            guard value.isFinite else {
                let text = "JSON has no number for \(value)"
                throw EncodingError.invalidValue(
                    value, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: text))
            }
            try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension SingleValueDecodingContainer {
    /// The value, or nil if it is of another type; an error inside it, or a number out of range, is still an error.
    fileprivate func decodeIfMatching<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        do {
            return try decode(type)
        } catch DecodingError.typeMismatch {
            return nil
        }
    }
}
