// SPDX-License-Identifier: MIT

import PulseCore

/// A request as a ``MockServer`` received it.
public struct RecordedRequest: Sendable {
    /// The method as sent.
    public let method: HTTPMethod
    /// The request target as sent: percent-encoded, with its query.
    public let target: String
    /// Whether it is HTTP/1.0; else HTTP/1.1.
    public let isVersion10: Bool
    /// The header fields, in their received order and spelling.
    public let headers: HTTPHeaders
    /// The values of the route's `{name}` segments, percent-decoded.
    public internal(set) var parameters: [String: String] = [:]
    /// The body without its chunked coding; truncated at the configuration's `maxRecordedBodySize`.
    public internal(set) var body = Data()
    /// The length of the body on the wire in bytes, without chunked coding: more than `body.count` if that was
    /// truncated.
    public internal(set) var bodyByteCount = 0
    /// The trailer fields of a chunked body.
    public internal(set) var trailers = HTTPHeaders()
    /// All bytes of the request on the wire, from the method to the last byte of the body or trailers.
    public internal(set) var byteCount = 0
    /// The index of its connection, counted from 0 in the order of acceptance.
    public let connection: Int
    /// Its index among the requests of that connection, counted from 0.
    public let indexOnConnection: Int
    /// Whether all of it has arrived: false while it arrives, and for a truncated request.
    public internal(set) var isComplete = false

    /// The path as sent, percent-encoded, also of an absolute target. `*` and the authority of a CONNECT are unchanged.
    public var path: String { String(target.splitTarget.path) }

    /// The query as sent, without its question mark; nil if there is none.
    public var query: String? { target.splitTarget.query.map(String.init) }

    /// The query's items in order, percent-decoded; `+` stays a plus. An item without `=` has no value.
    public var queryItems: [URLQueryItem] { [URLQueryItem](percentEncodedQuery: query) }

    /// The body as text; bytes that are not UTF-8 become U+FFFD.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body decoded from JSON. Throws ``PulseError/decodingFailed(type:underlying:)``.
    public func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw PulseError.decodingFailed(type: String(describing: type), underlying: error)
        }
    }

    init(_ head: RequestHead, connection: Int, indexOnConnection: Int) {
        method = head.method
        target = head.target
        isVersion10 = head.isVersion10
        headers = head.headers
        self.connection = connection
        self.indexOnConnection = indexOnConnection
    }
}

extension RecordedRequest: CustomStringConvertible {
    /// Method, path and size; never a header, a query or the body.
    public var description: String { "\(method) \(path), \(bodyByteCount) bytes of body" }
}

/// Bytes received by a ``MockServer`` that are not an HTTP request.
public struct MalformedRequest: Sendable, Hashable {
    /// The index of their connection, counted from 0 in the order of acceptance.
    public let connection: Int
    /// The reason why they are malformed.
    public let reason: String
    /// The status of the response to them; 0 for none, after an early end of the client or a TLS error.
    public let status: Int
}

extension String {
    /// The path and the query of a request target (RFC 9112, section 3.2).
    var splitTarget: (path: Substring, query: Substring?) {
        var rest = self[...]
        if !rest.hasPrefix("/"), let scheme = rest.range(of: "://") {
            let authority = rest[scheme.upperBound...]
            rest = authority.firstIndex { $0 == "/" || $0 == "?" }.map { authority[$0...] } ?? "/"
            if rest.hasPrefix("?") { return ("/", rest.dropFirst()) }
        }
        guard let mark = rest.firstIndex(of: "?") else { return (rest, nil) }
        return (rest[..<mark], rest[rest.index(after: mark)...])
    }
}

extension [URLQueryItem] {
    /// The items in order, percent-decoded; `+` stays a plus. Setting a query that is not properly encoded on
    /// `URLComponents` would trap.
    init(percentEncodedQuery query: String?) {
        self = (query ?? "").split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return URLQueryItem(
                name: parts[0].percentDecoded, value: parts.count > 1 ? parts[1].percentDecoded : nil)
        }
    }
}

extension StringProtocol {
    /// The percent-decoded text; unchanged if an escape is invalid or not UTF-8.
    var percentDecoded: String { removingPercentEncoding ?? String(self) }
}
