// SPDX-License-Identifier: MIT

/// Scheme, host and port of a URL: the border that credentials do not cross by themselves (RFC 6454, section 4).
///
/// `ws` counts as `http` and `wss` as `https`: a socket to the same server is no foreign place.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    public let scheme: String
    /// In lower case; an IPv6 address without its brackets.
    public let host: String
    public let port: Int

    /// Nil unless the URL is absolute, has a host, a port that exists, and is of the scheme http, https, ws or wss.
    public init?(_ url: URL) {
        guard let scheme = url.scheme, let host = url.host else { return nil }
        // A trailing dot names the same host.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        guard !name.isEmpty else { return nil }
        switch scheme.asciiLowercased {
        case "http", "ws": (self.scheme, port) = ("http", url.port ?? 80)
        case "https", "wss": (self.scheme, port) = ("https", url.port ?? 443)
        default: return nil
        }
        guard (0...65535).contains(port) else { return nil }
        self.host = name.trimmingBrackets.asciiLowercased
    }

    /// `https://api.example.com:8443`, without the scheme's own port.
    public var description: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (scheme == "https" ? 443 : 80) ? "\(scheme)://\(name)" : "\(scheme)://\(name):\(port)"
    }
}

extension String {
    /// Foundation's implementations differ in whether an IPv6 host comes with its brackets.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
