// SPDX-License-Identifier: MIT

import PulseCore

/// The operations of a GraphQL document (GraphQL specification of September 2025, section 2).
///
/// The parser finds the definitions and skips their content, which only the server can validate.
package struct GraphQLDocument: Sendable, Hashable {
    /// The type of an operation.
    package enum Kind: String, Sendable {
        case query, mutation, subscription
    }

    package struct Operation: Sendable, Hashable {
        package let kind: Kind
        package let name: String?
    }

    package let operations: [Operation]

    /// Parses a document. Throws ``PulseError/invalidRequest(reason:)`` for text that is not a list of operations and
    /// fragments.
    package init(_ text: String) throws {
        var text = text
        operations = try text.withUTF8 { bytes in
            var reader = Reader(bytes: bytes)
            return try reader.operations()
        }
    }

    /// The operation with a name; without a name, the only one. Throws ``PulseError/invalidRequest(reason:)`` if there
    /// is none, or if there are several and no name.
    package func operation(named name: String?) throws -> Operation {
        guard !operations.isEmpty else { throw Self.fault("the document has no operation") }
        if let name {
            guard let operation = operations.first(where: { $0.name == name }) else {
                throw Self.fault("the document has no operation named \(name)")
            }
            return operation
        }
        guard operations.count == 1 else {
            throw Self.fault("the document has \(operations.count) operations, and operationName chooses none")
        }
        return operations[0]
    }

    fileprivate static func fault(_ reason: String) -> PulseError {
        .invalidRequest(reason: "GraphQL: \(reason)")
    }
}

private struct Reader {
    private enum Token {
        case name(Range<Int>)
        case string
        case mark(UInt8)
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func operations() throws -> [GraphQLDocument.Operation] {
        var operations: [GraphQLDocument.Operation] = []
        while let token = try next() {
            switch token {
            case .string:
                // The description of the definition that follows.
                continue
            case .mark(UInt8(ascii: "{")):
                operations.append(.init(kind: .query, name: nil))
                try skipToEnd(depth: 1)
            case .name(let range):
                let keyword = text(range)
                if let kind = GraphQLDocument.Kind(rawValue: keyword) {
                    operations.append(.init(kind: kind, name: try name()))
                } else if keyword != "fragment" {
                    throw GraphQLDocument.fault("\(keyword) begins no operation and no fragment")
                }
                try skipToEnd(depth: 0)
            case .mark:
                throw GraphQLDocument.fault("unexpected character outside an operation, at byte \(position - 1)")
            }
        }
        return operations
    }

    /// The name at the current position, if one is there.
    private mutating func name() throws -> String? {
        let start = position
        if case .name(let range)? = try next() { return text(range) }
        position = start
        return nil
    }

    /// Skips to the end of the selection set. Arguments and variables may contain braces as well.
    private mutating func skipToEnd(depth: Int) throws {
        var (depth, parentheses) = (depth, 0)
        while let token = try next() {
            guard case .mark(let mark) = token else { continue }
            switch mark {
            case UInt8(ascii: "("): parentheses += 1
            case UInt8(ascii: ")"): parentheses -= 1
            case UInt8(ascii: "{") where parentheses == 0: depth += 1
            case UInt8(ascii: "}") where parentheses == 0:
                depth -= 1
                if depth == 0 { return }
            default: break
            }
            guard depth >= 0, parentheses >= 0 else {
                throw GraphQLDocument.fault("a bracket is closed that is not open, at byte \(position - 1)")
            }
        }
        throw GraphQLDocument.fault("the document ends within an operation or fragment")
    }

    private mutating func next() throws -> Token? {
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: ","):
                position += 1
            case UInt8(ascii: "#"):
                while position < bytes.count, bytes[position] != UInt8(ascii: "\n"),
                    bytes[position] != UInt8(ascii: "\r")
                {
                    position += 1
                }
            case UInt8(ascii: "\""):
                try skipString()
                return .string
            case _ where Self.beginsName(byte):
                let start = position
                while position < bytes.count, Self.beginsName(bytes[position]) || bytes[position].isASCIIDigit {
                    position += 1
                }
                return .name(start..<position)
            default:
                position += 1
                return .mark(byte)
            }
        }
        return nil
    }

    private mutating func skipString() throws {
        let start = position
        if has("\"\"\"") {
            position += 3
            while position < bytes.count {
                if has("\\\"\"\"") {
                    position += 4
                } else if has("\"\"\"") {
                    position += 3
                    return
                } else {
                    position += 1
                }
            }
        } else {
            position += 1
            while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != UInt8(ascii: "\r") {
                switch bytes[position] {
                case UInt8(ascii: "\""):
                    position += 1
                    return
                case UInt8(ascii: "\\"): position += 2
                default: position += 1
                }
            }
        }
        throw GraphQLDocument.fault("the string at byte \(start) has no end")
    }

    private func has(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[position...].starts(with: $0) }
    }

    private func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    private static func beginsName(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
