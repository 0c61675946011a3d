// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore

/// An HTTP/2 request translated to HTTP/1.1, for its own connection.
struct BackendRequest: Sendable {
    /// The request line and the header fields, with the blank line.
    let head: Data
    /// Whether the body is sent in chunks, because its length is unknown.
    let isChunked: Bool
    let isHEAD: Bool

    /// - Parameter isEnd: whether the request has no body.
    init(_ fields: [HTTP2FrontField], isEnd: Bool) {
        func value(_ name: String) -> [UInt8] { fields.first { $0.isNamed(name) }?.value ?? [] }
        isHEAD = value(":method").elementsEqual("HEAD".utf8)
        isChunked = !isEnd && !fields.contains { $0.isNamed("content-length") }
        var head = Data(value(":method"))
        head.append(contentsOf: " ".utf8)
        head.append(contentsOf: value(":path"))
        head.append(contentsOf: " HTTP/1.1\r\n".utf8)
        head.append(HTTP2FrontField(name: Array("Host".utf8), value: value(":authority")).line)
        for field in fields where field.name.first != UInt8(ascii: ":") && !field.isNamed("cookie") {
            head.append(field.line)
        }
        // A client may send each cookie in a field of its own (RFC 9113, section 8.2.3).
        let cookies = fields.filter { $0.isNamed("cookie") }.map(\.value)
        if !cookies.isEmpty {
            let value = Array(cookies.joined(separator: Array("; ".utf8)))
            head.append(HTTP2FrontField(name: Array("Cookie".utf8), value: value).line)
        }
        if isChunked { head.append(HTTP2FrontField("Transfer-Encoding", "chunked").line) }
        head.append(HTTP2FrontField("Connection", "close").line)
        head.append(contentsOf: "\r\n".utf8)
        self.head = head
    }
}

extension HTTP2FrontField {
    /// The field in HTTP/1.1, with its CRLF.
    var line: Data {
        var line = Data(name)
        line.append(contentsOf: ": ".utf8)
        line.append(contentsOf: value)
        line.append(contentsOf: "\r\n".utf8)
        return line
    }
}
#endif
