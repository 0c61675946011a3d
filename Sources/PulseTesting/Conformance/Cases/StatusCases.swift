// SPDX-License-Identifier: MIT

import PulseCore

extension TransportConformance.Case {
    static let statuses: [Self] =
        [200..<300, 300..<400, 400..<500, 500..<600].map { range in
            .semantics("every status from \(range.lowerBound) to \(range.upperBound - 1) is handed over, with its body") {
                let status = Int($0.path.dropFirst()) ?? 500
                return bodiless.contains(status) ? .status(status) : .text("body of \(status)", status: status)
            } play: { stage in
                for status in range {
                    let body = bodiless.contains(status) ? Data() : Data("body of \(status)".utf8)
                    try await stage.expect(status: status, body: body, of: stage.request(.get, "/\(status)"))
                }
            }
        } + bodiless.map { status in
            .semantics("\(status) ends with its head, and the next answer is its own") { request in
                request.path == "/next" ? .text("next") : .status(status, headers: ["ETag": #""1""#])
            } play: { stage in
                for _ in 0..<2 {
                    let response = try await stage.expect(status: status, body: Data(), of: stage.request())
                    try Check.equal(response.headers["ETag"], #""1""#, "ETag")
                    try await stage.expect(status: 200, body: Data("next".utf8), of: stage.request(.get, "/next"))
                }
            }
        } + [
            .semantics("401 and 407 with a challenge are handed over, and asked once") { request in
                .text(
                    "who are you?", status: request.path == "/401" ? 401 : 407,
                    headers: ["WWW-Authenticate": #"Basic realm="a""#, "Proxy-Authenticate": #"Basic realm="a""#])
            } play: { stage in
                for status in [401, 407] {
                    let body = Data("who are you?".utf8)
                    try await stage.expect(status: status, body: body, of: stage.request(.get, "/\(status)"))
                }
                try Check.equal(stage.requests.map(\.path), ["/401", "/407"], "the requests that came")
            },
            .semantics("425, 429 and 503 with Retry-After are handed over, and asked once") { request in
                .text("later", status: Int(request.path.dropFirst()) ?? 500, headers: ["Retry-After": "0"])
            } play: { stage in
                for status in [425, 429, 503] {
                    let body = Data("later".utf8)
                    let request = try stage.request(.get, "/\(status)")
                    let response = try await stage.expect(status: status, body: body, of: request)
                    try Check.equal(response.headers["Retry-After"], "0", "Retry-After")
                }
                try Check.equal(stage.requests.count, 3, "the number of requests that came")
            },
        ]

    private static let bodiless = [204, 205, 304]

    static let redirects: [Self] = [301, 302, 303, 307, 308].flatMap { status in
        [HTTPMethod.get, .post].map { method in
            .semantics("\(status) to \(method) is handed over with body and Location, and not followed") { request in
                request.path == "/" ? .text("moved", status: status, headers: ["Location": "/new"]) : .text("new")
            } play: { stage in
                let body: TransportRequest.Body = method == .post ? .bytes(.everyByte) : .none
                let request = try stage.request(method, body: body)
                let response = try await stage.expect(status: status, body: Data("moved".utf8), of: request)
                try Check.equal(response.headers["Location"], "/new", "Location")
                try Check.equal(response.redirects, [], "the redirects")
                try Check.equal(stage.onlyRequest().path, "/", "the path of the only request")
            }
        }
    }
}
