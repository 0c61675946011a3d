// SPDX-License-Identifier: MIT

import PulseCore

/// The host and port of a server to connect to.
struct ServerAddress: Sendable, Hashable {
    /// A name, or an IP address without brackets, possibly with a zone. An IPv4 address is in dotted-quad form.
    let host: String
    let port: UInt16
    /// The name in the TLS handshake (RFC 6066, section 3): without the final dot; nil for an IP address.
    let serverName: String?

    /// The host as other machines know it: without the zone of an IPv6 address, which names an interface of this
    /// machine (RFC 6874, section 1).
    var plainHost: String {
        host.utf8.contains(UInt8(ascii: ":")) ? String(host.prefix { $0 != "%" }) : host
    }

    /// The server of a URL. Throws ``PulseError/invalidURL(_:)`` without a host, or with an invalid port.
    init(_ url: String, isSecure: Bool) throws {
        let rest = url.range(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let isBracketed = authority.first == "["
        let end = isBracketed ? authority.lastIndex(of: "]") : authority.lastIndex(of: ":")
        let text = authority[..<(end ?? authority.endIndex)].dropFirst(isBracketed ? 1 : 0)
        let tail = authority[(end ?? authority.endIndex)...].dropFirst(isBracketed ? 1 : 0)
        let digits = tail.dropFirst()
        let host = text.removingPercentEncoding ?? String(text)
        let port = digits.isEmpty ? (isSecure ? 443 : 80) : UInt16(digits)
        guard !host.isEmpty, tail.isEmpty || tail.first == ":", let port, port > 0 else {
            throw PulseError.invalidURL("a host, and a port from 1 to 65535, are needed")
        }
        // Otherwise another notation of it could get another proxy or certificate.
        let address = isBracketed ? nil : IPv4Text.dottedQuad(host)
        (self.host, self.port) = (address ?? host, port)
        // No domain ends in a number (RFC 3696, section 2).
        let isAddress =
            isBracketed || address != nil || host.split(separator: ".").last?.utf8.allSatisfy(\.isASCIIDigit) == true
        serverName = isAddress ? nil : host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
