// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// A request as the header fields of HTTP/2 (RFC 9113, section 8.3.1), and the body that is sent with them.
struct HTTP2Request: Sendable {
    /// The pseudo-fields first. All names are in lower case.
    private(set) var fields: [(name: String, value: [UInt8])] = []
    /// The body; empty without one, and if a feed sends it.
    let body: Data
    let isHead: Bool

    /// Throws ``PulseError`` for a request that cannot be sent.
    ///
    /// - Parameter feed: sends the body; nil for a body that is sent with the fields.
    init(_ request: TransportRequest, _ url: URL, _ origin: Origin, _ feed: BodyFeed? = nil) throws {
        let text = url.absoluteString
        // Before a very long URL is scanned.
        if text.utf8.count > TransportRequest.maxHeadSize { try request.checkHeadSize() }
        let method = request.urlRequest.httpMethod ?? "GET"
        guard method.isHTTPToken, method != "CONNECT" else {
            throw PulseError.invalidRequest(reason: "the method is not a token, or is CONNECT")
        }
        guard let target = Target(text, url, origin) else {
            throw PulseError.invalidURL("its host, path or query has characters that a request cannot name")
        }
        body = if feed == nil, case .bytes(let data) = request.body { data } else { Data() }
        isHead = method == "HEAD"
        let given = request.urlRequest.allHTTPHeaderFields ?? [:]
        // The `Host` field names the host that the caller intends, as over HTTP/1.1.
        let host = given.first { $0.key.equalsIgnoringASCIICase("Host") }
        if let host { try HTTPHeaders.validate(name: host.key, value: host.value) }
        fields.reserveCapacity(given.count + 8)
        add(":method", method)
        add(":scheme", origin.scheme)
        add(":authority", host?.value ?? target.authority)
        add(":path", target.path)
        try add(given, isSecure: origin.scheme == "https")
        if let credentials = target.credentials, !has("authorization") { add("authorization", "Basic \(credentials)") }
        if let length = Self.length(of: request, method, feed) { add("content-length", "\(length)") }
        // A field counts as at most seven times its bytes.
        let size = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.count }
        if size > TransportRequest.maxHeadSize / 8 { try request.checkHeadSize() }
    }

    private mutating func add(_ given: [String: String], isSecure: Bool) throws {
        let perHop = Self.namesOfConnection(given)
        for (name, value) in given {
            try HTTPHeaders.validate(name: name, value: value)
            let name = name.asciiLowercased
            switch name {
            // Framing fields are set here: a length that differs from the body is malformed.
            case "content-length", "host": continue
            // Connection-specific fields are malformed (RFC 9113, section 8.2.2).
            case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings",
                "proxy-authorization":
                continue
            case "te":
                let members = value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                if members.contains(where: { $0.equalsIgnoringASCIICase("trailers") }) { add(name, "trailers") }
            // An empty value counts as unset.
            case "accept-encoding" where value.isEmpty: continue
            case _ where perHop.contains(name): continue
            case "cookie":
                fields.append((name, Self.trimmed(OctetText.bytes(value) ?? Array(value.utf8))))
            default: add(name, value)
            }
        }
        if !has("accept-encoding") {
            add("accept-encoding", ContentCoding.acceptEncoding(isSecure: isSecure, hasRange: has("range")))
        }
    }

    private mutating func add(_ name: String, _ value: String) {
        fields.append((name, Self.trimmed(Array(value.utf8))))
    }

    private func has(_ name: String) -> Bool {
        fields.contains { $0.name == name }
    }

    /// The value without surrounding blanks, which would be malformed (RFC 9113, section 8.2.1).
    private static func trimmed(_ value: [UInt8]) -> [UInt8] {
        guard value.first?.isBlank == true || value.last?.isBlank == true else { return value }
        return value.withUnsafeBytes { Array($0.trimmed) }
    }

    /// The names that the caller's `Connection` lists, in lower case.
    private static func namesOfConnection(_ given: [String: String]) -> [String] {
        guard let connection = given.first(where: { $0.key.equalsIgnoringASCIICase("Connection") }) else { return [] }
        return connection.value.split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces).asciiLowercased
        }
    }

    /// The length to declare; nil if it is unknown, or if there is no body.
    private static func length(of request: TransportRequest, _ method: String, _ feed: BodyFeed?) -> Int64? {
        if let feed { return feed.length }
        if case .bytes(let data) = request.body { return Int64(data.count) }
        // A length of 0 must be declared (RFC 9110, section 8.6).
        return method == "POST" || method == "PUT" || method == "PATCH" ? 0 : nil
    }

    /// The parts of the URL.
    private struct Target {
        /// The host, with its port unless this is the default.
        let authority: String
        let path: String
        /// The user information in the form of Basic credentials; nil without any.
        let credentials: String?

        /// Nil for a host that is more than plain ASCII, or a target with bytes that must be escaped.
        init?(_ text: String, _ url: URL, _ origin: Origin) {
            let start = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
            let authority = text.utf8[start...].dropFirst(2).prefix { !"/?#".utf8.contains($0) }
            // User information, escapes and zones need more than a copy.
            let isPlain = authority.allSatisfy(ASCIISet.authority.contains)
            let parts = isPlain ? nil : RequestTarget(url, origin)
            credentials = parts?.credentials
            let whole = parts?.text ?? text
            guard var host = Self.authority(whole) else { return nil }
            let rest = whole.utf8[host.endIndex...].prefix { $0 != UInt8(ascii: "#") }
            guard rest.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
            path = (rest.first == UInt8(ascii: "/") ? "" : "/") + String(Substring(rest))
            if host.last == ":" { host = host.dropLast() }
            // Omits the default port, as usual.
            let port = origin.scheme == "https" ? ":443" : ":80"
            if host.count > port.count, host.hasSuffix(port) { host = host.dropLast(port.count) }
            self.authority = String(host)
        }

        private static func authority(_ text: String) -> Substring? {
            guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
            let host = text.utf8[slash...].dropFirst(2).prefix { !"/?#".utf8.contains($0) }
            return host.isEmpty || !host.allSatisfy(ASCIISet.authority.contains) ? nil : Substring(host)
        }
    }
}

extension ASCIISet {
    fileprivate static let authority = ASCIISet.host.union(ASCIISet(":[]"))
}
#endif
