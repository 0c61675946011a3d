// SPDX-License-Identifier: MIT

import PulseCore

/// A request in the wire format of HTTP/1.1 (RFC 9112, section 3).
struct HTTP1Request {
    /// The largest body that is sent with the head, in bytes.
    static let inlineLimit = 64 << 10

    /// The head, followed by the body unless that is fed.
    let bytes: Data
    let traits: HTTP1ResponseParser.RequestTraits
    /// Whether the request asks the server to close the connection after its response.
    let closesConnection: Bool

    /// Throws ``PulseError`` for a request that cannot be sent.
    ///
    /// - Parameters:
    ///   - feed: sends the body; nil for a body that is sent with the head.
    ///   - proxy: the HTTP proxy that forwards the request; nil to send it to the server.
    init(
        _ request: TransportRequest, _ url: URL, _ origin: Origin, _ feed: BodyFeed? = nil,
        proxy: ConnectionRoute.Proxy? = nil
    ) throws {
        var text = url.absoluteString
        // Before a very long URL is scanned.
        if text.utf8.count > TransportRequest.maxHeadSize { try request.checkHeadSize() }
        let method = request.urlRequest.httpMethod ?? "GET"
        guard method.isHTTPToken, method != "CONNECT" else {
            throw PulseError.invalidRequest(reason: "the method is not a token, or is CONNECT")
        }
        let isSecure = origin.scheme == "https"
        let body: Data = if feed == nil, case .bytes(let data) = request.body { data } else { Data() }
        var writer = Writer(capacity: 1024 + body.count)
        writer.bytes += method
        writer.bytes += " "
        var credentials: String?
        var authority = text.withUTF8 { writer.add($0, isSecure: isSecure, isAbsolute: proxy != nil) }
        if authority == nil {
            let target = RequestTarget(url, origin)
            credentials = target.credentials
            text = target.text
            authority = text.withUTF8 { writer.add($0, isSecure: isSecure, isAbsolute: proxy != nil) }
        }
        guard let host = authority else {
            throw PulseError.invalidURL("its host, path or query has characters that a request cannot name")
        }
        writer.bytes += " HTTP/1.1\r\n"
        let fields = request.urlRequest.allHTTPHeaderFields ?? [:]
        try writer.add(fields, host: host, isUpgrade: request.delivery == .upgrade, isSecure: isSecure, proxy)
        if let credentials, !writer.hasAuthorization { writer.add("Authorization", "Basic \(credentials)") }
        if let feed {
            if let length = feed.length {
                writer.add("Content-Length", "\(length)")
            } else {
                writer.add("Transfer-Encoding", "chunked")
            }
        } else if case .bytes = request.body {
            writer.add("Content-Length", "\(body.count)")
        } else if method == "POST" || method == "PUT" || method == "PATCH" {
            // A length of 0 must be declared (RFC 9110, section 8.6).
            writer.add("Content-Length", "0")
        }
        writer.bytes += "\r\n"
        // A field counts as at most seven times its bytes.
        if writer.bytes.count > TransportRequest.maxHeadSize / 8 { try request.checkHeadSize() }
        if !body.isEmpty { writer.bytes += body }
        bytes = Data(writer.bytes)
        closesConnection = writer.closesConnection
        let offersUpgrade = request.delivery == .upgrade && writer.hasUpgrade
        traits = HTTP1ResponseParser.RequestTraits(isHead: method == "HEAD", offersUpgrade: offersUpgrade)
    }
}

