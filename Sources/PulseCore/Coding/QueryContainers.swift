// SPDX-License-Identifier: MIT

struct QuerySingleValueContainer: SingleValueEncodingContainer {
    let writer: QueryTreeWriter

    var codingPath: [any CodingKey] { writer.codingPath }

    func encodeNil() throws { writer.writeNil() }
    func encode(_ value: some Encodable) throws { try writer.write(value) }
}

struct QueryUnkeyedContainer: UnkeyedEncodingContainer {
    let writer: QueryTreeWriter

    var codingPath: [any CodingKey] { writer.codingPath }
    var count: Int { writer.node.count }

    func encodeNil() throws { writer.element().writeNil() }
    func encode(_ value: some Encodable) throws { try writer.element().write(value) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        writer.element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { writer.element().unkeyedContainer() }
    func superEncoder() -> any Encoder { writer.element() }
}

struct QueryKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: QueryTreeWriter

    var codingPath: [any CodingKey] { writer.codingPath }

    func encodeNil(forKey key: Key) throws { writer.member(key).writeNil() }
    func encode(_ value: some Encodable, forKey key: Key) throws { try writer.member(key).write(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        writer.member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        writer.member(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { writer.member(QuerySuperKey()) }
    func superEncoder(forKey key: Key) -> any Encoder { writer.member(key) }
}

// The default `encodeIfPresent` skips a nil before the encoder can apply its option, and each type has its own default.
extension QueryKeyedContainer {
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try write(value, key) }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try write(value, key) }

    private func write(_ value: (some Encodable)?, _ key: Key) throws {
        if let value {
            try writer.member(key).write(value)
        } else if case .empty = writer.options.nils {
            writer.member(key).writeNil()
        }
    }
}

/// The key of `superEncoder()`, as in the standard coders.
private struct QuerySuperKey: CodingKey {
    init() {}
    init?(intValue: Int) { nil }
    init?(stringValue: String) { nil }

    var intValue: Int? { nil }
    var stringValue: String { "super" }
}
