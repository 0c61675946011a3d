// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    /// Request lines and header fields at and above the size limit.
    static let largeHeads: [Self] = [
        .semantics("a request line and header fields of the maximum size arrive") { _ in
            .status(200)
        } verify: { stage in
            let request = try stage.request(ofHeadSize: TransportRequest.maxHeadSize)
            _ = try await stage.send(request)
            let value = request.urlRequest.value(forHTTPHeaderField: "X-Long")
            try Check.equal(stage.onlyRequest().headers["X-Long"], value, "the X-Long that arrived")
        },
        .semantics("a request line and header fields that are too large are refused unsent") { _ in
            .status(200)
        } verify: { stage in
            let long = "/?" + String(repeating: "a", count: TransportRequest.maxHeadSize)
            let many = Dictionary(uniqueKeysWithValues: (0..<1800).map { ("X-\($0)", "1") })
            for request in [
                try stage.request(ofHeadSize: TransportRequest.maxHeadSize + 1), try stage.request(.get, long),
                try stage.request(.get, "/?" + String(repeating: "a", count: 1_000_000)),
                try stage.request(.post, headers: many, body: .bytes(.megabyte)),
            ] {
                try await stage.expect(.kind(.invalidRequest), of: request)
            }
            try Check.equal(stage.requests.count, 0, "the number of received requests")
        },
    ]

    /// Uploads that the server refuses before it has read them (RFC 9112, section 9.5).
    static let refusedUploads: [Self] =
        [413, 401].flatMap { status -> [Self] in
            [
                refusal("a \(status) before the body is read is the response") { stage in
                    try await stage.expectRefusals(status)
                },
                refusal("a \(status) before the body is read is the response, also on a reused connection") { stage in
                    try await stage.expectRefusals(status, isReused: true)
                },
            ]
        } + [
            refusal("a refusal that ends the connection is the response") { stage in
                try await stage.expectRefusals(413, fields: "Connection: close\r\n", isReused: true)
            },
            refusal("a refusal of a body without a length is the response") { stage in
                let body = RequestBody.Stream(length: nil) { ByteStream(.upload) }
                try await stage.expectRefusals(413, body: .stream(body))
            },
            refusal("a refusal arrives while the body waits for more bytes") { stage in
                try await stage.expectRefusalOfWaitingBody()
            },
            refusal("a refusal that ends the connection arrives while the body waits for more bytes") { stage in
                try await stage.expectRefusalOfWaitingBody(fields: "Connection: close\r\n", .halfClose)
            },
        ]

    private static func refusal(
        _ name: String, _ verify: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) -> Self {
        .wire(name, respond: { _ in .text("warm") }, verify: verify)
    }
}

extension [Data] {
    /// More than the system buffers between two sockets.
    fileprivate static var upload: [Data] { Array(repeating: .megabyte, count: 8) }
}

extension ConformanceStage {
    /// A request whose request line and header fields have a total size in bytes.
    fileprivate func request(ofHeadSize size: Int) throws -> TransportRequest {
        let url = try request().urlRequest.url?.absoluteString ?? ""
        let count = size - "GET".utf8.count - url.utf8.count - "X-Long".utf8.count - 32
        return try request(headers: ["X-Long": String(repeating: "a", count: count)])
    }

    private func refuse(_ status: Int, fields: String, after bytes: Int, _ end: MockServer.Step?) throws {
        guard let server = server as? MockServer else { throw Check.Failure(reason: "there is no server with sockets") }
        let refusal = "HTTP/1.1 \(status) Refused\r\n\(fields)Content-Length: 7\r\n\r\nrefused"
        let reading: MockServer.Reading =
            if let end {
                .interrupted(after: bytes, .text(refusal), end)
            } else {
                .interrupted(after: bytes, .text(refusal))
            }
        server.on(.post, "/upload", reading: reading) { _ in .status(200) }
    }

    /// Expects the response of a server that then closes the connection with a part of the body unread, which resets
    /// it.
    ///
    /// Five of ten responses may be lost: outside Linux, the reset may overtake the response. A transport that does not
    /// read after a failed write loses nearly all.
    fileprivate func expectRefusals(
        _ status: Int, fields: String = "", isReused: Bool = false, body: TransportRequest.Body? = nil
    ) async throws {
        try refuse(status, fields: fields, after: 0, .close)
        let body = body ?? .bytes([Data].upload.reduce(Data(), +))
        var lost: [PulseError] = []
        for _ in 0..<10 {
            if isReused { _ = try await get() }
            let request = try request(.post, "/upload", body: body)
            switch await start(request).result {
            case .success(let response):
                try Check.equal(response.statusCode, status, "the status")
                try Check.equal(response.text, "refused", "the body")
            case .failure(let error):
                let error = PulseError(wrapping: error)
                if error.kind == .unsupported { return }
                lost.append(error)
            }
        }
        try Check.that(lost.count <= 5, "of 10 responses \(lost.count) are lost: \(lost)")
    }

    /// Expects the response while the body's source neither delivers more nor ends.
    fileprivate func expectRefusalOfWaitingBody(fields: String = "", _ end: MockServer.Step? = nil) async throws {
        try refuse(413, fields: fields, after: 1, end)
        let (never, continuation) = AsyncStream<Void>.makeStream()
        defer { continuation.finish() }
        let body = RequestBody.Stream(length: 1 << 20) {
            let first = Locked<Data?>(.everyByte)
            return ByteStream {
                let piece = first.withLock { first in
                    defer { first = nil }
                    return first
                }
                if let piece { return piece }
                for await _ in never {}
                return nil
            }
        }
        let request = try request(.post, "/upload", body: .stream(body))
        guard let response = try await responseIfSupported(request) else { return }
        try Check.equal(response.statusCode, 413, "the status")
        try Check.equal(response.text, "refused", "the body")
    }
}
