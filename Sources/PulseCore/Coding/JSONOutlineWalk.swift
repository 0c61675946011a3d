// SPDX-License-Identifier: MIT

/// Decodes an array or object along its outline, each value once. Not recursive, since the sender controls the depth.
struct JSONOutlineWalk {
    /// Any name, as in the text.
    fileprivate struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// A container being read: either an array or an object.
    fileprivate struct Level {
        var array: (any UnkeyedDecodingContainer)?
        var object: KeyedDecodingContainer<Name>?
        let outline: JSONValue
        /// The remaining names.
        var names: [Name] = []
        var elements: [JSONValue] = []
        var members: [String: JSONValue] = [:]
    }

    private var levels: [Level] = []

    /// The value, or nil if it is neither an array nor an object, or differs from the outline.
    static func value(from decoder: any Decoder, along outline: JSONValue) throws -> JSONValue? {
        var first: Level?
        switch outline {
        case .array: first = (try? decoder.unkeyedContainer()).map { Level(array: $0, outline) }
        case .object: first = (try? decoder.container(keyedBy: Name.self)).map { Level(object: $0, outline) }
        default: break
        }
        guard let first else { return nil }
        var walk = JSONOutlineWalk(levels: [first])
        return try walk.run()
    }

    private mutating func run() throws -> JSONValue {
        while true {
            StepCount.add()
            let last = levels.count - 1
            if let outline = levels[last].next {
                if let level = levels[last].opened(outline) {
                    levels.append(level)
                } else {
                    levels[last].add(try levels[last].value(outline))
                }
            } else {
                let value = levels.removeLast().whole
                guard last > 0 else { return value }
                levels[last - 1].add(value)
            }
        }
    }
}

extension JSONOutlineWalk.Level {
    fileprivate init(array: any UnkeyedDecodingContainer, _ outline: JSONValue) {
        self.array = array
        self.outline = outline
    }

    fileprivate init(object: KeyedDecodingContainer<JSONOutlineWalk.Name>, _ outline: JSONValue) {
        self.object = object
        self.outline = outline
        names = object.allKeys
    }

    /// The outline of the next value, or nil at the end.
    fileprivate var next: JSONValue? {
        if let array {
            guard !array.isAtEnd else { return nil }
            return outline[elements.count] ?? .null
        }
        return names.last.map { outline[$0.stringValue] ?? .null }
    }

    fileprivate var whole: JSONValue { array == nil ? .object(members) : .array(elements) }

    fileprivate mutating func add(_ value: JSONValue) {
        if array != nil {
            elements.append(value)
        } else if let name = names.popLast() {
            members[name.stringValue] = value
        }
    }

    /// The next value as a container, or nil if it is not one.
    fileprivate mutating func opened(_ outline: JSONValue) -> Self? {
        switch outline {
        case .array:
            let opened =
                if let name = names.last {
                    try? object?.nestedUnkeyedContainer(forKey: name)
                } else {
                    try? array?.nestedUnkeyedContainer()
                }
            return opened.map { Self(array: $0, outline) }
        case .object:
            let opened =
                if let name = names.last {
                    try? object?.nestedContainer(keyedBy: JSONOutlineWalk.Name.self, forKey: name)
                } else {
                    try? array?.nestedContainer(keyedBy: JSONOutlineWalk.Name.self)
                }
            return opened.map { Self(object: $0, outline) }
        default:
            return nil
        }
    }

    /// The next value; the kind in the outline is tried first.
    fileprivate mutating func value(_ outline: JSONValue) throws -> JSONValue {
        switch outline {
        case .null:
            let isNull =
                if let name = names.last { try object?.decodeNil(forKey: name) } else { try array?.decodeNil() }
            if isNull == true { return .null }
        case .bool: if let value = try? decode(Bool.self) { return .bool(value) }
        case .integer: if let value = try? decode(Int64.self) { return .integer(value) }
        case .number: if let value = try? decode(Double.self) { return .number(value) }
        case .string: if let value = try? decode(String.self) { return .string(value) }
        case .array, .object: break
        }
        return try decode(JSONValue.self) ?? .null
    }

    private mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        if let name = names.last { return try object?.decode(type, forKey: name) }
        return try array?.decode(type)
    }
}
