// SPDX-License-Identifier: MIT

/// An encoded value as a tree of names and texts, the step between an `Encodable` and its query items.
///
/// Sorting and naming need complete levels, so the tree is built first and read afterwards.
struct QueryTree {
    private let root = QueryNode()
    private let options: QueryEncoder.Options

    init(_ value: some Encodable, options: QueryEncoder.Options) throws {
        self.options = options
        let writer = QueryTreeWriter(node: root, codingPath: [], options: options)
        try writer.write(value)
        switch root.content {
        case .text, .elements:
            throw writer.invalid(value, "a query needs names: encode a type with members or a dictionary")
        case .nothing, .null, .members, .conflict:
            break
        }
    }

    func items() throws -> [URLQueryItem] {
        var items: [URLQueryItem] = []
        guard case .null = root.content else {
            try append(root, named: nil, to: &items)
            return items
        }
        return items
    }

    private func append(_ node: QueryNode, named name: String?, to items: inout [URLQueryItem]) throws {
        switch node.content {
        case .nothing:
            break
        case .null:
            guard case .empty = options.nils else { break }
            items.append(URLQueryItem(name: name ?? "", value: ""))
        case .text(let text):
            items.append(URLQueryItem(name: name ?? "", value: text))
        case .members(let members):
            let isSorted = options.sortsKeys || node.isDictionary
            for member in isSorted ? members.sorted(by: { $0.name < $1.name }) : members {
                try append(member.node, named: nested(member.name, in: name), to: &items)
            }
        case .elements(let elements):
            try append(elements, named: name ?? "", to: &items)
        case .conflict(let error):
            throw error
        }
    }

    private func append(_ elements: [QueryNode], named name: String, to items: inout [URLQueryItem]) throws {
        if case .comma = options.arrays {
            let texts = try elements.compactMap { try textBetweenCommas($0, in: name) }
            if !texts.isEmpty { items.append(URLQueryItem(name: name, value: texts.joined(separator: ","))) }
            return
        }
        for (index, element) in elements.enumerated() {
            let elementName =
                switch options.arrays {
                case .brackets: name + "[]"
                case .indexed: "\(name)[\(index)]"
                case .repeated, .comma: name
                }
            try append(element, named: elementName, to: &items)
        }
    }

    private func textBetweenCommas(_ element: QueryNode, in name: String) throws -> String? {
        switch element.content {
        case .nothing:
            return nil
        case .null:
            guard case .empty = options.nils else { return nil }
            return ""
        case .text(let text) where !text.utf8.contains(UInt8(ascii: ",")):
            return text
        case .conflict(let error):
            throw error
        case .text, .members, .elements:
            let reason = "an element of \(name) cannot be separated by commas: it contains one or is not a scalar"
            throw EncodingError.invalidValue(name, EncodingError.Context(codingPath: [], debugDescription: reason))
        }
    }

    private func nested(_ name: String, in outer: String?) -> String {
        guard let outer else { return name }
        return switch options.nesting {
        case .brackets: "\(outer)[\(name)]"
        case .dots: "\(outer).\(name)"
        }
    }
}

/// One value of a ``QueryTree``; a class, since a nested container is filled after its parent has returned it.
final class QueryNode {
    struct Member {
        var name: String
        var node: QueryNode
    }

    enum Content {
        case nothing
        case null
        case text(String)
        case members([Member])
        case elements([QueryNode])
        /// The value requested containers of two kinds, for which the standard coders trap.
        case conflict(EncodingError)
    }

    var content = Content.nothing
    /// Whether the keys are those of a dictionary: data, and unordered.
    var isDictionary = false
    private var positions: [String: Int] = [:]

    /// Adds a node for a key; an existing key is overwritten in place.
    func member(_ key: String, named name: String) -> QueryNode {
        guard case .members(var members) = content else { return QueryNode() }
        content = .nothing
        defer { content = .members(members) }
        let node = QueryNode()
        if let position = positions[key] {
            members[position].node = node
        } else {
            positions[key] = members.count
            members.append(Member(name: name, node: node))
        }
        return node
    }

    func element() -> QueryNode {
        guard case .elements(var elements) = content else { return QueryNode() }
        content = .nothing
        let node = QueryNode()
        elements.append(node)
        content = .elements(elements)
        return node
    }

    var count: Int {
        guard case .elements(let elements) = content else { return 0 }
        return elements.count
    }
}
