// SPDX-License-Identifier: MIT

import PulseCore

/// A request in the wire format of HTTP/1.1 (RFC 9112, section 3).
struct HTTP1Request {
    /// The largest body that is sent with the head, in bytes.
    static let inlineLimit = 64 << 10

    /// The head, followed by the body unless that is fed.
    let bytes: Data
    let traits: HTTP1ResponseParser.RequestTraits
    /// The host, with its port unless this is the default.
    private let host: String

    private let isSecure: Bool
    private let ownServer: String?

    /// A URL of the same server, to connect to.
    var server: String { ownServer ?? (isSecure ? "https://" : "http://") + host + "/" }

    /// Nil for a request that libcurl must handle: one through a proxy in cleartext, for an upgrade over TLS, with an
    /// unusual URL, or with a field of the connection. Throws ``PulseError`` for a request that cannot be sent.
    ///
    /// - Parameter feed: what sends the body; nil for one that is sent with the head.
    init?(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ feed: BodyFeed? = nil, hasNoProxyAround: Bool
    ) throws {
        let isSecure = origin.scheme == "https"
        guard isSecure ? request.delivery != .upgrade : request.isDirect(hasNoProxyAround) else { return nil }
        try self.init(request, url.absoluteString, feed, isSecure: isSecure)
    }

    /// A request for an upgrade, on any connection. Throws ``PulseError`` for a request that cannot be sent.
    init(upgrade request: TransportRequest, _ url: URL, _ origin: Origin) throws {
        let parts = UpgradeURL(url, origin)
        let made = try HTTP1Request(
            request, parts.text, isSecure: parts.isSecure, server: parts.server, credentials: parts.credentials)
        guard let made else {
            throw PulseError.invalidURL("its host, its target or the method cannot be sent over HTTP/1.1")
        }
        self = made
    }

