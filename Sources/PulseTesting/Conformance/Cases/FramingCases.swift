// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    /// The ways to tell where a body ends (RFC 9112, section 6), all of them legal.
    static let framings: [Self] = [
        chunks("one byte", of: .everyByte, sizes: [1]),
        chunks("uneven sizes", of: .megabyte, sizes: [1, 4096, 7, 65_536, 100_000]),
        chunks("one size for all", of: .megabyte, sizes: []),
        .delivering("an answer in chunks with trailers", .everyByte) {
            .data($0).framed(.chunked(sizes: [100], trailers: ["X-Checksum": "abc"]))
        },
        .delivering("an answer in chunks with extensions, and sizes in any case,", Data("0123456789abcdef".utf8)) { _ in
            .raw([
                .text(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "0A;a=b;c=\"d\"\r\n0123456789\r\n006\r\nabcdef\r\n0\r\n\r\n")
            ])
        },
        .delivering("an answer that ends with the connection", .megabyte) { .data($0).framed(.untilClose) },
        .delivering("an empty answer in chunks", Data()) { .data($0).framed(.chunked()) },
        .delivering("an answer that comes byte for byte", .everyByte) { .data($0).header("X-A", "b").dripping(1) },
        .delivering("an answer in chunks that comes byte for byte", .everyByte) {
            .data($0).framed(.chunked(sizes: [10])).dripping(1)
        },
        .wire("bytes beyond the Content-Length belong to no answer") { request in
            request.path == "/next"
                ? .text("next") : .data(Data("12345HTTP/1.1 500 No\r\n".utf8)).framed(.claimedLength(5))
        } play: { stage in
            for _ in 0..<3 {
                try await stage.expect(status: 200, body: Data("12345".utf8), of: stage.request())
                try await stage.expect(status: 200, body: Data("next".utf8), of: stage.request(.get, "/next"))
            }
        },
    ]

    private static func chunks(
        _ name: String, of body: @autoclosure @escaping @Sendable () -> Data, sizes: [Int]
    ) -> Self {
        .delivering("an answer in chunks of \(name)", body()) { .data($0).framed(.chunked(sizes: sizes)) }
    }

    /// Rare forms that must be read (RFC 9112, sections 2.2 to 5).
    static let oddities: [Self] = [
        odd("an answer with a status line without a reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"),
        odd("an answer with a status line with an empty reason", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"),
        odd("an answer of HTTP/1.0", "HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nok", isLast: true),
        odd("an answer with a field without a space after its colon", "HTTP/1.1 200 OK\r\nContent-Length:2\r\n\r\nok"),
        odd(
            "an answer with a field with spaces around its value",
            "HTTP/1.1 200 OK\r\nContent-Length: \t 2 \t\r\n\r\nok"),
        odd("an answer with field names in lower case", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
        odd("an answer with an empty field value", "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok"),
        odd(
            "an answer with the same Content-Length twice",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
        odd(
            "an answer with a header value that is Latin-1 and no UTF-8",
            Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Name: caf".utf8) + [0xE9] + Data("\r\n\r\nok".utf8)),
        .wire("a header value in UTF-8 is read as it was sent") { _ in
            .status(200, headers: ["X-Text": "Grüße, 世界"])
        } play: { stage in
            try Check.equal(try await stage.get().headers["X-Text"], "Grüße, 世界", "X-Text")
        },
    ]

    private static func odd(_ name: String, _ answer: String, isLast: Bool = false) -> Self {
        odd(name, Data(answer.utf8), isLast: isLast)
    }

    private static func odd(
        _ name: String, _ answer: @autoclosure @escaping @Sendable () -> Data, isLast: Bool = false
    ) -> Self {
        .delivering(name, Data("ok".utf8)) { _ in .raw([.bytes(answer())] + (isLast ? [.close] : [])) }
    }
}

extension TransportConformance.Case {
    static func delivering(
        _ name: String, _ body: @autoclosure @escaping @Sendable () -> Data,
        by answer: @escaping @Sendable (Data) -> MockServer.Response
    ) -> Self {
        .wire("\(name) is read whole") { _ in
            answer(body())
        } play: { stage in
            // Twice, since a body that was read wrongly spoils the connection for the next.
            try await stage.expect(status: 200, body: body(), of: stage.request())
            try await stage.expect(status: 200, body: body(), of: stage.request())
        }
    }
}
