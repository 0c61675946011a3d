// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let responses: [Self] =
        [
            .semantics("an empty response body is not an error") { _ in
                .status(200, headers: ["Content-Type": "application/json"])
            } verify: { stage in
                try await stage.expect(status: 200, body: Data(), of: stage.request(.get))
                try await stage.expect(status: 200, body: Data(), of: stage.request(.post, body: .bytes(.everyByte)))
            },
            .semantics("a response body arrives byte for byte") { _ in
                .data(.everyByte, contentType: "application/octet-stream")
            } verify: { stage in
                try await stage.expect(status: 200, body: .everyByte, of: stage.request())
            },
            .semantics("a response body of 1 MB arrives whole") { _ in
                .data(.megabyte)
            } verify: { stage in
                try await stage.expect(status: 200, body: .megabyte, of: stage.request())
            },
            .semantics("a response to HEAD has header fields and no body") { _ in
                .data(.everyByte, contentType: "image/png")
            } verify: { stage in
                let response = try await stage.expect(status: 200, body: Data(), of: stage.request(.head))
                try Check.equal(response.headers["Content-Type"], "image/png", "the Content-Type")
                try Check.equal(response.headers["Content-Length"], "256", "the Content-Length")
            },
            .semantics("header lookup ignores case") { _ in
                .status(200, headers: ["x-lower": "1", "X-UPPER": "2", "ETag": #""abc""#])
            } verify: { stage in
                let headers = try await stage.get().headers
                try Check.equal(headers["X-Lower"], "1", "x-lower")
                try Check.equal(headers["x-upper"], "2", "X-UPPER")
                try Check.equal(headers["etag"], #""abc""#, "ETag")
            },
            .semantics("repeated header lines keep their order") { _ in
                .status(200, headers: ["X-Multi": "a", "X-Between": "1", "X-Multi": "b", "X-Multi": "c, d"])
            } verify: { stage in
                try Check.equal(try await stage.get().headers["X-Multi"], "a, b, c, d", "X-Multi")
            },
            .semantics("repeated header lines of different case keep their order") { _ in
                .status(200, headers: ["X-Multi": "a", "x-multi": "b", "X-Multi": "c"])
            } verify: { stage in
                try Check.equal(try await stage.get().headers["X-Multi"], "a, b, c", "X-Multi")
            },
            .semantics("repeated Set-Cookie lines stay separate") { _ in
                var headers = HTTPHeaders()
                cookies.forEach { headers.add(name: "Set-Cookie", value: $0) }
                return .status(200, headers: headers)
            } verify: { stage in
                try Check.equal(try await stage.get().headers.values(for: "Set-Cookie"), cookies, "Set-Cookie")
            },
            .semantics("a response header value of 32 KB arrives whole") { _ in
                .status(200, headers: ["X-Long": String(repeating: "0123456789abcdef", count: 2048)])
            } verify: { stage in
                try Check.equal(try await stage.get().headers["X-Long"]?.utf8.count, 32768, "the length of X-Long")
            },
            .semantics("200 response header fields arrive") { _ in
                .status(200, headers: HTTPHeaders((0..<200).map { .init(name: "X-Field-\($0)", value: "value \($0)") }))
            } verify: { stage in
                let headers = try await stage.get().headers
                for index in 0..<200 {
                    try Check.equal(headers["X-Field-\(index)"], "value \(index)", "X-Field-\(index)")
                }
            },
            .semantics("the response has the request as it was sent") { _ in
                .status(200)
            } verify: { stage in
                let request = try stage.request(.put, "/a?b=c", headers: ["X-A": "1"], body: .bytes(.everyByte))
                let response = try await stage.send(request)
                try Check.equal(response.request.url, request.urlRequest.url, "the URL")
                try Check.equal(response.request.httpMethod, "PUT", "the method")
                try Check.equal(response.request.value(forHTTPHeaderField: "X-A"), "1", "the header")
                try Check.equal(response.redirects, [], "the redirects")
                try Check.that(response.latency >= 0, "the latency is negative: \(response.latency)")
            },
        ] + informational

    private static let cookies = [
        "a=1; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "b=2; HttpOnly", "c=x,y; Secure", "d=",
    ]

    /// Interim responses (RFC 9110, section 15.2).
    private static let informational: [Self] = [
        ("100 Continue", [MockServer.Response.Informational(status: 100)]),
        ("102 Processing", [.init(status: 102), .init(status: 102)]),
        ("103 Early Hints", [.init(status: 103, headers: ["Link": "</a.css>; rel=preload"])]),
    ].map { name, early in
        .semantics("\(name) before the response is skipped") { _ in
            MockServer.Response(headers: ["X-Final": "1"], body: .data(.everyByte), informational: early)
        } verify: { stage in
            let response = try await stage.expect(status: 200, body: .everyByte, of: stage.request())
            try Check.equal(response.headers["X-Final"], "1", "X-Final")
            try Check.equal(response.headers["Link"], nil, "Link, which is not the response's")
        }
    }
}

extension ConformanceStage {
    @discardableResult
    func expect(status: Int, body: Data, of request: TransportRequest) async throws -> PulseResponse {
        let response = try await send(request)
        try Check.equal(response.statusCode, status, "the status")
        try Check.equal(response.data, body, "the body")
        return response
    }
}
