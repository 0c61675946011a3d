// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A request in libcurl's form, built on the caller's task to relieve the loop.
final class CurlRequest: Sendable {
    enum Body: Sendable {
        case none
        case bytes(Data)
        /// Bytes that a task writes into the pipe; the length, if known.
        case pipe(BytePipe, length: Int64?)
    }

    enum Delivery: Sendable {
        case buffered(limit: Int)
        /// Puts a 2xx body into the pipe; buffers any other body and truncates it. Delivers the timings before the pipe
        /// ends.
        case streamed(BytePipe, timings: @Sendable (PulseResponse.Timings) -> Void)
    }

    let url: String
    let method: String
    /// Header lines in libcurl's format, each terminated by a NUL: `Name: value`, `Name;` for an empty value, `Name:`
    /// to suppress one of libcurl's own.
    let headerLines: [UInt8]
    let traits: CurlResponseParser.RequestTraits
    let expectsContinue: Bool
    let body: Body
    let delivery: Delivery
    let isSecure: Bool
    let connectTimeout: TimeInterval
    let idleTimeout: TimeInterval
    let mayBeResent: Bool
    let needsNewConnection: Bool
    /// Whether the request must not share a connection of HTTP/2 that is open, either.
    let wasMisdirected: Bool
    /// Whether the server requires HTTP/1.1.
    let needsHTTP1: Bool
    let pins: PinnedKeys?
    let tls: TLSSettings
    let proxy: ProxySettings
    let unixSocketPath: String?

    /// Throws ``PulseError`` for a request that cannot be sent unchanged.
    init(
        _ request: TransportRequest, url: URL, isSecure: Bool, body: Body, delivery: Delivery, unixSocketPath: String?,
        needsHTTP1: Bool = false
    ) throws {
        self.url = url.absoluteString
        self.isSecure = isSecure
        method = request.urlRequest.httpMethod ?? "GET"
        try request.checkHeadSize()
        guard method.isHTTPToken else { throw PulseError.invalidRequest(reason: "the method is not a token") }
        try request.validate()
        let fields = request.urlRequest.allHTTPHeaderFields ?? [:]
        var lines = HeaderLines()
        for (name, value) in fields {
            try HTTPHeaders.validate(name: name, value: value)
            lines.add(name, value)
        }
        if !lines.hasAccept { lines.add(withoutValue: "Accept:") }
        if !lines.hasAcceptEncoding {
            lines.add(
                "Accept-Encoding", ContentCoding.acceptEncoding(isSecure: isSecure, hasRange: lines.hasRange))
        }
        let isGetWithoutBody = if case .none = body { method == "GET" } else { false }
        if !isGetWithoutBody {
            if !lines.hasContentType { lines.add(withoutValue: "Content-Type:") }
            if !lines.hasExpect { lines.add(withoutValue: "Expect:") }
        }
        headerLines = lines.bytes
        traits = CurlResponseParser.RequestTraits(isHead: method == "HEAD", asksForUpgrade: lines.hasUpgrade)
        expectsContinue = lines.hasExpect
        self.body = body
        self.delivery = delivery
        connectTimeout = request.connectTimeout
        idleTimeout = request.idleTimeout
        mayBeResent = request.mayBeResent
        needsNewConnection = request.needsNewConnection
        wasMisdirected = request.wasMisdirected
        self.needsHTTP1 = needsHTTP1
        pins = isSecure ? try request.pins.map { try PinnedKeys($0) } : nil
        tls = request.tls
        proxy = CurlProxy.settings(request.proxy, for: request.urlRequest.url)
        self.unixSocketPath = unixSocketPath
    }

    /// The request of an idle handle.
    static let nothing = URL(string: "http://localhost").flatMap { url in
        try? CurlRequest(
            TransportRequest(urlRequest: URLRequest(url: url)), url: url, isSecure: false, body: .none,
            delivery: .buffered(limit: 0), unixSocketPath: nil)
    }

    var hasBody: Bool { bodyLength != nil }

    /// In bytes: nil without a body, `Int64.max` for an unknown length.
    var bodyLength: Int64? {
        switch body {
        case .none: nil
        case .bytes(let data): Int64(data.count)
        case .pipe(_, let length): length ?? .max
        }
    }

    /// The connection group of the transfer. Requests with pins share no connections with others: their connections
    /// never resume a session made under another policy, so each has a verified chain to check.
    ///
    /// A stream that may use HTTP/2 has a connection of its own. For a paused transfer libcurl keeps what the others on
    /// its connection read past, up to its window of 32 MiB; alone, a pause stops the server.
    var group: Int32 { (pins == nil ? 0 : 1) + (sharesConnection ? 0 : Int32(PULSE_LOOP_SHARING_GROUPS)) }

    /// Whether the connection may have other transfers at the same time.
    var sharesConnection: Bool {
        guard isSecure, case .streamed = delivery else { return true }
        return false
    }

    /// The settings that a handle keeps for the next common request; nil for a request that needs more than these, a
    /// URL and header fields.
    var reusableSettings: ReusableSettings? {
        guard method == "GET", !hasBody, case .buffered = delivery, pins == nil, tls == .default,
            !wasMisdirected
        else { return nil }
        if case .proxy = proxy.route { return nil }
        return ReusableSettings(
            isSecure: isSecure, isDirect: proxy.route == .direct, needsHTTP1: needsHTTP1, connectTimeout: connectTimeout
        )
    }

    struct ReusableSettings: Equatable {
        let isSecure: Bool
        let isDirect: Bool
        let needsHTTP1: Bool
        let connectTimeout: TimeInterval
    }
}

/// The header lines of a request, concatenated.
private struct HeaderLines {
    private(set) var bytes: [UInt8] = []
    private(set) var hasAccept = false
    private(set) var hasAcceptEncoding = false
    private(set) var hasContentType = false
    private(set) var hasExpect = false
    private(set) var hasRange = false
    private(set) var hasUpgrade = false

    init() {
        bytes.reserveCapacity(512)
    }

    mutating func add(_ name: String, _ value: String) {
        switch name.utf8.count {
        // libcurl does the framing: a length that differs from the body would enable request smuggling.
        case 14 where name.equalsIgnoringASCIICase("Content-Length"): return
        case 17 where name.equalsIgnoringASCIICase("Transfer-Encoding"): return
        case 15 where name.equalsIgnoringASCIICase("Accept-Encoding"):
            // An empty value would accept any coding.
            if value.isEmpty { return }
            hasAcceptEncoding = true
        case 5 where name.equalsIgnoringASCIICase("Range"): hasRange = true
        case 7 where name.equalsIgnoringASCIICase("Upgrade"): hasUpgrade = true
        case 6 where name.equalsIgnoringASCIICase("Accept"): hasAccept = true
        case 6 where name.equalsIgnoringASCIICase("Expect"): hasExpect = true
        case 12 where name.equalsIgnoringASCIICase("Content-Type"): hasContentType = true
        case 6 where name.equalsIgnoringASCIICase("Cookie"):
            guard let octets = OctetText.bytes(value) else { break }
            bytes.append(contentsOf: name.utf8)
            bytes += [UInt8(ascii: ":"), UInt8(ascii: " ")]
            bytes += octets
            bytes.append(0)
            return
        default: break
        }
        bytes.append(contentsOf: name.utf8)
        // libcurl drops a field with a blank value.
        if value.utf8.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) {
            bytes.append(UInt8(ascii: ";"))
        } else {
            bytes.append(UInt8(ascii: ":"))
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: value.utf8)
        }
        bytes.append(0)
    }

    mutating func add(withoutValue name: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(0)
    }
}
#endif
