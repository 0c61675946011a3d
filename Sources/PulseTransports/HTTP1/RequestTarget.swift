// SPDX-License-Identifier: MIT

import PulseCore

/// The parts of a URL for the wire: the server to connect to, and the request target.
struct RequestTarget {
    let isSecure: Bool
    /// `http` or `https`, the plain host and the target.
    let text: String
    /// The URL of the server, to connect to.
    let server: String
    /// The user information in the form of Basic credentials (RFC 7617); nil without any.
    let credentials: String?

    init(_ url: URL, _ origin: Origin) {
        isSecure = origin.scheme == "https"
        let all = url.absoluteString
        let rest = all.range(of: "://").map { all[$0.upperBound...] } ?? all[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let at = authority.lastIndex(of: "@")
        let host = at.map { authority[$0...].dropFirst() } ?? authority
        credentials = at.flatMap { Self.credentials(authority[..<$0]) }
        server = "\(origin.scheme)://\(host)/"
        text = "\(origin.scheme)://\(Self.plain(host))\(rest[authority.endIndex...])"
    }

    private static func credentials(_ info: Substring) -> String? {
        guard !info.isEmpty else { return nil }
        let parts = info.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { part in
            part.removingPercentEncoding ?? String(part)
        }
        return Data("\(parts[0]):\(parts.count > 1 ? parts[1] : "")".utf8).base64EncodedString()
    }

    /// The host for the `Host` field: decoded, without the zone of an IPv6 address (RFC 6874, section 4).
    private static func plain(_ host: Substring) -> String {
        guard host.hasPrefix("[") else { return host.removingPercentEncoding ?? String(host) }
        guard let zone = host.firstIndex(of: "%"), let end = host.lastIndex(of: "]"), zone < end else {
            return String(host)
        }
        return String(host[..<zone] + host[end...])
    }
}
