// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// The legal framings of a body (RFC 9112, section 6).
    static let framings: [Self] = [
        chunks("one byte", of: .everyByte, sizes: [1]),
        chunks("uneven sizes", of: .megabyte, sizes: [1, 4096, 7, 65_536, 100_000]),
        chunks("one size for all", of: .megabyte, sizes: []),
        .delivering("a response in chunks with trailers", .everyByte) {
            .data($0).framed(.chunked(sizes: [100], trailers: ["X-Checksum": "abc"]))
        },
        .delivering("a response in chunks with extensions, and sizes in any case,", Data("0123456789abcdef".utf8)) {
            _ in
            .raw([
                .text(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "0A;a=b;c=\"d\"\r\n0123456789\r\n006\r\nabcdef\r\n0\r\n\r\n")
            ])
        },
        .delivering("a response that ends with the connection", .megabyte) { .data($0).framed(.untilClose) },
        .delivering("an empty chunked response", Data()) { .data($0).framed(.chunked()) },
        .delivering("a response sent byte by byte", .everyByte) { .data($0).header("X-A", "b").dripping(1) },
        .delivering("a chunked response sent byte by byte", .everyByte) {
            .data($0).framed(.chunked(sizes: [10])).dripping(1)
        },
        .wire("bytes beyond the Content-Length are not part of a response") { request in
            request.path == "/next"
                ? .text("next") : .data(Data("12345HTTP/1.1 500 No\r\n".utf8)).framed(.claimedLength(5))
        } verify: { stage in
            for _ in 0..<3 {
                try await stage.expect(status: 200, body: Data("12345".utf8), of: stage.request())
                try await stage.expect(status: 200, body: Data("next".utf8), of: stage.request(.get, "/next"))
            }
        },
    ]

    /// The rows of ``HeadTable``, one after the other.
    static let heads: [Self] = [
        table("a Content-Length delimits the body", HeadTable.read.filter { $0.body.isLength }),
        table(
            "chunked framing delimits the body, and ambiguous framing closes the connection",
            HeadTable.read.filter { $0.body == .chunks }),
        table(
            "without a length or chunked framing the body ends with the connection",
            HeadTable.read.filter { $0.body == .rest }),
        .wire("undefined framing or a malformed header line is an error") { request in
            .raw([.text(HeadTable.refused[request.row])])
        } verify: { stage in
            for (index, head) in HeadTable.refused.enumerated() {
                do {
                    try await stage.expect(.badResponse, of: stage.request(.get, "/\(index)"))
                } catch let failure as Check.Failure {
                    throw Check.Failure(reason: "\(head.debugDescription): \(failure.reason)")
                }
            }
        },
    ]

    private static func table(_ name: String, _ rows: [HeadTable.Row]) -> Self {
        .wire(name) { request in
            let row = rows[request.row]
            return .raw([.text(row.head + row.content.sent)] + (row.body == .rest ? [.close] : []))
        } verify: { stage in
            for (index, row) in rows.enumerated() {
                do {
                    let body = Data(row.content.read.utf8)
                    try await stage.expect(status: 200, body: body, of: stage.request(.get, "/\(index)"))
                } catch let failure as Check.Failure {
                    throw Check.Failure(reason: "\(row.head.debugDescription): \(failure.reason)")
                }
            }
            let requests = stage.requests
            for (index, row) in rows.enumerated().dropLast() where row.isAmbiguous {
                try Check.that(
                    requests[index].connection != requests[index + 1].connection,
                    "the connection was reused after \(row.head.debugDescription)")
            }
        }
    }

    private static func chunks(
        _ name: String, of body: @autoclosure @escaping @Sendable () -> Data, sizes: [Int]
    ) -> Self {
        .delivering("a response in chunks of \(name)", body()) { .data($0).framed(.chunked(sizes: sizes)) }
    }

    /// Rare forms that must be read (RFC 9112, sections 2.2 to 5).
    static let oddities: [Self] = [
        odd("a response with a status line without a reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"),
        odd("a response with a status line with an empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"),
        odd("a response of HTTP/1.0", "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nok", isLast: true),
        odd("a response with a field without a space after its colon", "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nok"),
        odd(
            "a response with a field with spaces around its value",
            "HTTP/1.1 200 OK\r\nContent-Length: \t 2 \t\r\n\r\nok"),
        odd("a response with field names in lower case", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
        odd("a response with an empty field value", "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok"),
        odd(
            "a response with the same Content-Length twice",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
        odd(
            "a response with a header value that is Latin-1 and not UTF-8",
            Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: caf".utf8) + [0xE9] + Data("\r\n\r\nok".utf8)),
        .wire("a lone CR in a header value is read as a space, and one at its end is removed") { _ in
            .raw([.text("HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: c=d\r\nX-B: e\r\r\nContent-Length: 2\r\n\r\nok")])
        } verify: { stage in
            let response = try await stage.expect(status: 200, body: Data("ok".utf8), of: stage.request())
            try Check.equal(response.headers["X-A"], "b Set-Cookie: c=d", "X-A")
            try Check.equal(response.headers["X-B"], "e", "X-B")
            try Check.equal(response.headers["Set-Cookie"], nil, "Set-Cookie")
        },
        .wire("a folded header value is one value") { _ in
            .raw([.text("HTTP/1.1 200 OK\r\nX-A: b\r\n   c\r\n\td\r\nContent-Length: 2\r\n\r\nok")])
        } verify: { stage in
            let response = try await stage.expect(status: 200, body: Data("ok".utf8), of: stage.request())
            try Check.equal(response.headers["X-A"], "b c d", "X-A")
        },
        .wire("a header value in UTF-8 is read as it was sent") { _ in
            .status(200, headers: ["X-Text": "Grüße, 世界"])
        } verify: { stage in
            try Check.equal(try await stage.get().headers["X-Text"], "Grüße, 世界", "X-Text")
        },
    ]

    private static func odd(_ name: String, _ response: String, isLast: Bool = false) -> Self {
        odd(name, Data(response.utf8), isLast: isLast)
    }

    private static func odd(
        _ name: String, _ response: @autoclosure @escaping @Sendable () -> Data, isLast: Bool = false
    ) -> Self {
        .delivering(name, Data("ok".utf8)) { _ in .raw([.bytes(response())] + (isLast ? [.close] : [])) }
    }
}

extension HeadTable.Row.Body {
    fileprivate var isLength: Bool {
        if case .length = self { true } else { false }
    }
}

extension RecordedRequest {
    /// The number in the path.
    fileprivate var row: Int { Int(path.dropFirst()) ?? 0 }
}

extension TransportConformance.Case {
    static func delivering(
        _ name: String, _ body: @autoclosure @escaping @Sendable () -> Data,
        by respond: @escaping @Sendable (Data) -> MockServer.Response
    ) -> Self {
        .wire("\(name) is read whole") { _ in
            respond(body())
        } verify: { stage in
            // Twice, since a wrongly read body corrupts the connection for the next request.
            try await stage.expect(status: 200, body: body(), of: stage.request())
            try await stage.expect(status: 200, body: body(), of: stage.request())
        }
    }
}
