// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let limits: [Self] = [
        .semantics("a body of exactly the limit is returned") { _ in
            .data(.everyByte)
        } verify: { stage in
            let request = try stage.request(delivery: .buffered(limit: 256))
            try await stage.expect(status: 200, body: .everyByte, of: request)
        },
        .semantics("a body of one byte more than the limit is too large") { _ in
            .data(.everyByte)
        } verify: { stage in
            try await stage.expectTooLarge(limit: 255)
        },
        .semantics("the limit applies to the body of an error status") { _ in
            .data(.everyByte, status: 500)
        } verify: { stage in
            try await stage.expectTooLarge(limit: 255)
        },
        .semantics("a limit of 0 accepts an empty body") { request in
            request.path == "/empty" ? .status(200) : .text("1")
        } verify: { stage in
            let request = try stage.request(.get, "/empty", delivery: .buffered(limit: 0))
            try await stage.expect(status: 200, body: Data(), of: request)
            try await stage.expectTooLarge(limit: 0)
        },
        .semantics("the Content-Length of a response to HEAD has no limit") { _ in
            .data(.everyByte)
        } verify: { stage in
            let request = try stage.request(.head, delivery: .buffered(limit: 10))
            try await stage.expect(status: 200, body: Data(), of: request)
        },
        .semantics("a transport keeps working after a body that was too large") { request in
            request.path == "/small" ? .text("small") : .data(.megabyte)
        } verify: { stage in
            for _ in 0..<3 {
                try await stage.expectTooLarge(limit: 1000)
                try Check.equal(try await stage.get("/small").text, "small", "the next response")
            }
        },
    ]

    static let endlessBodies: [Self] = [
        endless("with a length", MockServer.Response(framing: .claimedLength(endlessLength))),
        endless("with the greatest length of 64 bits", MockServer.Response(framing: .claimedLength(.max))),
        endless("in chunks", MockServer.Response(framing: .chunked())),
        endless("that ends with the connection", MockServer.Response(framing: .untilClose)),
        endless("of a redirect", MockServer.Response(status: 302, headers: ["Location": "/new"], framing: .chunked())),
        .wire("a server that sends without end blocks no other request") { request in
            request.path == "/next" ? .text("next") : MockServer.Response(framing: .chunked()).flooding
        } verify: { stage in
            for _ in 0..<5 {
                try await stage.expectTooLarge(limit: 1 << 20)
                try Check.equal(try await stage.get("/next").text, "next", "the next response")
            }
        },
        .wire("a server that sends more than the limit is disconnected") { _ in
            // It pauses, so that a transport that waits for more is detected on a busy machine too.
            MockServer.Response(body: .data(.megabyte), framing: .claimedLength(endlessLength)).fault(
                .stall, at: .body(1 << 20))
        } verify: { stage in
            try await stage.expectTooLarge(limit: 1000)
            try await stage.requestsSent(atLeast: 1)
        },
    ]

    /// 2^60 if an Int has 64 bits; a constant shift would be 0 with 32 bits.
    private static let endlessLength = 1 << (Int.bitWidth - 4)

    private static func endless(_ name: String, _ response: MockServer.Response) -> Self {
        .wire("an endless body \(name) is stopped at the limit") { _ in
            response.flooding
        } verify: { stage in
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
        guard case .responseTooLarge(let reported) = error else {
            throw Check.Failure(reason: "the error is \(error), not responseTooLarge")
        }
        try Check.equal(reported, limit, "the limit in the error")
    }
}
