// SPDX-License-Identifier: MIT

extension PulseResponse {
    /// The target of the first link with that relation in the response's `Link` fields (RFC 8288), such as `next`; nil
    /// without one.
    ///
    /// Relations are compared without case. The target is resolved against the URL of ``request``, and its user info is
    /// removed. A link with an `anchor` is about another resource, and is not found. What is malformed ends its field.
    public func link(_ relation: String) -> URL? {
        guard let base = request.url else { return nil }
        for octets in headers.octets(for: "Link") {
            for link in WebLink.all(in: Array(octets)) where !link.hasAnchor && link.has(relation) {
                if let url = URLReference(link.target)?.parts(against: base)?.url { return url }
            }
        }
        return nil
    }
}

/// One link of a `Link` field: `<target>; rel="next prev"; title="Page 2"` (RFC 8288, section 3).
struct WebLink {
    let target: ArraySlice<UInt8>
    private(set) var hasAnchor = false
    /// The value of the first `rel`; section 3.3 ignores others.
    private var relations: String?

    func has(_ relation: String) -> Bool {
        relations?.split(separator: " ").contains { String($0).equalsIgnoringASCIICase(relation) } ?? false
    }

    /// The links of one field line, in order.
    static func all(in line: [UInt8]) -> [WebLink] {
        var scanner = Scanner(rest: line[...])
        var links: [WebLink] = []
        while let link = scanner.link() { links.append(link) }
        return links
    }

    /// Reads a field line from its start (section B.2).
    private struct Scanner {
        var rest: ArraySlice<UInt8>

        /// The next link; nil at the end, or where none begins.
        mutating func link() -> WebLink? {
            skip { $0.isBlank || $0 == UInt8(ascii: ",") }
            guard rest.popFirst() == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                return nil
            }
            var link = WebLink(target: rest[..<end])
            rest = rest[(end + 1)...]
            while let (name, value) = parameter() {
                if name == "rel", link.relations == nil { link.relations = value }
                if name == "anchor" { link.hasAnchor = true }
            }
            return link
        }

        /// The next parameter of the current link; nil after its last. The name is in lower case.
        private mutating func parameter() -> (name: String, value: String)? {
            skip(while: \.isBlank)
            guard rest.first == UInt8(ascii: ";") else {
                // What is not a parameter belongs to no link.
                skip { $0 != UInt8(ascii: ",") }
                return nil
            }
            skip { $0.isBlank || $0 == UInt8(ascii: ";") }
            let name = take { !$0.isBlank && !Self.delimiters.contains($0) }
            skip(while: \.isBlank)
            guard rest.first == UInt8(ascii: "=") else { return (name.asciiLowercased, "") }
            rest.removeFirst()
            skip(while: \.isBlank)
            let value =
                rest.first == UInt8(ascii: "\"") ? quotedText() : take { !$0.isBlank && !Self.ends.contains($0) }
            return (name.asciiLowercased, value)
        }

        private static let delimiters = Array("=;,".utf8)
        private static let ends = Array(";,".utf8)

        /// The quoted string at the start (RFC 9110, section 5.6.4); it ends with the line at the latest.
        private mutating func quotedText() -> String {
            rest.removeFirst()
            var text: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                if byte != UInt8(ascii: "\\") {
                    text.append(byte)
                } else if let escaped = rest.popFirst() {
                    text.append(escaped)
                }
            }
            return String(decoding: text, as: UTF8.self)
        }

        private mutating func skip(while condition: (UInt8) -> Bool) {
            rest = rest.drop(while: condition)
        }

        private mutating func take(while condition: (UInt8) -> Bool) -> String {
            let taken = rest.prefix(while: condition)
            rest = rest[taken.endIndex...]
            return String(decoding: taken, as: UTF8.self)
        }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
