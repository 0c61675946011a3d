// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage
import PulseTesting

@testable import PulsePlugins

/// Random requests and responses: mostly realistic, often slightly wrong.
struct RandomMessages {
    private let random: SeededRandomness
    /// 1 January 2026.
    private let start: TimeInterval = 1_767_225_600

    init(seed: UInt64) {
        random = SeededRandomness(seed: seed)
    }

    func pick<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
    func chance(_ oneIn: UInt64) -> Bool { random.next() % oneIn == 0 }
    func number(_ limit: UInt64) -> Int { Int(random.next() % limit) }

    func time() -> Date { Date(timeIntervalSince1970: start + 100 + TimeInterval(number(4_000)) / 4) }

    func mode() -> RequestOptions.Cache {
        chance(2)
            ? .default
            : pick([.default, .reload, .revalidate, .cacheElseNetwork, .onlyIfCached, .staleWhileRevalidate])
    }

    // MARK: Field values

    private func seconds() -> String {
        pick(["0", "1", "5", "10", "60", "100", "300", "500", "1000", "86400", "99999999999999999999"])
    }

    private func argument() -> String {
        switch number(14) {
        case 0: ""
        case 1: "=\"\(seconds())\""
        case 2: pick(["=-1", "=1.5", "=", "=abc", "=+5", "= 60", "=60;", "=\"60", "=6 0"])
        default: "=\(seconds())"
        }
    }

    private func mangled(_ text: String) -> String {
        switch number(20) {
        case 0: text.uppercased()
        case 1: " " + text + "\t"
        case 2: text.replacingOccurrences(of: "=", with: " =")
        case 3: text + "=\"a, b\""
        case 4: "x=\"" + text
        case 5: "x=\"\\\"" + text + "\""
        default: text
        }
    }

    private func responseControl() -> String {
        let names = [
            "no-store", "no-cache", "no-cache=\"Set-Cookie\"", "private", "public", "must-revalidate",
            "must-understand", "immutable", "s-maxage=9", "proxy-revalidate", "",
        ]
        let timed = ["max-age", "max-age", "max-age", "stale-while-revalidate", "stale-if-error"]
        return (0...number(4)).map { _ in
            mangled(chance(2) ? pick(timed) + argument() : pick(names))
        }.joined(separator: pick([",", ", ", " , ", ",,"]))
    }

    private func requestControl() -> String {
        let names = ["no-store", "no-cache", "only-if-cached", "max-stale", "no-transform", "x=\"y, no-store\""]
        let timed = ["max-age", "min-fresh", "max-stale", "stale-if-error"]
        return (0...number(3)).map { _ in
            mangled(chance(2) ? pick(timed) + argument() : pick(names))
        }.joined(separator: pick([",", ", "]))
    }

    private func date() -> String {
        if chance(12) {
            return pick([
                "0", "-1", "", "Thu, 32 Jan 2026 00:00:00 GMT", "yesterday", "Thu, 01 Jan 2026 00:00:00 UTC",
                "Thursday, 01-Jan-26 00:00:00 GMT", "Thu Jan  1 00:00:00 2026",
            ])
        }
        return HTTPDate.format(Date(timeIntervalSince1970: start + TimeInterval(number(1_500)) - 200))
    }

    private func tag() -> String {
        pick(["\"a\"", "\"b\"", "W/\"a\"", "W/\"b\"", "\"\"", "unquoted", "\"a b\"", "\"c\"", "w/\"a\""])
    }

    private func language() -> String {
        pick([
            "en", "fr", "en, fr", "en,fr", " en ,fr", "de", "FR, En", "fr;q=1.0,en", "en,,fr,en", "en;q=0.50",
            "en; q=.5",
            "fr,en;q=0.5", "en ;Q=0.5, fr", "en;q=1.5", "en;x=\"a, b\"",
        ])
    }

    func range() -> String {
        pick([
            "bytes=0-4", "bytes=5-", "bytes=-3", "Bytes=3-3", "bytes=2-6", "bytes=0-99", "bytes=90-", "bytes=-0",
            "bytes=6-",
            "bytes=2-1", "bytes=0-1,4-5", "items=0-1", "x", "bytes= 0-1,", "bytes=0-x,1-2",
            "bytes=99999999999999999999-",
        ])
    }

    private func parts() -> CachedResponse.Parts? {
        let ranges = pick([[0..<5], [5..<10], [0..<2, 4..<6], [3..<7], [0..<1, 2..<3, 8..<10], [0..<9]])
        return CachedResponse.Parts(ranges: ranges, length: pick([10, 10, 12, nil]))
    }

    // MARK: Messages

    mutating func request() -> (HTTPMethod, [String: String]) {
        var headers: [String: String] = [:]
        if chance(2) { headers["Accept-Language"] = language() }
        if chance(4) { headers[pick(["X-A", "x-a"])] = pick(["1", "2", ""]) }
        if chance(3) { headers[pick(["Cache-Control", "cache-control"])] = requestControl() }
        if chance(12) { headers["Pragma"] = pick(["no-cache", "x, no-cache", "none"]) }
        if chance(5) {
            headers[pick(["Range", "range"])] = range()
            if chance(3) { headers["If-Range"] = chance(2) ? tag() : date() }
        }
        if chance(12) { headers["If-None-Match"] = pick([tag(), tag() + ", " + tag(), "*", "x"]) }
        if chance(12) { headers["if-modified-since"] = date() }
        if chance(40) { headers[pick(["If-Range", "If-Match", "If-Unmodified-Since"])] = tag() }
        if chance(5) { return (.head, headers) }
        let method: HTTPMethod = chance(3) ? pick([.query, .post, .put, .options, .delete]) : .get
        return (method, headers)
    }

