// SPDX-License-Identifier: MIT

import PulseCore

/// A URL, split into the parts that a cassette compares.
struct CassetteAddress: Sendable {
    /// Scheme, host and port.
    let origin: String
    let path: String
    /// The query items, sorted, and percent-decoded because clients escape differently.
    let query: [String]

    init(_ url: String) {
        let whole = url[..<(url.firstIndex(of: "#") ?? url.endIndex)]
        let mark = whole.firstIndex(of: "?") ?? whole.endIndex
        let address = whole[..<mark]
        query = whole[mark...].dropFirst().split(separator: "&").map { Self.decoded($0) }.sorted()
        let start = address.range(of: "://")?.upperBound ?? address.startIndex
        let slash = address[start...].firstIndex(of: "/") ?? address.endIndex
        let origin = String(address[..<slash])
        self.origin = URL(string: origin).flatMap { Origin($0) }.map { "\($0)" } ?? origin
        path = slash < address.endIndex ? String(address[slash...]) : "/"
    }

    private static func decoded(_ item: Substring) -> String {
        let bytes = Array(item.utf8)
        let text = PercentEncoding.lenientlyDecoded(bytes, in: 0..<bytes.count, plusIsSpace: true)
        return String(decoding: text, as: UTF8.self)
    }

    /// The compared parts, in a fixed order.
    func parts(_ matching: Cassette.Matching) -> [String] {
        (matching.contains(.host) ? [origin] : []) + [path] + (matching.contains(.query) ? query : [])
    }

    /// The difference from the recorded URL in the compared parts; nil if there is none.
    func difference(from recorded: CassetteAddress, _ matching: Cassette.Matching) -> String? {
        guard path.isLike(recorded.path) else { return "the path is another" }
        if matching.contains(.host), !origin.isLike(recorded.origin) { return "the host is another" }
        guard matching.contains(.query) else { return nil }
        let isLike =
            query.count == recorded.query.count && zip(query, recorded.query).allSatisfy { $0.isLike($1) }
        return isLike ? nil : "the query is another"
    }
}
