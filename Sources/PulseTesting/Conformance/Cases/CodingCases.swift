// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// Content codings, which a transport requests and decodes itself.
    static let codings: [Self] = [
        decoding("gzip", Coded.gzip) { .data($0, headers: ["Content-Encoding": "gzip"]) },
        decoding("deflate", Coded.deflate) { .data($0, headers: ["Content-Encoding": "deflate"]) },
        decoding("gzip in chunks", Coded.gzip) {
            .data($0, headers: ["Content-Encoding": "gzip"]).framed(.chunked(sizes: [1, 10]))
        },
        decoding("gzip sent byte by byte", Coded.gzip) {
            .data($0, headers: ["Content-Encoding": "gzip"]).dripping(1)
        },
        decoding("gzip of several members", Coded.members) { .data($0, headers: ["Content-Encoding": "gzip"]) },
        decoding("gzip with padding behind it", Coded.gzip + Data(count: 100)) {
            .data($0, headers: ["Content-Encoding": "gzip"])
        },
        decoding("gzip under its old name", Coded.gzip) { .data($0, headers: ["Content-Encoding": "X-GZip"]) },
        decoding("deflate without a frame", Coded.raw) { .data($0, headers: ["Content-Encoding": "deflate"]) },
        decoding("gzip within gzip", Coded.twice) {
            .data($0, headers: ["Content-Encoding": "gzip", "Content-Encoding": "gzip"])
        },
        .wire("a coded stream or download is decoded") { _ in
            .data(Coded.members, headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            if let response = try await stage.responseIfSupported(stage.request(delivery: .streamed)) {
                let bytes = try await response.bytes?.collect(upTo: 1 << 20)
                try Check.equal(bytes, Coded.plain, "the stream")
                try Check.equal(response.headers["Content-Encoding"], nil, "Content-Encoding")
            }
            try await TemporaryFile.with(Data()) { file in
                let request = try stage.request(delivery: .file(file, resumeOffset: 0))
                guard try await stage.responseIfSupported(request) != nil else { return }
                try Check.equal(try Data(contentsOf: file), Coded.plain, "the file")
            }
        },
        .wire("an unknown coding leaves status, header fields and body unchanged") { request in
            .data(
                Coded.gzip, status: request.path == "/missing" ? 404 : 200,
                headers: ["Content-Encoding": Coded.unknown[Int(request.query ?? "") ?? 0]])
        } verify: { stage in
            for (index, coding) in Coded.unknown.enumerated() {
                for (path, status) in [("/", 200), ("/missing", 404)] {
                    let request = try stage.request(.get, "\(path)?\(index)")
                    let response = try await stage.expect(status: status, body: Coded.gzip, of: request)
                    try Check.equal(response.headers["Content-Encoding"], coding, "Content-Encoding")
                    try Check.equal(response.headers["Content-Length"], "\(Coded.gzip.count)", "Content-Length")
                }
            }
        },
        .wire("a part of a coded body is returned undecoded") { _ in
            .data(
                Coded.gzip.dropFirst(20), status: 206,
                headers: ["Content-Encoding": "gzip", "Content-Range": "bytes 20-\(Coded.gzip.count - 1)/*"])
        } verify: { stage in
            let request = try stage.request(headers: ["Range": "bytes=20-"])
            let response = try await stage.expect(status: 206, body: Coded.gzip.dropFirst(20), of: request)
            try Check.equal(response.headers["Content-Encoding"], "gzip", "Content-Encoding")
            try Check.equal(try stage.onlyRequest().headers["Accept-Encoding"], "identity", "Accept-Encoding")
        },
        .wire("an error's body is decoded too") { _ in
            .data(Coded.gzip, status: 500, headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            try await stage.expect(status: 500, body: Coded.plain, of: stage.request())
        },
        .wire("a response to HEAD keeps the header fields of the coding") { _ in
            .data(Coded.gzip, headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            let response = try await stage.expect(status: 200, body: Data(), of: stage.request(.head))
            try Check.equal(response.headers["Content-Encoding"], "gzip", "Content-Encoding")
            try Check.equal(response.headers["Content-Length"], "\(Coded.gzip.count)", "Content-Length")
        },
        .wire("the limit counts decoded bytes") { _ in
            .data(Coded.gzip, headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            let limit = Coded.plain.count
            let request = try stage.request(delivery: .buffered(limit: limit))
            try await stage.expect(status: 200, body: Coded.plain, of: request)
            try await stage.expectTooLarge(limit: limit - 1)
        },
    ]

    /// Bodies that do not match their header fields.
    static let brokenCodings: [Self] = [
        .wire(
            "a body that does not match its coding is an error",
            response: .data(Data("plain, whatever the header says".utf8), headers: ["Content-Encoding": "gzip"]),
            fails: undecodable),
        .wire("a truncated coded body is an error at every length") { request in
            .data(Coded.gzip.prefix(Int(request.path.dropFirst()) ?? 0), headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            for count in 1..<Coded.gzip.count {
                try await stage.expect(undecodable, of: stage.request(.get, "/\(count)"))
            }
            try await stage.expect(status: 200, body: Coded.plain, of: stage.request(.get, "/\(Coded.gzip.count)"))
        },
        .wire(
            "a coded body with a wrong checksum is an error",
            response: .data(Coded.gzip.dropLast() + [1], headers: ["Content-Encoding": "gzip"]), fails: undecodable),
        .wire("the error of a body that cannot be decoded has status and header fields") { _ in
            .data(Data("no gzip".utf8), status: 404, headers: ["Content-Encoding": "gzip", "X-A": "b"])
        } verify: { stage in
            for delivery in [.buffered(limit: 1000), .streamed] as [TransportRequest.Delivery] {
                let error = try await stage.failure(of: stage.request(delivery: delivery))
                if error.kind == .unsupported { continue }
                try undecodable.verify(error)
                try Check.equal(error.statusCode, 404, "the status")
                try Check.equal(error.response?.headers["X-A"], "b", "a header field")
                try Check.equal(error.response?.headers["Content-Encoding"], "gzip", "Content-Encoding")
                try Check.that(!error.isRetryable, "the error is retryable")
            }
        },
        .wire("a truncated coded stream is an error after the decoded bytes") { _ in
            .data(Coded.gzip.dropLast(4), headers: ["Content-Encoding": "gzip"])
        } verify: { stage in
            guard let response = try await stage.responseIfSupported(stage.request(delivery: .streamed)) else {
                return
            }
            var received = Data()
            do {
                for try await chunk in try Check.some(response.bytes, "there is no stream") { received += chunk }
                throw Check.Failure(reason: "the stream ended well")
            } catch let error as PulseError {
                try undecodable.verify(error)
                try Check.equal(error.statusCode, 200, "the status")
            }
            try Check.equal(received, Coded.plain, "the decoded body")
        },
        .wire("an endless coded body that decodes to nothing is stopped at the limit") { _ in
            .raw([
                .text("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), .bytes(Coded.gzip),
                .repeating(Data(count: 1000), times: nil),
            ])
        } verify: { stage in
            try await stage.expectTooLarge(limit: 1000)
        },
    ]

    private static let undecodable = ExpectedFailure.transport(.cannotDecodeContentData, .responseStarted)

    private static func decoding(
        _ name: String, _ coded: @autoclosure @escaping @Sendable () -> Data,
        by respond: @escaping @Sendable (Data) -> MockServer.Response
    ) -> Self {
        .wire("\(name) is decoded, and its header fields are removed") { _ in
            respond(coded()).header("X-A", "b")
        } verify: { stage in
            let response = try await stage.expect(status: 200, body: Coded.plain, of: stage.request())
            try Check.equal(response.headers["Content-Encoding"], nil, "Content-Encoding")
            try Check.equal(response.headers["Content-Length"], nil, "Content-Length")
            try Check.equal(response.headers["X-A"], "b", "another header")
            let asked = try stage.onlyRequest().headers["Accept-Encoding"] ?? ""
            try Check.that(asked.contains("gzip"), "Accept-Encoding is “\(asked)”, which does not ask for gzip")
        }
    }
}

/// The same text, plain and compressed by zlib, as constants because this target does not link zlib.
private enum Coded {
    static var plain: Data { Data(String(repeating: "Coded by the server, plain for the caller.\n", count: 8).utf8) }
    static var gzip: Data {
        decoded("H4sIAAAAAAACA3POT0lNUUiqVCjJSFUoTi0qSy3SUSjISczMU0jLLwKLJifm5KQW6XE5jyolXikAm9dOplgBAAA=")
    }
    static var deflate: Data {
        decoded("eNpzzk9JTVFIqlQoyUhVKE4tKkst0lEoyEnMzFNIyy8CiyYn5uSkFulxOY8qJV4pAH7Edyk=")
    }

    /// The same text in two members.
    static var members: Data {
        decoded(
            "H4sIAAAAAAACA3POT0lNUUiqVCjJSFUoTi0qSy3SUSjISczMU0jLLwKLJifm5KQW6XE5k6sUAJwpUeVkAAAAH4sIAAAAAAACA0stKkst"
                + "0lEoyEnMzFNIyy9SKMlIVUhOzMlJLdLjcs5PSU1RSKoECxanDhelADie7tT0AAAA")
    }
    static var twice: Data {
        decoded(
            "H4sIAAAAAAACA5Pv5mAAASbm4nP+nr6BHqtCNE56hGr46Wp5614K1DjheeZMsMdpfaZuNfVnT5aIvSy07NdSjdNkmH3db1kEIwMDADpWfmBB"
                + "AAAA")
    }
    static var raw: Data { decoded("c85PSU1RSKpUKMlIVShOLSpLLdJRKMhJzMxTSMsvAosmJ+bkpBbpcTmPKiVeKQA=") }

    /// Values of `Content-Encoding` that servers send although they are not content codings, or that are not decoded.
    static let unknown = [
        "aws-chunked", "utf-8", "binary", "gzip, aws-chunked", "aws-chunked, gzip", "compress", "8bit",
    ]

    private static func decoded(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}
