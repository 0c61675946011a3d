// SPDX-License-Identifier: MIT

import PulseCore

/// Normalized URLs, as used in cache keys (RFC 3986, sections 6.2.2 and 6.2.3; RFC 9110, section 4.2.3).
enum CacheURL {
    /// Lower-case scheme and host, no default port, `/` for an empty path, upper-case escapes only where needed, no
    /// fragment.
    static func normalized(_ url: URL) -> String {
        normalized(url.absoluteString)
    }

    /// The origin named by a request's own `Host`; nil if it is the URL's. Servers select the resource by `Host` (RFC
    /// 9110, section 7.1).
    static func namedOrigin(in headers: [String: String]?, for url: URL?) -> String? {
        guard let host = headers?.header("Host"), let origin = url.flatMap({ Origin($0) }) else { return nil }
        let named = normalized("\(origin.scheme)://\(host)")
        return named == normalized("\(origin)") ? nil : named
    }

    /// The URL for events: without query, fragment and user information, which may be secret, and with the secrets of
    /// the path masked.
    static func redacted(_ url: URL) -> URL {
        let none = URL(fileURLWithPath: "/")
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return none }
        (parts.query, parts.fragment, parts.user, parts.password) = (nil, nil, nil, nil)
        let path = Redaction.standard.url(parts.path)
        // A path that shows no secret keeps its escapes.
        if path != parts.path { parts.path = path }
        return parts.url ?? none
    }

    static func normalized(_ text: String) -> String {
        var text = text
        if text.withUTF8({ isNormalized($0) }) { return text }
        return text.withUTF8 { bytes in
            let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.count
            guard let (schemeEnd, standardPort) = scheme(bytes[..<end]) else {
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            var output: [UInt8] = []
            output.reserveCapacity(end + 1)
            output += bytes[..<schemeEnd].lazy.map(\.asciiLowercased)
            let authorityEnd =
                bytes[schemeEnd..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
            appendAuthority(bytes[schemeEnd..<authorityEnd], standardPort, to: &output)
            if authorityEnd == end || bytes[authorityEnd] == UInt8(ascii: "?") { output.append(UInt8(ascii: "/")) }
            appendUnescaped(bytes[authorityEnd..<end], to: &output)
            return String(decoding: output, as: UTF8.self)
        }
    }

    /// Whether a URL is certainly in normal form, as most are. Scans the bytes once.
    private static func isNormalized(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = ["https://", "http://"].first(where: { bytes.starts(with: $0.utf8) })?.utf8.count else {
            return false
        }
        let path = bytes[start...].firstIndex { byte in
            !(UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte.isASCIIDigit || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-"))
        }
        guard let path, bytes[path] == UInt8(ascii: "/") else { return false }
        return !bytes[path...].contains { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "#") }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func scheme(_ bytes: Bytes) -> (end: Int, standardPort: String)? {
        for (name, port) in [("https://", "443"), ("http://", "80")] where bytes.count >= name.utf8.count {
            if zip(bytes, name.utf8).allSatisfy({ $0.asciiLowercased == $1 }) {
                return (bytes.startIndex + name.utf8.count, port)
            }
        }
        return nil
    }

    /// Appends the host in lower case, without a default port. User information stays unchanged: it may be a
    /// credential.
    private static func appendAuthority(_ authority: Bytes, _ standardPort: String, to output: inout [UInt8]) {
        var hostStart = authority.startIndex
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            hostStart = at + 1
            output += authority[..<hostStart]
        }
        var host = authority[hostStart...]
        // A colon inside the brackets of an IPv6 address does not start a port.
        if let colon = host.lastIndex(of: UInt8(ascii: ":")), !host[colon...].contains(UInt8(ascii: "]")) {
            let port = host[(colon + 1)...]
            if port.isEmpty || port.elementsEqual(standardPort.utf8) { host = host[..<colon] }
        }
        output += host.lazy.map(\.asciiLowercased)
    }

    private static func appendUnescaped(_ bytes: Bytes, to output: inout [UInt8]) {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "%"), index + 2 < bytes.endIndex, let high = bytes[index + 1].hexDigitValue,
                let low = bytes[index + 2].hexDigitValue
            else {
                output.append(byte)
                index += 1
                continue
            }
            let decoded = high << 4 | low
            if ASCIISet.unreserved.contains(decoded) {
                output.append(decoded)
            } else {
                output += [byte, capital(bytes[index + 1]), capital(bytes[index + 2])]
            }
            index += 3
        }
    }

    private static func capital(_ digit: UInt8) -> UInt8 {
        digit >= UInt8(ascii: "a") ? digit - 0x20 : digit
    }
}
