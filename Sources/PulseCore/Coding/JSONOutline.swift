// SPDX-License-Identifier: MIT

/// The kinds of the values in a JSON text, for a ``JSONValue`` inside another type.
///
/// Foundation does not report kinds. Each must be tried, and each wrong try costs the square of the depth. The outline
/// gives the kind to try first. It is only a hint: the outline of another text does no harm.
final class JSONOutline: Sendable {
    /// The outline of the text that this task decodes; nil for shallow text.
    @TaskLocal static var current: JSONOutline?

    /// Up to this depth, wrong tries are cheap.
    private static let shallowDepth = 8
    /// The maximum depth if a key strategy changes the names, so that the coding path does not match the outline.
    static let maxDepthOfOtherNames = 64

    /// Whether names in the text equal those of the coding path.
    let hasPlainNames: Bool
    private let data: Data
    private let root = Locked<JSONValue?>(nil)

    private init(_ data: Data, hasPlainNames: Bool) {
        self.data = data
        self.hasPlainNames = hasPlainNames
    }

    /// Decodes with the outline of the text as the current one, if it is useful.
    static func with<Value>(_ data: Data, _ decoder: JSONDecoder, _ body: () throws -> Value) throws -> Value {
        let depth = depth(of: data)
        guard depth > shallowDepth else { return try body() }
        let hasPlainNames = if case .useDefaultKeys = decoder.keyDecodingStrategy { true } else { false }
        guard hasPlainNames || depth > maxDepthOfOtherNames else { return try body() }
        return try $current.withValue(JSONOutline(data, hasPlainNames: hasPlainNames), operation: body)
    }

    /// An upper bound of the depth of the text: brackets in strings count as well.
    private static func depth(of data: Data) -> Int {
        data.withUnsafeBytes { bytes in
            var (depth, deepest) = (0, 0)
            for byte in bytes {
                // `[` and `{` differ in one bit, and so do `]` and `}`.
                switch byte | 0x20 {
                case UInt8(ascii: "{"):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "}"): depth -= 1
                default: break
                }
            }
            return deepest
        }
    }

    /// The value at a path in the text; nil if it is unknown.
    func value(at path: [any CodingKey]) -> JSONValue? {
        var value = root.withLock { root in
            if case .none = root { root = try? JSONParser.value(of: data) }
            return root
        }
        for key in path {
            switch value {
            case .object(let members)?: value = members[key.stringValue]
            case .array(let elements)?:
                guard let index = key.intValue, elements.indices.contains(index) else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }
}
