// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// Status lines and header fields of responses with the expected framing (RFC 9112, sections 2.2, 5 and 6). The parsers
/// and, over sockets, the transports are tested against this table.
package struct HeadTable {
    /// Header fields, and the length of the body after them.
    package struct Row: Sendable {
        /// The body after the header fields.
        package enum Body: Sendable, Equatable {
            case none
            /// The `Content-Length` delimits the body.
            case length(Int)
            case chunks
            /// The body ends with the connection.
            case rest
        }

        /// Status line and header fields with the blank line.
        package let head: String
        package let body: Body
        /// Whether another parser may see a different end of the body, so that the connection must not be reused.
        package let isAmbiguous: Bool

        fileprivate init(_ fields: String, _ body: Body, status: String = "HTTP/1.1 200 OK", isAmbiguous: Bool = false)
        {
            head = status + "\r\n" + (fields.isEmpty ? "" : fields + "\r\n") + "\r\n"
            self.body = body
            self.isAmbiguous = isAmbiguous
        }

        /// A body for the framing, as sent on the wire, and the expected decoded body.
        package var content: (sent: String, read: String) {
            switch body {
            case .none: ("", "")
            case .length(let count): (String(repeating: "x", count: count), String(repeating: "x", count: count))
            case .chunks: ("2\r\nab\r\n1;e=f\r\nc\r\n0\r\n\r\n", "abc")
            case .rest: ("all of it", "all of it")
            }
        }
    }

    /// The accepted header fields.
    package static let read: [Row] = lengths + chunks + rests + bodiless

    private static let lengths = [
        Row("Content-Length: 2", .length(2)),
        Row("content-length:2", .length(2)),
        Row("Content-Length: \t 2 \t", .length(2)),
        Row("Content-Length: 2\r\nContent-Length: 2, 2", .length(2)),
        Row("Content-Length: 0", .length(0)),
        // A lone CR is read as a space.
        Row("Content-Length: 2\r", .length(2)),
        Row("Content-Length: 2", .length(2), status: "HTTP/1.0 200 OK"),
    ]

    private static let chunks = [
        Row("Transfer-Encoding: chunked", .chunks),
        Row("transfer-encoding:\tCHUNKED ", .chunks),
        Row("Transfer-Encoding: , chunked,", .chunks),
        Row("Transfer-Encoding: chunked\r", .chunks),
        Row("Transfer-Encoding: identity, chunked", .chunks),
        Row("Transfer-Encoding:\r\nTransfer-Encoding: chunked", .chunks),
        Row("Transfer-Encoding: chunked, chunked", .chunks, isAmbiguous: true),
        Row("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .chunks, isAmbiguous: true),
        Row("Transfer-Encoding: chunked\r\nContent-Length: 1", .chunks, isAmbiguous: true),
        Row("Content-Length: 1\r\nTransfer-Encoding: chunked", .chunks, isAmbiguous: true),
        Row("Transfer-Encoding: chunked", .chunks, status: "HTTP/1.0 200 OK", isAmbiguous: true),
        Row(
            "Connection: keep-alive\r\nTransfer-Encoding: chunked", .chunks, status: "HTTP/1.0 200 OK",
            isAmbiguous: true),
    ]

    private static let rests = [
        Row("", .rest),
        Row("X-A: b", .rest, status: "HTTP/1.0 200 OK"),
        Row("Transfer-Encoding:", .rest, isAmbiguous: true),
        Row("Transfer-Encoding: ,", .rest, isAmbiguous: true),
        Row("Transfer-Encoding: identity", .rest, isAmbiguous: true),
        Row("Transfer-Encoding: identity\r\nContent-Length: 1", .rest, isAmbiguous: true),
        Row("Content-Length: 1\r\nTransfer-Encoding:", .rest, isAmbiguous: true),
    ]

    private static let bodiless = [
        Row("Content-Length: 5", .none, status: "HTTP/1.1 204 No Content"),
        Row("Content-Length: 5", .none, status: "HTTP/1.1 304 Not Modified"),
        Row("Transfer-Encoding: chunked", .none, status: "HTTP/1.1 304 Not Modified"),
    ]

    /// The refused header fields, whatever follows them.
    package static let refused: [String] = (unclear + unasked + malformed).map { "HTTP/1.1 200 OK\r\n\($0)\r\n\r\n" }

    /// Lengths that leave the end of the body undefined.
    private static let unclear = [
        "Content-Length:", "Content-Length: 1,", "Content-Length: 1 1", "Content-Length: 1\r1", "Content-Length: 1, 2",
        "Content-Length: 1\r\nContent-Length: 2", "Content-Length: -1", "Content-Length: +1", "Content-Length: 0x1",
        "Content-Length: 9223372036854775808", "Content-Length: 1\r\n 1", "Content-Length:\r\n 1",
        "Content-Length : 1", "Content-Length\t: 1", "Content-Length: 2\r\nTransfer-Encoding : chunked",
    ]

    /// Transfer codings that the request did not ask for.
    private static let unasked = [
        "gzip", "gzip, chunked", "gzip\r\nTransfer-Encoding: chunked", "chunked, gzip", "chunked, identity",
        "chunked;q=1", "xchunked", "\"chunked\"", "chunked chunked", "chun\rked", "none", "\r\n chunked",
        "identity\r\n , chunked",
    ].map { "Transfer-Encoding: " + $0 }

    /// Malformed field lines: a name is a token, immediately followed by its colon.
    private static let malformed = [
        "\rX-A: b", "X-A\r: b", "en-US Content-Type: text/html", "X-A : b", ": b", "no colon", "X(A): b", "X-Ä: b",
        "X-A\u{0}: b", "X-A: b\u{0}c", " X-A: folded",
    ].map { $0 + "\r\nContent-Length: 0" }
}
