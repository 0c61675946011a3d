// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlugins
import PulseTesting

/// One version of a resource, and the responses of a server that supports ranges and conditions (RFC 9110, sections 13
/// and 14). Written independently of the code under test, and simpler.
struct RangeResource: Sendable {
    typealias Response = (status: Int, headers: HTTPHeaders, body: Data)

    let body: Data
    let headers: HTTPHeaders
    /// Whether `Content-Range` states the length.
    var tellsLength = true
    var knowsRanges = true
    /// Whether a range is sent although `If-Range` has another version.
    var ignoresIfRange = false

    init(_ text: String, _ headers: HTTPHeaders) {
        self.init(Data(text.utf8), headers)
    }

    init(_ body: Data, _ headers: HTTPHeaders) {
        (self.body, self.headers) = (body, headers)
    }

    func response(to field: (String) -> String?) -> Response {
        if let tags = field("If-None-Match") {
            if let tag = headers["ETag"], tags.contains(tag) { return (304, headers, Data()) }
        } else if let since = field("If-Modified-Since"), since == headers["Last-Modified"] {
            return (304, headers, Data())
        }
        let isSame = field("If-Range").map { $0 == headers["ETag"] || $0 == headers["Last-Modified"] } ?? true
        guard knowsRanges, isSame || ignoresIfRange, let asked = field("Range"),
            let range = Self.range(asked, of: body.count)
        else { return (200, headers, body) }
        guard !range.isEmpty else {
            return (416, ["Content-Range": "bytes */\(body.count)", "Cache-Control": "max-age=60"], Data())
        }
        return part(range)
    }

    func part(_ range: Range<Int>) -> Response {
        var headers = headers
        headers["Content-Range"] =
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(tellsLength ? "\(body.count)" : "*")"
        return (206, headers, Data(body[range]))
    }

    /// Nil unless the field is one valid byte range; empty if the range is after the end.
    static func range(_ field: String, of length: Int) -> Range<Int>? {
        guard field.lowercased().hasPrefix("bytes=") else { return nil }
        let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        let isEmpty = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map(\.isEmpty)
        guard ends.count == 2 else { return nil }
        switch (ends[0], ends[1]) {
        case (let first?, let last?): return first > last ? nil : min(first, length)..<min(last + 1, length)
        case (let first?, nil): return isEmpty[1] ? min(first, length)..<length : nil
        case (nil, let count?): return isEmpty[0] ? max(0, length - count)..<length : nil
        case (nil, nil): return nil
        }
    }
}

extension CacheStage {
    /// Responds to GET with a resource, which may differ each time.
    func serveRanges(_ path: String = "/a", _ resource: @escaping @Sendable () -> RangeResource) {
        server.on(.get, path) { request in
            var (status, headers, body) = resource().response { request.headers[$0] }
            if !headers.contains("Date") { headers["Date"] = self.date() }
            return .data(body, status: status, headers: headers)
        }
    }

    /// `206 bytes 0-4/10 01234 cache` and the like.
    func part(
        _ range: String?, _ headers: [String: String] = [:], cache mode: RequestOptions.Cache? = nil,
        isStreamed: Bool = false
    ) async throws -> String {
        var headers = headers
        headers["Range"] = range.map { "bytes=" + $0 }
        let response =
            isStreamed ? try await stream("/a", headers) : try await get("/a", headers, cache: mode)
        let body = try await response.bytes?.collect(upTo: .max) ?? response.data
        if let length = response.headers["Content-Length"], response.statusCode != 304, Int(length) != body.count {
            return "a length of \(length) for \(body.count) bytes"
        }
        let words = [
            "\(response.statusCode)", response.headers["Content-Range"], String(decoding: body, as: UTF8.self),
            "\(response.origin)",
        ]
        return words.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private func stream(_ path: String, _ headers: [String: String]) async throws -> PulseResponse {
        var options = RequestOptions()
        options.headers = headers
        options.acceptedStatuses = .any
        return try await client.perform(
            client.plan(Request<EmptyResponse>(.get, PathTemplate(path)), options, CallShape(delivery: .streamed)))
    }

    /// The `Range` and `If-Range` of the last request.
    var lastAsked: [String?] { ["Range", "If-Range"].map { lastSent?.headers[$0] } }
}
