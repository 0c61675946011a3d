// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    /// Content codings, which a transport asks for by itself and undoes.
    static let codings: [Self] = [
        decoding("gzip", Coded.gzip) { .data($0, headers: ["Content-Encoding": "gzip"]) },
        decoding("deflate", Coded.deflate) { .data($0, headers: ["Content-Encoding": "deflate"]) },
        decoding("gzip in chunks", Coded.gzip) {
            .data($0, headers: ["Content-Encoding": "gzip"]).framed(.chunked(sizes: [1, 10]))
        },
        decoding("gzip that comes byte for byte", Coded.gzip) {
            .data($0, headers: ["Content-Encoding": "gzip"]).dripping(1)
        },
        .wire("an error's body is decoded too") { _ in
            .data(Coded.gzip, status: 500, headers: ["Content-Encoding": "gzip"])
        } play: { stage in
            try await stage.expect(status: 500, body: Coded.plain, of: stage.request())
        },
        .wire("an answer to HEAD keeps the headers that tell about the coding") { _ in
            .data(Coded.gzip, headers: ["Content-Encoding": "gzip"])
        } play: { stage in
            let response = try await stage.expect(status: 200, body: Data(), of: stage.request(.head))
            try Check.equal(response.headers["Content-Encoding"], "gzip", "Content-Encoding")
            try Check.equal(response.headers["Content-Length"], "\(Coded.gzip.count)", "Content-Length")
        },
        .wire("the limit counts decoded bytes") { _ in
            .data(Coded.gzip, headers: ["Content-Encoding": "gzip"])
        } play: { stage in
            let limit = Coded.plain.count
            let request = try stage.request(delivery: .buffered(limit: limit))
            try await stage.expect(status: 200, body: Coded.plain, of: request)
            try await stage.expectTooLarge(limit: limit - 1)
        },
        .wire(
            "a body that is not coded as it says is an error",
            answer: .data(Data("plain, whatever the header says".utf8), headers: ["Content-Encoding": "gzip"]),
            fails: .transport(.cannotDecodeContentData, .responseStarted)),
    ]

    private static func decoding(
        _ name: String, _ coded: @autoclosure @escaping @Sendable () -> Data,
        by answer: @escaping @Sendable (Data) -> MockServer.Response
    ) -> Self {
        .wire("\(name) is decoded, and the headers that told about it are gone") { _ in
            answer(coded()).header("X-A", "b")
        } play: { stage in
            let response = try await stage.expect(status: 200, body: Coded.plain, of: stage.request())
            try Check.equal(response.headers["Content-Encoding"], nil, "Content-Encoding")
            try Check.equal(response.headers["Content-Length"], nil, "Content-Length")
            try Check.equal(response.headers["X-A"], "b", "another header")
            let asked = try stage.onlyRequest().headers["Accept-Encoding"] ?? ""
            try Check.that(asked.contains("gzip"), "Accept-Encoding is “\(asked)”, which does not ask for gzip")
        }
    }
}

/// The same text plain and coded by zlib; here, because this target links no library that could.
private enum Coded {
    static var plain: Data { Data(String(repeating: "Coded by the server, plain for the caller.\n", count: 8).utf8) }
    static var gzip: Data {
        decoded("H4sIAAAAAAACA3POT0lNUUiqVCjJSFUoTi0qSy3SUSjISczMU0jLLwKLJifm5KQW6XE5jyolXikAm9dOplgBAAA=")
    }
    static var deflate: Data {
        decoded("eNpzzk9JTVFIqlQoyUhVKE4tKkst0lEoyEnMzFNIyy8CiyYn5uSkFulxOY8qJV4pAH7Edyk=")
    }

    private static func decoded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}
