// SPDX-License-Identifier: MIT

/// Encodes one value into one node of a ``QueryTree``.
struct QueryTreeWriter: Encoder {
    let node: QueryNode
    let codingPath: [any CodingKey]
    let options: QueryEncoder.Options
    /// The depth of nested `encode(to:)` calls, some of which add nothing to the coding path.
    var depth = 0

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if isTooDeep { node.content = .conflict(tooDeep) }
        switch node.content {
        case .nothing: node.content = .members([])
        case .members: break
        default: markConflict()
        }
        return KeyedEncodingContainer(QueryKeyedContainer<Key>(writer: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if isTooDeep { node.content = .conflict(tooDeep) }
        switch node.content {
        case .nothing: node.content = .elements([])
        case .elements: break
        default: markConflict()
        }
        return QueryUnkeyedContainer(writer: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        QuerySingleValueContainer(writer: self)
    }

    func write(_ value: some Encodable) throws {
        StepCount.add(1 + codingPath.count)
        guard !isTooDeep else { throw tooDeep }
        node.isDictionary = value is any KeyedByData
        if let text = try text(of: value) {
            node.content = .text(text)
        } else {
            var writer = self
            writer.depth += 1
            try value.encode(to: writer)
        }
    }

    private var isTooDeep: Bool {
        codingPath.count > QueryEncoder.maxDepth || depth > 4 * QueryEncoder.maxDepth
    }

    private var tooDeep: EncodingError {
        // Without the value: describing it could recurse just as deeply.
        invalid(codingPath.last?.stringValue ?? "", "a query of more than \(QueryEncoder.maxDepth) levels")
    }

    func writeNil() {
        node.content = .null
    }

    func member(_ key: some CodingKey) -> QueryTreeWriter {
        let name = node.isDictionary ? key.stringValue : options.keys.name(for: key.stringValue)
        return nested(node.member(key.stringValue, named: name), key)
    }

    func element() -> QueryTreeWriter {
        let index = node.count
        return nested(node.element(), QueryIndex(intValue: index))
    }

    func invalid(_ value: Any, _ reason: String) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: codingPath, debugDescription: reason))
    }

    private func nested(_ node: QueryNode, _ key: some CodingKey) -> QueryTreeWriter {
        QueryTreeWriter(node: node, codingPath: codingPath + [key], options: options, depth: depth)
    }

    private func markConflict() {
        let name = codingPath.last?.stringValue ?? ""
        node.content = .conflict(invalid(name, "encoded as two kinds of container at once"))
    }
}

extension QueryTreeWriter {
    /// The text of a scalar value; nil for a value that encodes itself through other values.
    private func text(of value: some Encodable) throws -> String? {
        switch value {
        case let text as String: text
        case let flag as Bool: name(of: flag)
        case let number as Int: String(number)
        case let number as Double: try finite(number, number.isFinite)
        case let number as Float: try finite(number, number.isFinite)
        case let number as Decimal: try finite(number, number.isFinite)
        case let date as Date: try timestamp(date)
        case let data as Data: data.base64EncodedString()
        case let url as URL: url.absoluteString
        case let identifier as UUID: identifier.uuidString
        case let number as any FixedWidthInteger: String(describing: number)
        default: nil
        }
    }

    private func name(of flag: Bool) -> String {
        switch options.booleans {
        case .literal: flag ? "true" : "false"
        case .numeric: flag ? "1" : "0"
        }
    }

    private func finite(_ number: some CustomStringConvertible, _ isFinite: Bool) throws -> String {
        guard isFinite else { throw invalid(number, "not a finite number") }
        return number.description
    }

    private func timestamp(_ date: Date) throws -> String {
        let seconds = date.timeIntervalSince1970
        // The error contains the number: printing such a date crashes the process on Linux (`Date.description`).
        let outOfRange = "a date out of range, in seconds since 1970"
        switch options.dates {
        case .iso8601:
            // Years 1 to 9999: the years of RFC 3339 have four digits.
            guard (-62_135_596_800..<253_402_300_800).contains(seconds) else {
                throw invalid(seconds, outOfRange)
            }
            return date.ISO8601Format()
        case .secondsSince1970:
            if let whole = Int64(exactly: seconds) { return String(whole) }
            return try finite(seconds, seconds.isFinite)
        case .millisecondsSince1970:
            guard let whole = Int64(exactly: (seconds * 1000).rounded()) else {
                throw invalid(seconds, outOfRange)
            }
            return String(whole)
        case .custom(let format):
            return format(date)
        }
    }
}

/// The coding path's step into an array.
private struct QueryIndex: CodingKey {
    let index: Int

    init(intValue: Int) { index = intValue }
    init?(stringValue: String) { nil }

    var intValue: Int? { index }
    var stringValue: String { String(index) }
}

/// Marks a dictionary, whose keys are data, unlike a type with members.
private protocol KeyedByData {}

extension Dictionary: KeyedByData {}