/// Writes the bytes of a head, and notes properties of its fields.
private struct Writer {
    var bytes: [UInt8] = []
    private(set) var hasAuthorization = false
    private(set) var hasUpgrade = false
    private(set) var closesConnection = false

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends the target of a URL. Returns the host, with its port unless this is the default. Nil for a URL whose
    /// authority is more than plain ASCII: user info, escapes, zones, internationalized names. Then nothing is
    /// appended.
    mutating func add(_ url: UnsafeBufferPointer<UInt8>, isSecure: Bool, isAbsolute: Bool) -> String? {
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
        // Omits the default port, as usual.
        if host.count > defaultPort.count, host.suffix(defaultPort.count).elementsEqual(defaultPort) {
            host = host.dropLast(defaultPort.count)
        }
        let target = url[end...].prefix { $0 != UInt8(ascii: "#") }
        guard target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        if isAbsolute {
            bytes += "http://"
            bytes += host
        }
        if end == url.count || url[end] != UInt8(ascii: "/") { bytes += "/" }
        bytes += target
        return String(decoding: host, as: UTF8.self)
    }

    mutating func add(_ name: String, _ value: String) {
        bytes += name
        bytes += ": "
        bytes += value
        bytes += "\r\n"
    }

    /// An upgrade sends all fields as given, except those for framing and for proxies.
    mutating func add(
        _ fields: [String: String], host: String, isUpgrade: Bool, isSecure: Bool, _ proxy: ConnectionRoute.Proxy?
    ) throws {
        // Host is the first field (RFC 9110, section 7.2), unless the caller sets it.
        if !fields.keys.contains(where: { $0.utf8.count == 4 && $0.equalsIgnoringASCIICase("Host") }) {
            add("Host", host)
        }
        var (hasAcceptEncoding, hasRange, hasTE, hasProxyAuthorization) = (false, false, false, false)
        var connection: String?
        for (name, value) in fields {
            switch name.utf8.count {
            // Framing fields are set here: a length that differs from the body would enable request smuggling.
            case 14 where name.equalsIgnoringASCIICase("Content-Length"): continue
            case 17 where name.equalsIgnoringASCIICase("Transfer-Encoding"): continue
            case 15 where name.equalsIgnoringASCIICase("Accept-Encoding"):
                // An empty value counts as unset.
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
            case 2 where name.equalsIgnoringASCIICase("TE"): hasTE = true
            case 7 where name.equalsIgnoringASCIICase("Upgrade"): hasUpgrade = true
            case 10 where name.equalsIgnoringASCIICase("Connection"):
                closesConnection = value.hasOption("close")
                if isUpgrade { break }
                try HTTPHeaders.validate(name: name, value: value)
                connection = value
                continue
            case 13 where name.equalsIgnoringASCIICase("Authorization"): hasAuthorization = true
            case 19 where name.equalsIgnoringASCIICase("Proxy-Authorization"):
                // A tunnel receives its own with CONNECT: an origin must not see it.
                if proxy == nil { continue }
                hasProxyAuthorization = true
            case 16 where name.equalsIgnoringASCIICase("Proxy-Connection"): continue
            default: break
            }
            try HTTPHeaders.validate(name: name, value: value)
            add(name, value)
        }
        if hasTE, !isUpgrade, connection?.hasOption("TE") != true {
            // Without it, an intermediary would forward the field (RFC 9110, section 10.1.4).
            connection = connection.map { $0.isEmpty ? "TE" : $0 + ", TE" } ?? "TE"
        }
        if let connection { add("Connection", connection) }
        if let credentials = proxy?.credentials, !hasProxyAuthorization {
            add("Proxy-Authorization", "Basic \(credentials.basic)")
        }
        if !hasAcceptEncoding {
            add("Accept-Encoding", ContentCoding.acceptEncoding(isSecure: isSecure, hasRange: hasRange))
        }
    }
}

extension ASCIISet {
    fileprivate static let plainAuthority = ASCIISet.host.union(ASCIISet(":[]"))
}

extension [UInt8] {
    fileprivate static func += (bytes: inout Self, text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }
}

extension String {
    /// Whether a list, such as `Connection`, contains the option.
    fileprivate func hasOption(_ option: String) -> Bool {
        split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces).equalsIgnoringASCIICase(option) }
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
        if let problem = proxy.problem { throw PulseError.invalidRequest(reason: problem) }
    }
}
