// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    static let limits: [Self] = [
        .semantics("a body of exactly the limit is handed over") { _ in
            .data(.everyByte)
        } play: { stage in
            let request = try stage.request(delivery: .buffered(limit: 256))
            try await stage.expect(status: 200, body: .everyByte, of: request)
        },
        .semantics("a body of one byte more than the limit is too large") { _ in
            .data(.everyByte)
        } play: { stage in
            try await stage.expectTooLarge(limit: 255)
        },
        .semantics("an error's body is limited too") { _ in
            .data(.everyByte, status: 500)
        } play: { stage in
            try await stage.expectTooLarge(limit: 255)
        },
        .semantics("a limit of 0 lets an empty body pass") { request in
            request.path == "/empty" ? .status(200) : .text("1")
        } play: { stage in
            let request = try stage.request(.get, "/empty", delivery: .buffered(limit: 0))
            try await stage.expect(status: 200, body: Data(), of: request)
            try await stage.expectTooLarge(limit: 0)
        },
        .semantics("the length that an answer to HEAD tells is under no limit") { _ in
            .data(.everyByte)
        } play: { stage in
            let request = try stage.request(.head, delivery: .buffered(limit: 10))
            try await stage.expect(status: 200, body: Data(), of: request)
        },
        .semantics("a transport serves on after a body that was too large") { request in
            request.path == "/small" ? .text("small") : .data(.megabyte)
        } play: { stage in
            for _ in 0..<3 {
                try await stage.expectTooLarge(limit: 1000)
                try Check.equal(try await stage.get("/small").text, "small", "the next answer")
            }
        },
    ]

    static let endlessBodies: [Self] = [
        endless("with a length", MockServer.Response(framing: .claimedLength(endlessLength))),
        endless("with the greatest length of 64 bits", MockServer.Response(framing: .claimedLength(.max))),
        endless("in chunks", MockServer.Response(framing: .chunked())),
        endless("that ends with the connection", MockServer.Response(framing: .untilClose)),
        endless("of a redirect", MockServer.Response(status: 302, headers: ["Location": "/new"], framing: .chunked())),
        .wire("a server that sends without end holds up nobody else") { request in
            request.path == "/next" ? .text("next") : MockServer.Response(framing: .chunked()).flooding
        } play: { stage in
            for _ in 0..<5 {
                try await stage.expectTooLarge(limit: 1 << 20)
                try Check.equal(try await stage.get("/next").text, "next", "the next answer")
            }
        },
        .wire("a server that sends more than the limit is let go") { _ in
            // Pauses, so that on a busy machine a transport that waits differs from one that is held up.
            MockServer.Response(body: .data(.megabyte), framing: .claimedLength(endlessLength)).fault(
                .stall, at: .body(1 << 20))
        } play: { stage in
            try await stage.expectTooLarge(limit: 1000)
            try await stage.requestsSent(atLeast: 1)
        },
    ]

    /// 2^60 where an Int has 64 bits; shifted out of 32 it would be 0.
    private static let endlessLength = 1 << (Int.bitWidth - 4)

    private static func endless(_ name: String, _ response: MockServer.Response) -> Self {
        .wire("an endless body \(name) is cut at the limit") { _ in
            response.flooding
        } play: { stage in
            try await stage.expectTooLarge(limit: 1 << 20)
        }
    }
}

extension MockServer.Response {
    fileprivate var flooding: Self {
        var response = self
        response.body = .repeating(Data.megabyte.prefix(10_000), times: nil)
        return response
    }
}

extension ConformanceStage {
    func expectTooLarge(limit: Int) async throws {
        let request = try request(delivery: .buffered(limit: limit))
        let error = try await failure(of: request)
        guard case .responseTooLarge(let told) = error else {
            throw Check.Failure(reason: "the error is \(error), not responseTooLarge")
        }
        try Check.equal(told, limit, "the limit that the error tells")
    }
}
