// SPDX-License-Identifier: MIT

import PulseCore

/// The reason why a stub does not match a request. It names the differing part and shows no value of the request, which
/// may be a secret.
struct StubMismatch: Error, Sendable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}

struct StubCondition: Sendable {
    /// The reason why the condition does not hold; nil if it does.
    let mismatch: @Sendable (URLRequest) -> String?

    init(_ mismatch: @escaping @Sendable (URLRequest) -> String?) {
        self.mismatch = mismatch
    }

    static func query(_ name: String, _ value: String?) -> StubCondition {
        StubCondition { request in
            let components = request.url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
            let found = [URLQueryItem](percentEncodedQuery: components?.percentEncodedQuery).filter { $0.name == name }
            if found.isEmpty { return "the query has no \(name)" }
            guard let value else { return nil }
            return found.contains { $0.value ?? "" == value } ? nil : "the query's \(name) has another value"
        }
    }

    static func header(_ name: String, _ value: String?) -> StubCondition {
        StubCondition { request in
            guard let found = request.value(forHTTPHeaderField: name) else { return "there is no header \(name)" }
            return value == nil || value == found ? nil : "the header \(name) has another value"
        }
    }

    static func body(containing expected: JSONValue) -> StubCondition {
        StubCondition { request in
            guard
                let body = request.httpBody.flatMap({ try? JSONResponseDecoder.json.decode(JSONValue.self, from: $0) })
            else {
                return "the body is not JSON"
            }
            return body.lacks(expected).map { "the body \($0)" }
        }
    }

    static func host(_ host: String) -> StubCondition {
        StubCondition { request in
            let found = request.url?.host ?? ""
            return found.equalsIgnoringASCIICase(host) ? nil : "the host is \(found.isEmpty ? "missing" : found)"
        }
    }
}

/// The URL of a stub: a path template, optionally with an origin before it and query items after it.
struct StubTarget: Sendable, CustomStringConvertible {
    let description: String
    private let hasOrigin: Bool
    private let origin: Origin?
    private let template: PathTemplate
    private let items: [URLQueryItem]

    init(_ text: String) {
        description = text
        var rest = text[...]
        var origin: Origin?
        // After a slash or a question mark, `://` is a part of the path or of the query.
        let start = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let scheme = rest.range(of: "://").flatMap { $0.lowerBound < start ? $0 : nil }
        if let scheme {
            let end = rest[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            origin = URL(string: String(rest[..<end])).flatMap { Origin($0) }
            rest = rest[end...]
        }
        hasOrigin = scheme != nil
        self.origin = origin
        let mark = rest.firstIndex(of: "?")
        let path = rest[..<(mark ?? rest.endIndex)]
        template = PathTemplate(path.isEmpty ? "/" : String(path))
        items = [URLQueryItem](percentEncodedQuery: mark.map { String(rest[rest.index(after: $0)...]) })
    }

    func match(_ url: URL?) -> Result<[String: String], StubMismatch> {
        guard let url, let components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            return .failure(StubMismatch("the request has no URL"))
        }
        if hasOrigin {
            guard let origin else { return .failure(StubMismatch("the stub's own origin is none")) }
            guard Origin(url) == origin else { return .failure(StubMismatch("the origin is another")) }
        }
        let path = components.percentEncodedPath
        guard let parameters = template.match(path.isEmpty ? "/" : path) else {
            return .failure(StubMismatch("the path is another"))
        }
        for item in items {
            let condition = StubCondition.query(item.name, item.value)
            if let reason = condition.mismatch(URLRequest(url: url)) { return .failure(StubMismatch(reason)) }
        }
        return .success(parameters)
    }
}

/// The failure of a request without a matching stub.
package struct UnmatchedRequest: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The request, with its URL redacted, the stubs, and the reason why each does not match.
    package let description: String

    package var errorDescription: String? { description }

    init(_ request: URLRequest, _ redaction: Redaction, reasons: [String]) {
        let url = request.url.map { redaction.url($0) } ?? "(no URL)"
        let came = "no stub for \(request.httpMethod ?? "GET") \(url)"
        description = reasons.isEmpty ? "\(came): there are none" : ([came] + reasons).joined(separator: "; ")
    }
}
