// SPDX-License-Identifier: MIT

/// Scheme, host and port of a URL (RFC 6454, section 4), which decide whether credentials may be sent there.
///
/// `ws` and `wss` count as `http` and `https`, so that a socket to the client's own host has the same origin. User
/// info, path and query do not count. Hosts are compared as text, case-insensitively and after percent-decoding. An IP
/// address in another notation, or a name with the trailing dot of its absolute form, is another origin. So a doubtful
/// spelling loses its credentials rather than leaks them.
package struct Origin: Hashable, Sendable {
    private let isSecure: Bool
    /// The host in lower case; an IPv6 address without its brackets.
    package let host: String
    /// The port in the URL, or the default port of its scheme: 443 for `https`, 80 for `http`.
    package let port: Int

    /// The scheme: `http` or `https`.
    package var scheme: String { isSecure ? "https" : "http" }

    /// Creates the origin of a URL, or nil for another scheme, an empty or malformed host, or an invalid port.
    package init?(_ url: URL) {
        // Parsed by hand: URLComponents takes ten times as long, and every request needs an origin.
        var text = url.absoluteString
        guard let origin = text.withUTF8(Self.init(bytes:)) else { return nil }
        self = origin
    }

    private init?(bytes: UnsafeBufferPointer<UInt8>) {
        guard let (isSecure, authorityStart) = Self.scheme(bytes) else { return nil }
        self.isSecure = isSecure
        var end = authorityStart
        var hostStart = authorityStart
        while end < bytes.count {
            let byte = bytes[end]
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
            if byte == UInt8(ascii: "@") { hostStart = end + 1 }
            end += 1
        }
        let isBracketed = hostStart < end && bytes[hostStart] == UInt8(ascii: "[")
        var hostEnd = hostStart
        while hostEnd < end, isBracketed || bytes[hostEnd] != UInt8(ascii: ":") {
            hostEnd += 1
            if isBracketed, bytes[hostEnd - 1] == UInt8(ascii: "]") { break }
        }
        guard let port = Self.port(bytes, hostEnd..<end, isSecure: isSecure),
            let host = isBracketed ? Self.address(bytes, hostStart..<hostEnd) : Self.name(bytes, hostStart..<hostEnd)
        else { return nil }
        self.port = port
        self.host = host
    }

    private static let schemes: [(name: StaticString, isSecure: Bool)] = [
        ("https://", true), ("http://", false), ("wss://", true), ("ws://", false),
    ]

    private static func scheme(_ bytes: UnsafeBufferPointer<UInt8>) -> (isSecure: Bool, end: Int)? {
        for (name, isSecure) in schemes where bytes.count >= name.utf8CodeUnitCount {
            let matches = name.withUTF8Buffer { name in
                name.indices.allSatisfy { bytes[$0].asciiLowercased == name[$0] }
            }
            if matches { return (isSecure, name.utf8CodeUnitCount) }
        }
        return nil
    }

    /// The port after the host: `:` and digits; nothing or `:` alone means the default of the scheme (RFC 3986, section
    /// 3.2.3).
    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, isSecure: Bool) -> Int? {
        let standard = isSecure ? 443 : 80
        guard let colon = range.first else { return standard }
        guard bytes[colon] == UInt8(ascii: ":") else { return nil }
        guard range.count > 1 else { return standard }
        var port = 0
        for index in range.dropFirst() {
            guard bytes[index].isASCIIDigit else { return nil }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            guard port <= 65535 else { return nil }
        }
        return port
    }

    /// `[…]`, an IPv6 address.
    private static func address(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> String? {
        guard range.count > 2, bytes[range.upperBound - 1] == UInt8(ascii: "]") else { return nil }
        let content = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
        // Foundation accepts more, and decodes percent-encoded brackets.
        guard IPv6Text.isLiteral(content) else { return nil }
        return String(decoding: content.map(\.asciiLowercased), as: UTF8.self)
    }

    private static func name(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> String? {
        guard !range.isEmpty else { return nil }
        // Fast path: most hosts need no decoding.
        if bytes[range].allSatisfy({ $0.asciiLowercased == $0 && ASCIISet.host.contains($0) }) {
            let host = String(decoding: bytes[range], as: UTF8.self)
            return host.hasLabel ? host : nil
        }
        var host: [UInt8] = []
        host.reserveCapacity(range.count)
        var index = range.lowerBound
        while index < range.upperBound {
            var byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < range.upperBound, let high = bytes[index + 1].hexDigitValue,
                    let low = bytes[index + 2].hexDigitValue
                else { return nil }
                byte = high << 4 | low
                index += 2
            }
            // Refuse bytes that another parser might treat as the end of the host: browsers read `\` as `/`.
            guard isHostByte(byte) else { return nil }
            host.append(byte.asciiLowercased)
            index += 1
        }
        let name = String(decoding: host, as: UTF8.self)
        return name.hasLabel ? name : nil
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte >= 0x80 || ASCIISet.host.contains(byte)
    }
}

extension StringProtocol {
    /// Whether a host has more than dots. Dots alone name no host, and mean a directory in a path.
    package var hasLabel: Bool { utf8.contains { $0 != UInt8(ascii: ".") } }
}

extension Origin: CustomStringConvertible {
    /// `https://host`, with the port if it is not the scheme's default (RFC 6454, section 6.2).
    package var description: String {
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(scheme)://\(host)" + (port == (isSecure ? 443 : 80) ? "" : ":\(port)")
    }
}
