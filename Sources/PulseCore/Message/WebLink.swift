// SPDX-License-Identifier: MIT

extension PulseResponse {
    /// The target of the first link with that relation in the response's `Link` fields (RFC 8288), such as `next`; nil
    /// if there is none.
    ///
    /// Relations are case-insensitive. The target is resolved against the URL of ``request``, and its user info is
    /// removed. Links with an `anchor` describe another resource and are ignored. A malformed link ends its field.
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
    /// The value of the first `rel`; others are ignored (section 3.3).
    private var relations: String?

    func has(_ relation: String) -> Bool {
        relations?.split(separator: " ").contains { String($0).equalsIgnoringASCIICase(relation) } ?? false
    }

    /// The links of one field line, in order (section B.2).
    static func all(in line: [UInt8]) -> [WebLink] {
        var scanner = ParameterScanner(rest: line[...], isList: true)
        var links: [WebLink] = []
        while let link = next(&scanner) { links.append(link) }
        return links
    }

    /// The next link; nil at the end, or if the rest is malformed.
    private static func next(_ scanner: inout ParameterScanner) -> WebLink? {
        scanner.skip { $0.isBlank || $0 == UInt8(ascii: ",") }
        guard scanner.rest.popFirst() == UInt8(ascii: "<"),
            let end = scanner.rest.firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        var link = WebLink(target: scanner.rest[..<end])
        scanner.rest = scanner.rest[(end + 1)...]
        while let (name, value) = scanner.parameter() {
            if name == "rel", link.relations == nil { link.relations = String(decoding: value ?? [], as: UTF8.self) }
            if name == "anchor" { link.hasAnchor = true }
        }
        return link
    }
}
