// SPDX-License-Identifier: MIT

import PulseCore

/// The request line and the header fields, and the body's framing (RFC 9112, sections 3 and 6).
package struct RequestHead: Sendable, Equatable {
    package enum BodyFraming: Sendable, Equatable {
        case none
        case length(Int)
        case chunked
    }

    package let method: HTTPMethod
    package let target: String
    package let isVersion10: Bool
    package let headers: HTTPHeaders
    package let framing: BodyFraming

    var expectsContinue: Bool {
        !isVersion10 && headers.values(for: "Expect").contains { $0.equalsIgnoringASCIICase("100-continue") }
    }

    /// Whether the client wants the connection to end with the response.
    var wantsClose: Bool {
        let options = headers.list("Connection")
        return options.contains("close") || isVersion10 && !options.contains("keep-alive")
    }
}

/// The reason why a request cannot be parsed, and the status for it.
package struct ParseFailure: Error, Sendable, Equatable {
    package let status: Int
    package let reason: String

    static func badRequest(_ reason: String) -> ParseFailure { ParseFailure(status: 400, reason: reason) }
}

extension RequestHead {
    /// - Parameter lines: the request line and the field lines, without their line ends.
    init(lines: ArraySlice<ArraySlice<UInt8>>) throws(ParseFailure) {
        guard let first = lines.first else { throw .badRequest("no request line") }
        let line = try RequestLine(first)
        let headers = try HTTPHeaders(lines: lines.dropFirst())
        let hosts = headers.values(for: "Host").count
        guard hosts == 1 || hosts == 0 && line.isVersion10 else {
            throw .badRequest(hosts == 0 ? "no Host header" : "more than one Host header")
        }
        method = line.method
        target = line.target
        isVersion10 = line.isVersion10
        self.headers = headers
        framing = try BodyFraming(headers, isVersion10: line.isVersion10)
    }
}

private struct RequestLine {
    let method: HTTPMethod
    let target: String
    let isVersion10: Bool

    init(_ line: ArraySlice<UInt8>) throws(ParseFailure) {
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw .badRequest("the request line is not a method, a target and a version with one space between")
        }
        guard let method = HTTPMethod(rawValue: String(decoding: parts[0], as: UTF8.self)) else {
            throw .badRequest("the method is not a token")
        }
        guard !parts[1].isEmpty, parts[1].allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .badRequest("the target holds bytes that belong percent-encoded")
        }
        let version = String(decoding: parts[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            let bytes = Array(parts[2])
            let isHTTP =
                bytes.count == 8 && version.hasPrefix("HTTP/") && bytes[5].isASCIIDigit && bytes[6] == 0x2E
                && bytes[7].isASCIIDigit
            throw isHTTP
                ? ParseFailure(status: 505, reason: "the version is \(version)")
                : .badRequest("the version is not HTTP/1.1")
        }
        self.method = method
        target = String(decoding: parts[1], as: UTF8.self)
        isVersion10 = version == "HTTP/1.0"
    }
}

extension RequestHead.BodyFraming {
    /// Two lengths allow request smuggling, so any contradiction is refused (RFC 9112, 6.3).
    fileprivate init(_ headers: HTTPHeaders, isVersion10: Bool) throws(ParseFailure) {
        let lengths = headers.list("Content-Length")
        let codings = headers.list("Transfer-Encoding")
        if headers.contains("Transfer-Encoding") {
            guard !isVersion10 else { throw .badRequest("Transfer-Encoding in HTTP/1.0") }
            guard !headers.contains("Content-Length") else {
                throw .badRequest("both Transfer-Encoding and Content-Length")
            }
            guard codings == ["chunked"] else {
                throw codings.last == "chunked"
                    ? ParseFailure(status: 501, reason: "a transfer coding other than chunked")
                    : .badRequest("Transfer-Encoding does not end in chunked")
            }
            self = .chunked
        } else if headers.contains("Content-Length") {
            guard lengths.allSatisfy({ $0 == lengths.first }) else {
                throw .badRequest("Content-Lengths that differ")
            }
            guard let first = lengths.first, first.utf8.allSatisfy(\.isASCIIDigit), let length = Int64(first) else {
                throw .badRequest("Content-Length is not a number")
            }
            self = length == 0 ? .none : .length(Int(clamping: length))
        } else {
            self = .none
        }
    }
}

extension HTTPHeaders {
    /// Parses field lines (RFC 9112, section 5). Values that are not UTF-8 are read as Latin-1.
    init(lines: ArraySlice<ArraySlice<UInt8>>) throws(ParseFailure) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
                throw .badRequest("a header line without a colon")
            }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            // Also refuses a space before the colon and a folded line.
            guard name.isHTTPToken else { throw .badRequest("a header name that is not a token") }
            let value = line[(colon + 1)...].trimmingHTTPSpace()
            guard !value.contains(where: { $0 == 0 || $0 == 0x0D }) else {
                throw .badRequest("CR or NUL in the value of \(name)")
            }
            append(value.withUnsafeBytes { Field(name: name, octets: $0) })
        }
    }

    /// The members of a comma-separated field across all its lines, in lower case, without empty ones.
    func list(_ name: String) -> [String] {
        values(for: name).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).map { member in
                String(decoding: Array(member)[...].trimmingHTTPSpace(), as: UTF8.self).asciiLowercased
            }
        }.filter { !$0.isEmpty }
    }
}

extension ArraySlice<UInt8> {
    /// Without spaces and tabs at either end.
    func trimmingHTTPSpace() -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else {
            return []
        }
        return self[first...last]
    }
}
