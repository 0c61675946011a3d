// SPDX-License-Identifier: MIT

public import PulseCore

/// One stored cookie (RFC 6265, section 5.3). Its descriptions never show the value.
public struct Cookie: Sendable, Hashable, Codable {
    /// The name, which is never empty.
    public let name: String
    /// The value as sent by the server, including quotes. For bytes that are not UTF-8 see ``CookieStore``.
    public let value: String
    /// The domain that the cookie belongs to, in lower case and without a leading dot.
    public let domain: String
    /// Whether the cookie is sent only to exactly this host, and not to its subdomains.
    public let isHostOnly: Bool
    /// The cookie is sent to this path and to paths below it (RFC 6265, section 5.1.4).
    public let path: String
    /// The expiry date. Nil for a session cookie, which a persistent store does not save.
    public let expires: Date?
    /// Whether the cookie is sent only over https or to a loopback host.
    public let isSecure: Bool
    /// When a cookie of this name, domain and path was first stored.
    public internal(set) var created: Date

    /// The identity of a cookie: a new cookie replaces the old one with the same key. Uses bytes, because `String`
    /// considers canonically equivalent names equal, which servers do not.
    struct Key: Hashable {
        let name, domain, path: [UInt8]
    }

    var key: Key { Key(name: Array(name.utf8), domain: Array(domain.utf8), path: Array(path.utf8)) }

    func isExpired(at now: Date) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    func matches(host: String, path: String, isSecure: Bool) -> Bool {
        (isHostOnly ? host == domain : CookieRules.domain(domain, matches: host))
            && CookieRules.path(self.path, matches: path) && (isSecure || !self.isSecure)
    }
}

// Compares bytes, as the key does.
extension Cookie {
    public static func == (left: Cookie, right: Cookie) -> Bool {
        left.key == right.key && left.value.utf8.elementsEqual(right.value.utf8) && left.isHostOnly == right.isHostOnly
            && left.expires == right.expires && left.isSecure == right.isSecure && left.created == right.created
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(key)
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    public var description: String { "cookie \(name) of \(domain)\(path)".onOneLine }
    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Cookie {
    /// Larger cookies are ignored, as in browsers.
    private static let sizeLimit = 4096
    private static let attributeLimit = 1024
    /// The longest lifetime of a cookie (RFC 6265bis, section 5.5).
    private static let longestLife: TimeInterval = 400 * 86_400

    /// Parses a `Set-Cookie` line from this URL. Nil if the cookie must be ignored (RFC 6265, sections 5.2 and 5.3;
    /// prefixes and the rules about `Secure` as in RFC 6265bis).
    init?(setCookie line: String, from url: CookieOrigin, now: Date) {
        guard !line.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return nil }
        // Splits octets: a separator followed by a combining mark is another Character.
        let parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        guard let pair = parts.first, let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        name = pair[..<equals].trimmed
        value = pair[pair.index(after: equals)...].trimmed
        guard !name.isEmpty, name.utf8.count + value.utf8.count <= Self.sizeLimit else { return nil }

        var attributes = Attributes()
        for part in parts.dropFirst() { attributes.read(part, now: now, limit: Self.attributeLimit) }
        if let domain = attributes.domain, !domain.isEmpty, domain != url.host {
            guard CookieRules.domain(domain, matches: url.host), !CookieRules.isShared(domain) else { return nil }
            self.domain = domain
            isHostOnly = false
        } else {
            domain = url.host
            isHostOnly =
                attributes.domain?.isEmpty ?? true || CookieRules.isAddress(url.host) || CookieRules.isShared(url.host)
        }
        path = attributes.path ?? url.defaultPath
        isSecure = attributes.isSecure
        expires = attributes.expires.map { min($0, now + Self.longestLife) }
        created = now

        guard url.isSecure || !isSecure else { return nil }
        let lowercasedName = name.asciiLowercased.utf8
        if lowercasedName.starts(with: "__secure-".utf8), !isSecure { return nil }
        if lowercasedName.starts(with: "__host-".utf8), !isSecure || !isHostOnly || attributes.path != "/" {
            return nil
        }
    }

    private struct Attributes {
        var domain: String?
        var path: String?
        var isSecure = false
        private var expiresAt: Date?
        private var maxAge: Date?

        /// Max-Age takes precedence over Expires.
        var expires: Date? { maxAge ?? expiresAt }

        mutating func read(_ text: Substring.UTF8View, now: Date, limit: Int) {
            let equals = text.firstIndex(of: UInt8(ascii: "=")) ?? text.endIndex
            let value = text[equals...].dropFirst().trimmed
            guard value.utf8.count <= limit else { return }
            switch text[..<equals].trimmed.asciiLowercased {
            case "domain":
                let dots = value.utf8.first == UInt8(ascii: ".") ? 1 : 0
                domain = String(Substring(value.utf8.dropFirst(dots))).asciiLowercased
            case "path":
                path = value.utf8.first == UInt8(ascii: "/") ? value : nil
            case "secure":
                isSecure = true
            case "expires":
                expiresAt = CookieDate.parse(value) ?? expiresAt
            case "max-age":
                let digits = value.utf8.first == UInt8(ascii: "-") ? value.utf8.dropFirst() : value.utf8[...]
                guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return }
                let seconds = value.hasPrefix("-") ? 0 : TimeInterval(value) ?? 0
                maxAge = seconds > 0 ? now + min(seconds, 1e10) : .distantPast
            default:
                break
            }
        }
    }
}

