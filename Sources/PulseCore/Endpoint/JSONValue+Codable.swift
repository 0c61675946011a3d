// SPDX-License-Identifier: MIT

extension JSONValue: Codable {
    /// Decodes any JSON value. With ``JSONResponseDecoder``, each value is read once, at any depth. With other
    /// decoders, one type after another is tried, and the cost of a wrong guess grows with the depth.
    public init(from decoder: any Decoder) throws {
        if let outline = JSONOutline.current, let value = try Self.value(from: decoder, along: outline) {
            self = value
        } else {
            self = try Self.tried(decoder.singleValueContainer())
        }
    }

    private static func value(from decoder: any Decoder, along outline: JSONOutline) throws -> JSONValue? {
        guard outline.hasPlainNames else {
            let text = "The JSON has more than \(JSONOutline.maxDepthOfOtherNames) levels, and a key strategy."
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: text))
        }
        guard let value = outline.value(at: decoder.codingPath) else { return nil }
        return try JSONOutlineWalk.value(from: decoder, along: value)
    }

    private static func tried(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
        StepCount.add()
        if container.decodeNil() {
            return .null
        } else if let value = try? container.decode(Bool.self) {
            return .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            return .integer(value)
        } else if let value = try container.decodeIfMatching(Double.self) {
            return .number(value)
        } else if let value = try container.decodeIfMatching(String.self) {
            return .string(value)
        } else if let elements = try container.decodeIfMatching([JSONValue].self) {
            return .array(elements)
        } else {
            return .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Throws `EncodingError.invalidValue` for a number that is not finite, whatever the encoder's strategy: JSON
    /// cannot represent it (RFC 8259, section 6).
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
            // A decoder would read `1.5e+18` as an exact integer, which may differ from every `Double`.
            if abs(value) > 0x1p53, let integer = Int64(exactly: value) {
                try container.encode(integer)
            } else {
                try container.encode(value)
            }
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension SingleValueDecodingContainer {
    /// The value, or nil if it is of another type. An error inside it, or a number out of range, is still thrown.
    fileprivate func decodeIfMatching<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        do {
            return try decode(type)
        } catch DecodingError.typeMismatch {
            return nil
        }
    }
}
