// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlugins
import PulseTesting

/// A server whose resources change and that records every version: its bytes, and when it was current. It supports
/// ranges and conditions, and makes the mistakes that servers make.
final class VersionedServer: Sendable {
    private struct Version {
        let number: Int
        /// By the wall clock.
        let since: Date
        var until: Date?
        let length: Int
        let directives: String
        let validator: Int
    }

    private struct State {
        var versions: [String: [Version]] = [:]
        var count = 0
        /// The first version that may be served after a change through the cache.
        var floor: [String: Int] = [:]
    }

    private static let directives = [
        "max-age=20", "max-age=20", "max-age=20", "max-age=0", "no-cache", "no-store", "max-age=20, must-revalidate",
    ]

    private let clock: TestClock
    private let random: SeededRandomness
    private let state = Locked(State())

    init(clock: TestClock, seed: UInt64) {
        self.clock = clock
        random = SeededRandomness(seed: seed)
        for path in ["/a", "/b", "/large"] { change(path) }
    }

    private func chance(_ oneIn: UInt64) -> Bool { random.next() % oneIn == 0 }

    func change(_ path: String) {
        let now = clock.now
        state.withLock { state in
            state.count += 1
            var versions = state.versions[path, default: []]
            if let last = versions.indices.last { versions[last].until = now }
            // Two versions within one second have the same date: a cache cannot distinguish them by it (RFC 9110,
            // section 8.8.2.2).
            let kinds = versions.last?.since == now ? [0, 1, 3] : [0, 1, 2, 3]
            let length = path == "/large" ? 1_200 : random.next() % 40
            versions.append(
                Version(
                    number: state.count, since: now, until: nil, length: Int(length),
                    directives: Self.directives[Int(random.next() % UInt64(Self.directives.count))],
                    validator: path == "/b" ? kinds[Int(random.next() % UInt64(kinds.count))] : 0))
            state.versions[path] = versions
        }
    }

    func raiseFloor(_ path: String) {
        state.withLock { $0.floor[path] = $0.versions[path]?.last?.number }
    }

    // MARK: Responding

    func respond(to request: URLRequest) throws -> PulseResponse {
        let path = request.url?.path ?? ""
        if chance(25) {
            throw TransportFailure(
                code: .networkConnectionLost, phase: .maybeSent, underlying: URLError(.networkConnectionLost))
        }
        guard request.httpMethod == "GET" else {
            change(path)
            return PulseResponse(statusCode: 204, request: request)
        }
        let fields = request.allHTTPHeaderFields ?? [:]
        guard let version = state.withLock({ $0.versions[path]?.last }) else {
            return PulseResponse(statusCode: 404, request: request)
        }
        var resource = RangeResource(body(version, fields), headers(version, fields))
        resource.knowsRanges = !chance(12)
        resource.tellsLength = !chance(5)
        resource.ignoresIfRange = chance(5)
        var (status, headers, data) = resource.response { fields.header($0) }
        if status == 206, chance(12), data.count > 2 {
            // Another range than the requested one.
            let start = Int(random.next() % UInt64(resource.body.count))
            (status, headers, data) = resource.part(start..<resource.body.count)
        }
        headers["Date"] = HTTPDate.format(clock.now)
        if status == 206, chance(12) {
            // Fewer bytes than stated.
            headers["X-Cut"] = "1"
            data = Data(data.dropLast())
        }
        if chance(12) { return try cut(data, status, headers, request) }
        return PulseResponse(statusCode: status, headers: headers, data: data, request: request)
    }

    /// A connection that breaks in the middle of the body: an error for buffered calls, and in the stream.
    private func cut(
        _ data: Data, _ status: Int, _ headers: HTTPHeaders, _ request: URLRequest
    ) throws -> PulseResponse {
        var response = PulseResponse(statusCode: status, headers: headers, request: request)
        let rest = Locked([Data(data.prefix(data.count / 2))][...])
        response.body = .stream(
            ByteStream(next: {
                guard let next = rest.withLock({ $0.popFirst() }) else {
                    throw TransportFailure(code: .networkConnectionLost, phase: .responseStarted)
                }
                return next
            }))
        return response
    }

    private func variant(_ fields: [String: String]) -> String {
        let language = fields.header("Accept-Language") ?? ""
        return (language.lowercased().hasPrefix("en") ? "en" : language) + (fields.header("Authorization") ?? "")
    }

    private func body(_ version: Version, _ fields: [String: String]) -> Data {
        let salt = variant(fields).utf8.reduce(version.number) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
        return Data((0..<version.length).map { UInt8(truncatingIfNeeded: (salt &* 7919 &+ $0 &* 104_729) >> 3) })
    }

