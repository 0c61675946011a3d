// SPDX-License-Identifier: MIT

public import PulseCore

extension PulseRecording {
    /// The requests of all calls as a HAR 1.2 file, which browsers and proxies can open: with real times, sorted by
    /// their start, with every known secret masked.
    ///
    /// Responses without a network request, such as those from the cache, are omitted. A request without a response has
    /// status 0 and `_error`. An entry's `_pulse` names its call, attempt and redirect.
    public func har() -> Data {
        document.json
    }

    var document: HARDocument {
        let exchanges = calls.flatMap { call in call.exchanges.map { (call, $0) } }
        return HARDocument(
            entries: exchanges.map { call, exchange in
                HARDocument.Entry(exchange, of: call)
            }
            .enumerated()
            // Strings of fixed length sort by time; equal times keep their order.
            .sorted { ($0.element.startedDateTime ?? "", $0.offset) < ($1.element.startedDateTime ?? "", $1.offset) }
            .map(\.element))
    }
}

extension HARDocument.Entry {
    package init(_ exchange: PulseRecording.Exchange, of call: PulseRecording.Call) {
        self.init(exchange, startedAt: call.startedAt.addingTimeInterval(exchange.offset.finite))
        _pulse = HARDocument.Origin(
            call: call.id.uuidString, route: call.route, attempt: exchange.attempt, hop: exchange.hop,
            origin: exchange.response?.origin.rawValue)
    }

    package init(_ exchange: PulseRecording.Exchange, startedAt date: Date) {
        let timings = HARDocument.Timings(exchange.phases)
        let measured = exchange.response?.timings
        let version = HARDocument.httpVersion(measured?.networkProtocol)
        self.init(
            startedDateTime: HARDocument.text(of: date),
            time: timings.total,
            request: HARDocument.Request(exchange.request, httpVersion: version),
            response: HARDocument.Response(exchange.response, httpVersion: version),
            cache: HARDocument.Cache(),
            timings: timings,
            serverIPAddress: measured?.remoteAddress.flatMap { $0.isAddress ? $0 : nil },
            comment: exchange.duration == nil ? HARDocument.underWay : nil,
            _error: exchange.failure.map { HARDocument.Failure($0, exchange.fault) })
    }
}

extension HARDocument.Failure {
    init(_ error: PulseError.Summary, _ fault: RecordedFault?) {
        self.init(kind: error.kind.rawValue, message: error.message)
        switch fault {
        case .wire(let code, let phase)?: (self.code, self.phase) = (code, "\(phase)")
        case .limit(let limit)?: self.limit = limit
        case nil: break
        }
    }
}

extension HARDocument.Request {
    init(_ request: PulseRecording.Exchange.Request, httpVersion: String) {
        let body = request.body
        self.init(
            method: request.method, url: HARDocument.url(request.url), httpVersion: httpVersion, cookies: [],
            headers: request.headers.map { HARDocument.Field(name: $0.name, value: $0.value) },
            queryString: HARDocument.query(of: request.url),
            postData: body.content == .none
                ? nil
                : HARDocument.PostData(
                    mimeType: body.contentType ?? "", text: body.text ?? "",
                    // The format has no field for bytes here.
                    comment: body.isBytes ? "not kept: binary" : body.comment),
            headersSize: -1, bodySize: body.content == .none ? 0 : body.byteCount ?? -1)
    }
}

extension HARDocument.Response {
    init(_ response: PulseRecording.Exchange.Response?, httpVersion: String) {
        let body = response?.body ?? .none
        var content = HARDocument.Content(
            size: body.byteCount ?? 0, mimeType: body.contentType ?? "", text: body.text, comment: body.comment)
        if case .bytes(let data) = body.content {
            content.text = data.base64EncodedString()
            content.encoding = "base64"
        }
        self.init(
            status: response?.statusCode ?? 0,
            statusText: response.map { StatusText.phrase(of: $0.statusCode) } ?? "",
            httpVersion: response == nil ? "" : httpVersion, cookies: [],
            headers: response?.headers.map { HARDocument.Field(name: $0.name, value: $0.value) } ?? [],
            content: content, redirectURL: response?.headers["Location"] ?? "", headersSize: -1,
            bodySize: response?.timings?.bytesReceived ?? (body.content == .none ? 0 : -1))
    }
}