    private func headers(isStored: Bool) -> HTTPHeaders {
        var headers = HTTPHeaders()
        if chance(4) == false { headers.add(name: "Cache-Control", value: responseControl()) }
        if chance(8) { headers.add(name: "cache-control", value: responseControl()) }
        if chance(3) { headers.add(name: "Expires", value: date()) }
        if chance(25) { headers.add(name: "Expires", value: date()) }
        if isStored || !chance(4) { headers.add(name: "Date", value: date()) }
        if chance(3) { headers.add(name: "Last-Modified", value: pick([date(), "Mon, 01 Dec 2025 00:00:00 GMT"])) }
        if chance(4) { headers.add(name: "Age", value: pick(["0", "10", "10, 20", "-1", "x", "1.5", " 7", "100"])) }
        if chance(2) { headers.add(name: "ETag", value: tag()) }
        if chance(5) {
            headers.add(name: "Vary", value: pick(["Accept-Language", "X-A, accept-language", "x-a", "*", ","]))
        }
        if chance(10) { headers.add(name: "Connection", value: pick(["keep-alive", "X-Hop, close"])) }
        if chance(10) { headers.add(name: "X-Hop", value: "1") }
        if chance(10) { headers.add(name: pick(["Keep-Alive", "Transfer-Encoding", "TE"]), value: "x") }
        if chance(5) { headers.add(name: "Content-Length", value: pick(["3", "4"])) }
        if chance(12) { headers.add(name: "Content-Encoding", value: "gzip") }
        if chance(8) { headers.add(name: "Content-Type", value: pick(["text/plain", "application/json"])) }
        if chance(40) { headers.add(name: "Content-Range", value: "bytes 0-1/2") }
        return headers
    }

    mutating func stored(for method: HTTPMethod, _ request: [String: String]) -> [CachedResponse.Head] {
        (0..<pick([0, 1, 1, 1, 1, 2, 3])).map { _ in
            let responseTime = start + TimeInterval(number(1_200)) / 2
            var fields: [CachedResponse.Head.SelectingField] = []
            if chance(4) { fields.append(.init(name: "accept-language", value: pick(["en", "fr", "en,fr", nil]))) }
            if chance(6) { fields.append(.init(name: "x-a", value: pick(["1", "2", nil]))) }
            if chance(40) { fields = [.init(name: "*", value: nil)] }
            let parts = chance(3) ? parts() : nil
            let status = pick([200, 200, 200, 200, 404, 301, 302, 299, 500])
            return CachedResponse.Head(
                statusCode: parts == nil ? status : 206, headers: headers(isStored: true),
                requestTime: Date(timeIntervalSince1970: responseTime - TimeInterval(number(20)) / 2 + 1),
                responseTime: Date(timeIntervalSince1970: responseTime), selectingFields: fields, parts: parts)
        }
    }

    mutating func response(about stored: [CachedResponse.Head], _ conditions: CacheConditions?, isRange: Bool)
        -> OriginResponse
    {
        let status =
            chance(3)
            ? 304
            : conditions?.rest != nil || isRange && chance(2)
                ? 206
                : pick([
                    200, 200, 200, 200, 200, 203, 204, 206, 299, 301, 302, 400, 404, 410, 416, 500, 501, 502, 503, 504,
                ])
        var headers = headers(isStored: false)
        var bodyLength: Int?
        if status == 206 {
            var range = pick([0..<5, 5..<10, 2..<7, 0..<10, 6..<12])
            if let rest = conditions?.rest, !chance(4) {
                range = rest.start..<(rest.end ?? 10)
                if range.isEmpty { range = 0..<1 }
                if !chance(4) {
                    headers[rest.validator.hasPrefix("\"") ? "ETag" : "Last-Modified"] = rest.validator
                }
            }
            let length = pick(["10", "10", "10", "10", "10", "12", "*", "x"])
            headers["Content-Range"] =
                "\(pick(["bytes", "bytes", "bytes", "bytes", "items"])) \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
            if chance(30) { headers["Content-Range"] = nil }
            bodyLength = pick([nil, range.count, range.count, range.count + 1])
        }
        if let known = stored.randomElement(by: random), chance(2) {
            if let tag = known.headers["ETag"], chance(2) { headers["ETag"] = tag }
            if let changed = known.headers["Last-Modified"], chance(2) { headers["Last-Modified"] = changed }
        }
        let responseTime = start + 300 + TimeInterval(number(4_000)) / 4
        return OriginResponse(
            statusCode: status, headers: headers, bodyLength: bodyLength,
            requestTime: Date(timeIntervalSince1970: responseTime - TimeInterval(number(10)) + 1),
            responseTime: Date(timeIntervalSince1970: responseTime))
    }
}

extension Array {
    fileprivate func randomElement(by random: SeededRandomness) -> Element? {
        isEmpty ? nil : self[Int(random.next() % UInt64(count))]
    }
}
