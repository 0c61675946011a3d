// SPDX-License-Identifier: MIT

import PulseCore

/// How a connection reaches its server.
indirect enum ConnectionRoute: Sendable, Hashable {
    case direct
    case proxy(Proxy)

    struct Credentials: Sendable, Hashable {
        let username: String
        let password: String
    }

    struct Proxy: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            /// A tunnel by CONNECT (RFC 9110, section 9.3.6), or requests in absolute form.
            case http
            /// SOCKS5 (RFC 1928), whose proxy receives the host's name, or one of its addresses.
            case socks5(resolvesNames: Bool)
        }

        let kind: Kind
        /// A name, or an address without brackets.
        let host: String
        let port: UInt16
        var credentials: Credentials?

        /// The host and port for messages, without the credentials.
        var name: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// The proxy that forwards the request instead of tunneling it (RFC 9112, section 3.2.2): an HTTP proxy, for plain
    /// HTTP. An upgrade is tunneled, since a proxy drops hop-by-hop fields.
    func forwarder(of request: TransportRequest, isSecure: Bool) -> Proxy? {
        guard case .proxy(let proxy) = self, proxy.kind == .http, !isSecure, request.delivery != .upgrade else {
            return nil
        }
        return proxy
    }
}

extension ConnectionRoute.Credentials {
    /// In the form of Basic credentials (RFC 7617, section 2).
    var basic: String { Data("\(username):\(password)".utf8).base64EncodedString() }
}

#if os(Linux)
extension ConnectionRoute {
    /// The route of a request to a server. Throws ``PulseError/invalidRequest(reason:)`` for a variable that names no
    /// proxy, and ``PulseError/unsupported(_:)`` for one with another scheme, such as `https` or `socks4`.
    init(
        _ request: TransportRequest, to server: ServerAddress, isSecure: Bool,
        environment: @escaping (String) -> String? = ProxyVariables.value
    ) throws {
        let settings = ProxyVariables.settings(request.proxy, for: request.urlRequest.url, environment: environment)
        switch settings.route {
        case .direct:
            self = .direct
        case .environment:
            let proxy = try ProxyVariables(environment).proxy(for: server.host, isSecure: isSecure)
            self = proxy.map { .proxy($0) } ?? .direct
        case .proxy(let kind, let host, let port):
            guard let port = UInt16(exactly: port) else {
                throw PulseError.invalidRequest(reason: "the proxy's port is not from 1 to 65535")
            }
            let hasCredentials = settings.username != nil || settings.password != nil
            let credentials = Credentials(username: settings.username ?? "", password: settings.password ?? "")
            self = .proxy(
                Proxy(
                    kind: kind == .http ? .http : .socks5(resolvesNames: true), host: Proxy.plain(host), port: port,
                    credentials: hasCredentials ? credentials : nil))
        }
    }
}

extension ConnectionRoute.Proxy {
    /// The value of a variable, such as `http://user:password@proxy.test:3128/`; nil without a host, or with an invalid
    /// port. Throws ``PulseError/unsupported(_:)`` for another scheme.
    init?(variable text: String) throws {
        var rest = Substring(text)
        var scheme = "http"
        if let end = rest.range(of: "://") {
            scheme = String(rest[..<end.lowerBound]).asciiLowercased
            // An error names the scheme: it must not be a part of a password.
            guard scheme.isHTTPToken else { return nil }
            rest = rest[end.upperBound...]
        }
        rest = rest.prefix { !"/?#".contains($0) }
        if let at = rest.lastIndex(of: "@") {
            credentials = ConnectionRoute.Credentials(userInformation: rest[..<at])
            rest = rest[at...].dropFirst()
        }
        // A colon within brackets belongs to an address.
        var digits: Substring?
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            digits = rest[colon...].dropFirst()
            rest = rest[..<colon]
        }
        // The default port of most programs.
        let port: UInt16? = if let digits, !digits.isEmpty { UInt16(digits) } else { 1080 }
        guard !rest.isEmpty, let port, port > 0 else { return nil }
        (host, self.port) = (Self.plain(String(rest)), port)
        switch scheme {
        case "http": kind = .http
        case "socks5": kind = .socks5(resolvesNames: false)
        case "socks5h": kind = .socks5(resolvesNames: true)
        default: throw PulseError.unsupported("a proxy of the scheme \(scheme)")
        }
    }

    /// A host without brackets and percent escapes.
    fileprivate static func plain(_ host: String) -> String {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = isBracketed ? String(host.dropFirst().dropLast()) : host
        return text.removingPercentEncoding ?? text
    }
}

extension ConnectionRoute.Credentials {
    /// The user information of a URL: `user` or `user:password`, percent-encoded.
    fileprivate init(userInformation text: Substring) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { part in
            part.removingPercentEncoding ?? String(part)
        }
        self.init(username: parts[0], password: parts.count > 1 ? parts[1] : "")
    }
}
#endif