    private init?(
        _ request: TransportRequest, _ text: String, _ feed: BodyFeed? = nil, isSecure: Bool = false,
        server: String? = nil, credentials: String? = nil
    ) throws {
        // Before a very long URL is looked through.
        if text.utf8.count > TransportRequest.maximumHeadSize { try request.checkHeadSize() }
        let method = request.urlRequest.httpMethod ?? "GET"
        guard method.isHTTPToken, method != "CONNECT" else { return nil }
        var text = text
        let body: Data = if feed == nil, case .bytes(let data) = request.body { data } else { Data() }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1024 + body.count)
        bytes += method
        bytes += " "
        guard let host = text.withUTF8({ Self.add($0, isSecure: isSecure, to: &bytes) }) else { return nil }
        bytes += " HTTP/1.1\r\n"
        let fields = request.urlRequest.allHTTPHeaderFields ?? [:]
        let isUpgrade = request.delivery == .upgrade
        guard try Self.add(fields, host: host, isUpgrade: isUpgrade, isSecure: isSecure, to: &bytes) else {
            return nil
        }
        if let credentials, !fields.keys.contains(where: { $0.equalsIgnoringASCIICase("Authorization") }) {
            bytes += "Authorization: Basic \(credentials)\r\n"
        }
        if let feed {
            bytes += feed.length.map { "Content-Length: \($0)\r\n" } ?? "Transfer-Encoding: chunked\r\n"
        } else if case .bytes = request.body {
            bytes += "Content-Length: \(body.count)\r\n"
        } else if method == "POST" || method == "PUT" || method == "PATCH" {
            // A length of 0 must be declared (RFC 9110, section 8.6).
            bytes += "Content-Length: 0\r\n"
        }
        bytes += "\r\n"
        // A field counts as at most seven times its bytes.
        if bytes.count > TransportRequest.maximumHeadSize / 8 { try request.checkHeadSize() }
        if !body.isEmpty { bytes += body }
        self.bytes = Data(bytes)
        self.host = host
        self.isSecure = isSecure
        ownServer = server
        let offersUpgrade = isUpgrade && fields.keys.contains { $0.equalsIgnoringASCIICase("Upgrade") }
        traits = HTTP1ResponseParser.RequestTraits(isHead: method == "HEAD", offersUpgrade: offersUpgrade)
    }

    /// Appends the target of a URL. Returns the host, with its port unless this is the default. Nil for a URL whose
    /// authority is more than plain ASCII: user info, escapes, zones, internationalized names.
    private static func add(
        _ url: UnsafeBufferPointer<UInt8>, isSecure: Bool, to bytes: inout [UInt8]
    ) -> String? {
        let (start, defaultPort) = isSecure ? ("https://".utf8.count, ":443".utf8) : ("http://".utf8.count, ":80".utf8)
        // Not `ws`, which has the same origin.
        guard url.count > start, url[start - 3] == UInt8(ascii: ":") else { return nil }
        let end =
            url[start...].firstIndex { byte in
                byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
            } ?? url.count
        var host = url[start..<end]
        guard host.allSatisfy(ASCIISet.plainAuthority.contains) else { return nil }
        if host.last == UInt8(ascii: ":") { host = host.dropLast() }
        // Omits the default port, as is usual.
        if host.count > defaultPort.count, host.suffix(defaultPort.count).elementsEqual(defaultPort) {
            host = host.dropLast(defaultPort.count)
        }
        if end == url.count || url[end] != UInt8(ascii: "/") { bytes += "/" }
        let target = url[end...].prefix { $0 != UInt8(ascii: "#") }
        guard target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        bytes += target
        return String(decoding: host, as: UTF8.self)
    }

    /// False for a field that libcurl must handle. All fields of an upgrade but those of the framing and
    /// of proxies are sent as given.
    private static func add(
        _ fields: [String: String], host: String, isUpgrade: Bool, isSecure: Bool, to bytes: inout [UInt8]
    ) throws -> Bool {
        // Host is the first field (RFC 9110, section 7.2), unless the caller sets it.
        if !fields.keys.contains(where: { $0.utf8.count == 4 && $0.equalsIgnoringASCIICase("Host") }) {
            bytes += "Host: "
            bytes += host
            bytes += "\r\n"
        }
        var (hasAcceptEncoding, hasRange) = (false, false)
        for (name, value) in fields {
            switch name.utf8.count {
            // The framing is done here: a length that differs from the body would enable request smuggling.
            case 14 where name.equalsIgnoringASCIICase("Content-Length"): continue
            case 17 where name.equalsIgnoringASCIICase("Transfer-Encoding"): continue
            // For a proxy, which gets its own ones with the tunnel: an origin must not see them.
            case 19 where name.equalsIgnoringASCIICase("Proxy-Authorization"): continue
            case 16 where name.equalsIgnoringASCIICase("Proxy-Connection"): continue
            case 15 where name.equalsIgnoringASCIICase("Accept-Encoding"):
                // An empty value would accept any coding.
                if value.isEmpty { continue }
                hasAcceptEncoding = true
            case 5 where name.equalsIgnoringASCIICase("Range"): hasRange = true
            case 6 where name.equalsIgnoringASCIICase("Cookie"):
                guard let octets = OctetText.bytes(value) else { break }
                try HTTPHeaders.validate(name: name, value: value)
                bytes += name
                bytes += ": "
                bytes += octets
                bytes += "\r\n"
                continue
            case _ where !isUpgrade && isLeftToLibcurl(name): return false
            default: break
            }
            try HTTPHeaders.validate(name: name, value: value)
            bytes += name
            bytes += ": "
            bytes += value
            bytes += "\r\n"
        }
        if !hasAcceptEncoding {
            bytes += "Accept-Encoding: "
            bytes += ContentCoding.acceptEncoding(isSecure: isSecure, hasRange: hasRange)
            bytes += "\r\n"
        }
        return true
    }

    private static func isLeftToLibcurl(_ name: String) -> Bool {
        switch name.utf8.count {
        case 2: name.equalsIgnoringASCIICase("TE")
        case 6: name.equalsIgnoringASCIICase("Expect")
        case 7: name.equalsIgnoringASCIICase("Upgrade") || name.equalsIgnoringASCIICase("Trailer")
        case 10: name.equalsIgnoringASCIICase("Connection")
        default: false
        }
    }
}

extension ASCIISet {
    fileprivate static let plainAuthority = ASCIISet.alphanumerics.union(ASCIISet(".-_:[]"))
}

extension [UInt8] {
    fileprivate static func += (bytes: inout Self, text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }
}

extension TransportRequest {
    /// Throws ``PulseError/invalidRequest(reason:)`` for invalid timeouts, an invalid proxy, or an upgrade with a body.
    func validate() throws {
        if delivery == .upgrade, body.isPresent {
            throw PulseError.invalidRequest(reason: "the request for an upgrade has a body")
        }
        guard connectTimeout > 0, idleTimeout > 0 else {
            throw PulseError.invalidRequest(reason: "a timeout is no positive number of seconds")
        }
        // libcurl treats an empty host as no proxy.
        if let problem = proxy.problem { throw PulseError.invalidRequest(reason: problem) }
    }

    fileprivate func isDirect(_ hasNoProxyAround: Bool) -> Bool {
        switch proxy.route {
        case .environment: hasNoProxyAround && proxy == .environment
        case .direct: proxy == .direct
        case .proxy: false
        }
    }
}