/// The origin of a request or response, by the rules of cookies.
struct CookieOrigin {
    let host: String
    let path: String
    /// Whether the network cannot read the cookies: true for https, and for a loopback host, as in browsers.
    let isSecure: Bool

    /// Nil unless the URL is http or https.
    init?(_ url: URL) {
        guard let origin = Origin(url) else { return nil }
        host = origin.host
        isSecure = origin.scheme == "https" || CookieRules.isLoopback(origin.host)
        let path = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? url.path
        self.path = path.hasPrefix("/") ? path : "/"
    }

    /// The path up to its last slash, without the slash (RFC 6265, section 5.1.4).
    var defaultPath: String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

enum CookieRules {
    /// The host and its parent domains. A name longer than DNS permits (RFC 1035, section 2.3.4) has no parents.
    static func domains(of host: String) -> [[UInt8]] {
        let bytes = Array(host.utf8)
        guard !isAddress(host), bytes.count <= 255 else { return [bytes] }
        return [bytes] + bytes.indices.filter { bytes[$0] == UInt8(ascii: ".") }.map { Array(bytes[($0 + 1)...]) }
    }

    /// Whether a host equals the domain or is a subdomain of it (RFC 6265, section 5.1.3).
    static func domain(_ domain: String, matches host: String) -> Bool {
        host == domain || host.hasSuffix("." + domain) && !isAddress(host)
    }

    /// Whether a requested path equals the cookie's path or is below it (RFC 6265, section 5.1.4).
    static func path(_ path: String, matches requested: String) -> Bool {
        let (path, requested) = (path.utf8, requested.utf8)
        let slash = UInt8(ascii: "/")
        return requested.starts(with: path)
            && (requested.count == path.count || path.last == slash || requested.dropFirst(path.count).first == slash)
    }

    /// Whether the host is an IP address, which has no subdomains.
    static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.split(separator: ".").last.map { $0.utf8.allSatisfy(\.isASCIIDigit) } ?? false
    }

    /// Whether traffic to the host never leaves this machine.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// Whether unrelated owners share a domain: a cookie for such a public suffix would leak to strangers. A name with
    /// an empty label counts as shared.
    static func isShared(_ domain: String) -> Bool {
        domain.split(separator: ".", omittingEmptySubsequences: false).contains("")
            || PublicSuffixes.current.contains(domain)
    }
}

/// Parses cookie dates in any format that servers send (RFC 6265, section 5.1.1).
enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    static func parse(_ text: String) -> Date? {
        var time: [Int]?
        var (day, month, year): (Int?, Int?, Int?)
        for token in text.utf8.split(whereSeparator: isDelimiter).map({ String(Substring($0)).asciiLowercased }) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = months.firstIndex(where: token.hasPrefix) {
                month = found + 1
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, time[0] < 24, time[1] < 60, time[2] < 60, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
        guard year >= 1601 else { return nil }
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let clock = time.map(two).joined(separator: ":")
        let name = months[month - 1]
        return HTTPDate.parse("Mon, \(two(day)) \(name) \(year) \(clock) GMT", now: Date(timeIntervalSince1970: 0))
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == 0x09 || 0x20...0x2F ~= byte || 0x3B...0x40 ~= byte || 0x5B...0x60 ~= byte || 0x7B...0x7E ~= byte
    }

    /// The three numbers at the start of the text. The caller checks their ranges.
    private static func time(_ token: String) -> [Int]? {
        var rest = token.utf8[...]
        var numbers: [Int] = []
        while let found = number(String(Substring(rest)), digits: 1...2) {
            numbers.append(found)
            if numbers.count == 3 { return numbers }
            rest = rest.drop(while: \.isASCIIDigit)
            guard rest.popFirst() == UInt8(ascii: ":") else { return nil }
        }
        return nil
    }

    /// The number at the start of the text, if it has an allowed number of digits.
    private static func number(_ token: String, digits: ClosedRange<Int>) -> Int? {
        let found = token.utf8.prefix(while: \.isASCIIDigit)
        return digits.contains(found.count) ? Int(String(Substring(found))) : nil
    }
}

extension Substring.UTF8View {
    fileprivate var trimmed: String { Substring(self).trimmingCharacters(in: CharacterSet(charactersIn: " \t")) }
}