    private func headers(_ version: Version, _ fields: [String: String]) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Cache-Control": version.directives, "X-Version": "\(version.number)", "Vary": "Accept-Language",
        ]
        let validator = validator(version, fields)
        if !validator.isEmpty { headers[version.validator == 2 ? "Last-Modified" : "ETag"] = validator }
        return headers
    }

    private func validator(_ version: Version, _ fields: [String: String]) -> String {
        switch version.validator {
        case 0: "\"\(version.number)-\(variant(fields))\"".replacingOccurrences(of: " ", with: "-")
        case 1: "W/\"\(version.number)-\(variant(fields))\"".replacingOccurrences(of: " ", with: "-")
        case 2: HTTPDate.format(version.since)
        default: ""
        }
    }

    /// The validators of the last versions, for conditions.
    func validators(_ path: String, _ fields: [String: String]) -> [String] {
        let versions = state.withLock { Array($0.versions[path, default: []].suffix(3)) }
        return versions.map { validator($0, fields) }.filter { !$0.isEmpty } + ["\"0\""]
    }

    // MARK: Checking responses

    /// Why a response to this request is wrong; nil if it is correct.
    func problem(
        with response: PulseResponse, _ path: String, _ fields: [String: String], isFirst mode: RequestOptions.Cache
    ) -> String? {
        let isStored = [.cache, .stale, .revalidated, .coalesced].contains(response.origin)
        // The server itself may send wrong responses.
        if !isStored, response.headers["X-Cut"] != nil { return nil }
        guard response.statusCode != 504 else { return nil }
        let (versions, floor) = state.withLock { ($0.versions[path, default: []], $0.floor[path] ?? 0) }
        if response.statusCode == 416, isStored { return notSatisfiable(response, versions, fields) }
        guard response.statusCode != 416 else { return nil }
        guard let number = response.headers["X-Version"].flatMap({ Int($0) }),
            let version = versions.first(where: { $0.number == number })
        else { return "no version of the server has this body" }
        let body = body(version, fields)
        switch response.statusCode {
        case 200:
            guard response.data == body else { return "other bytes" }
        case 304:
            guard let tags = fields["If-None-Match"] else { return "a 304 to an unconditional request" }
            let own = validator(version, fields).replacingOccurrences(of: "W/", with: "")
            guard tags == "*" || !own.isEmpty && tags.contains(own) else { return "a 304 about another version" }
        case 206:
            if let problem = problem(withPart: response, of: body, fields, isStored) { return problem }
            if isStored, let condition = fields["If-Range"], condition != validator(version, fields) {
                return "a part of another version than the caller has"
            }
        default:
            return nil
        }
        if isStored, let length = response.headers["Content-Length"], response.statusCode != 304,
            Int(length) != response.data.count
        {
            return "a length of \(length)"
        }
        guard number >= floor else { return "outdated since a change" }
        return problem(withAgeOf: version, response.origin, mode)
    }

    private func problem(
        withPart response: PulseResponse, of body: Data, _ fields: [String: String], _ isStored: Bool
    ) -> String? {
        guard let asked = fields["Range"], let text = response.headers["Content-Range"] else { return "a part" }
        let parts = text.dropFirst("bytes ".count).components(separatedBy: CharacterSet(charactersIn: "-/"))
        guard parts.count == 3, let first = Int(parts[0]), let last = Int(parts[1]), last < body.count,
            parts[2] == "*" || Int(parts[2]) == body.count
        else { return "a range of \(text)" }
        guard response.data == body[first...last] else { return "other bytes" }
        if isStored, RangeResource.range(asked, of: body.count) != first..<(last + 1) {
            return "not the requested range"
        }
        return nil
    }

    private func notSatisfiable(
        _ response: PulseResponse, _ versions: [Version], _ fields: [String: String]
    ) -> String? {
        let lengths = versions.filter { ($0.until ?? .distantFuture) >= clock.now.addingTimeInterval(-20) }.map(
            \.length)
        guard let text = response.headers["Content-Range"], text.hasPrefix("bytes */"),
            let length = Int(text.dropFirst(8)),
            lengths.contains(length) || response.origin == .stale
        else { return "a length that no version has" }
        return RangeResource.range(fields["Range"] ?? "", of: length)?.isEmpty == true ? nil : "there are such bytes"
    }

    private func problem(
        withAgeOf version: Version, _ origin: PulseResponse.Origin, _ mode: RequestOptions.Cache
    ) -> String? {
        if version.directives == "no-store", origin != .mock { return "a response that must not be stored" }
        guard let until = version.until else { return nil }
        let past = clock.now.timeIntervalSince(until)
        switch origin {
        case .cache, .coalesced:
            if mode == .reload || mode == .revalidate { return "a stored response in spite of the mode" }
            if version.directives == "no-cache" || version.directives == "max-age=0" { return "one to be confirmed" }
            return past < 20 ? nil : "past for \(past)"
        case .stale:
            let mayBeStale = mode == .onlyIfCached || mode == .staleWhileRevalidate
            let isForbidden = ["no-cache", "max-age=20, must-revalidate"].contains(version.directives)
            return mayBeStale && !isForbidden ? nil : "stale"
        case .network, .revalidated, .mock:
            return "outdated for \(past), although from the server itself"
        }
    }
}