extension HARDocument.Timings {
    /// The phases in milliseconds; -1 for a phase that the transport did not measure. `connect` includes `ssl`.
    init(_ phases: [PhaseTiming]) {
        func milliseconds(_ phase: MetricsSnapshot.Phase) -> Double? {
            phases.first { $0.phase == phase }.map { HARDocument.milliseconds($0.duration) }
        }
        let (connect, ssl) = (milliseconds(.connecting), milliseconds(.securing))
        self.init(
            blocked: milliseconds(.queued) ?? -1, dns: milliseconds(.nameResolution) ?? -1,
            connect: connect == nil && ssl == nil ? -1 : (connect ?? 0) + (ssl ?? 0), ssl: ssl ?? -1,
            send: milliseconds(.sending) ?? 0, wait: milliseconds(.waiting) ?? 0, receive: milliseconds(.receiving) ?? 0
        )
    }

    /// The sum of all but `ssl`, as the format requires.
    var total: Double {
        let sum = [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) }
        return (sum * 1000).rounded() / 1000
    }
}

extension PulseRecording.Body {
    fileprivate var isBytes: Bool {
        if case .bytes = content { true } else { false }
    }

    /// Information that HAR has no field for.
    fileprivate var comment: String? {
        switch content {
        case .none: nil
        case .text, .bytes: isTruncated ? "cut" : nil
        case .omitted(let reason): "not kept: \(reason.rawValue)"
        }
    }
}

extension HARDocument {
    /// The comment of an entry whose response is pending.
    package static let underWay = "under way"

    static func milliseconds(_ seconds: TimeInterval) -> Double {
        (seconds.finite * 1_000_000).rounded() / 1000
    }

    /// `http/1.1` as `HTTP/1.1`, `h2` as `HTTP/2`.
    static func httpVersion(_ name: String?) -> String {
        switch name?.asciiLowercased {
        case "h2": "HTTP/2"
        case "h3": "HTTP/3"
        case let name?: name.uppercased()
        case nil: "unknown"
        }
    }

    /// A URL in the form of RFC 3986, without its fragment. A truncated URL ends with a character that is invalid in
    /// URLs.
    package static func url(_ text: String) -> String {
        let whole = text[..<(text.firstIndex(of: "#") ?? text.endIndex)]
        let mark = whole.firstIndex(of: "?") ?? whole.endIndex
        let address = whole[..<mark]
        let authority = address.range(of: "://")?.upperBound ?? address.startIndex
        let path = address[authority...].firstIndex(of: "/") ?? address.endIndex
        return address[..<path] + PercentEncoding.path(String(address[path...]))
            + (mark < whole.endIndex ? "?" + PercentEncoding.queryText(String(whole[mark...].dropFirst())) : "")
    }

    static func query(of url: String) -> [Field] {
        let end = url.firstIndex(of: "#") ?? url.endIndex
        guard let mark = url[..<end].firstIndex(of: "?") else { return [] }
        return url[url.index(after: mark)..<end].split(separator: "&").map { item in
            let sign = item.firstIndex(of: "=") ?? item.endIndex
            return Field(name: decoded(item[..<sign]), value: decoded(item[sign...].dropFirst()))
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        return String(decoding: PercentEncoding.lenientlyDecoded(bytes, in: 0..<bytes.count), as: UTF8.self)
    }

    /// `2026-01-01T00:00:00.000Z`, within the range of four-digit years.
    static func text(of date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        let shown = seconds.isNaN ? 0 : max(-62_135_596_800, min(253_402_300_799, seconds))
        return Date(timeIntervalSince1970: shown)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

extension String {
    /// An IP address of either version, without a zone.
    fileprivate var isAddress: Bool {
        !isEmpty && utf8.count < 46 && utf8.allSatisfy { $0.hexDigitValue != nil || ":.".utf8.contains($0) }
            && utf8.contains { ":.".utf8.contains($0) }
    }
}
