// SPDX-License-Identifier: MIT

import PulseCore

/// The text that a signature covers: `METHOD|PATH|TIMESTAMP|BODY_HASH`, followed by `|NONCE` if there is one.
struct SignedText: Sendable {
    let bytes: [UInt8]

    /// - Parameter target: a URL, or a request target as received by a server; only its path and query count.
    /// - Parameter timestamp: Unix seconds, in digits.
    /// - Parameter bodyHash: hexadecimal digits.
    ///
    /// Nil if a `|` in a part would make the text ambiguous. A URL has none: there it is `%7C`.
    init?(method: String, target: String, timestamp: String, bodyHash: String, nonce: String?) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(method.utf8.count + target.utf8.count + 160)
        bytes.append(contentsOf: method.utf8)
        bytes.append(Self.separator)
        var target = target
        target.withUTF8 { Self.appendPath(of: $0, to: &bytes) }
        for part in [timestamp, bodyHash] {
            bytes.append(Self.separator)
            bytes.append(contentsOf: part.utf8)
        }
        if let nonce {
            bytes.append(Self.separator)
            bytes.append(contentsOf: nonce.utf8)
        }
        // Counts over all parts at once and without a branch, so that the loop is vectorized.
        let separators = bytes.withUnsafeBufferPointer { bytes in
            var count = 0
            for byte in bytes { count += byte == Self.separator ? 1 : 0 }
            return count
        }
        guard separators == (nonce == nil ? 3 : 4) else { return nil }
        self.bytes = bytes
    }

    private static var separator: UInt8 { UInt8(ascii: "|") }

    /// The path and the query as sent (RFC 9112, section 3.2.1): without a fragment, and `/` for an empty path.
    private static func appendPath(of target: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        let end = target.firstIndex(of: UInt8(ascii: "#")) ?? target.endIndex
        guard target.first != UInt8(ascii: "/"), let authority = authorityStart(target, end) else {
            return bytes.append(contentsOf: target[..<end])
        }
        let start = target[authority..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
        if start == end || target[start] == UInt8(ascii: "?") { bytes.append(UInt8(ascii: "/")) }
        bytes.append(contentsOf: target[start..<end])
    }

    /// The index after the first `://`.
    private static func authorityStart(_ target: UnsafeBufferPointer<UInt8>, _ end: Int) -> Int? {
        guard let colon = target[..<end].firstIndex(of: UInt8(ascii: ":")), colon + 2 < end,
            target[colon + 1] == UInt8(ascii: "/"), target[colon + 2] == UInt8(ascii: "/")
        else { return nil }
        return colon + 3
    }
}
