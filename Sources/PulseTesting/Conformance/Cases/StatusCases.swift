// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance.Case {
    static let statuses: [Self] =
        everyStatus + bodilessStatuses + [
            .semantics("a status from 301 to 308 without a Location keeps its body") { request in
                .text("body", status: Int(request.path.dropFirst()) ?? 500)
            } verify: { stage in
                for status in [301, 302, 303, 305, 306, 307, 308] {
                    try await stage.expect(
                        status: status, body: Data("body".utf8), of: stage.request(.get, "/\(status)"))
                }
            },
            .semantics("425, 429 and 503 with Retry-After are returned after one request") { request in
                .text("later", status: Int(request.path.dropFirst()) ?? 500, headers: ["Retry-After": "0"])
            } verify: { stage in
                for status in [425, 429, 503] {
                    let request = try stage.request(.get, "/\(status)")
                    let response = try await stage.expect(status: status, body: Data("later".utf8), of: request)
                    try Check.equal(response.headers["Retry-After"], "0", "Retry-After")
                }
                try Check.equal(stage.requests.count, 3, "the number of received requests")
            },
            challenge(401, #"Basic realm="a""#), challenge(401, "Bearer"),
            challenge(401, #"Digest realm="a", nonce="b""#),
            challenge(401, #"Negotiate, Basic realm="a""#), challenge(407, #"Basic realm="a""#),
        ]

    private static let everyStatus: [Self] = [200..<300, 300..<400, 400..<500, 500..<600].map { range in
        .semantics("every status from \(range.lowerBound) to \(range.upperBound - 1) is returned") { request in
            let status = Int(request.path.dropFirst()) ?? 500
            return hasBody(status) ? .text("body of \(status)", status: status) : .status(status)
        } verify: { stage in
            for status in range {
                let body = hasBody(status) ? Data("body of \(status)".utf8) : Data()
                try await stage.expect(status: status, body: body, of: stage.request(.get, "/\(status)"))
            }
        }
    }

    private static let bodilessStatuses: [Self] = bodiless.map { status in
        .semantics("\(status) ends after its header fields, and the next response is separate") { request in
            request.path == "/next" ? .text("next") : .status(status, headers: ["ETag": #""1""#])
        } verify: { stage in
            for _ in 0..<2 {
                let response = try await stage.expect(status: status, body: Data(), of: stage.request())
                try Check.equal(response.headers["ETag"], #""1""#, "ETag")
                try await stage.expect(status: 200, body: Data("next".utf8), of: stage.request(.get, "/next"))
            }
        }
    }

    /// The client handles credentials.
    private static func challenge(_ status: Int, _ challenge: String) -> Self {
        .semantics("\(status) with the challenge \(challenge) is returned after one request") { _ in
            let name = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
            return .text("who are you?", status: status, headers: [name: challenge])
        } verify: { stage in
            let response = try await stage.expect(
                status: status, body: Data("who are you?".utf8), of: stage.request(.post, body: .bytes(.everyByte)))
            let name = status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate"
            try Check.equal(response.headers[name], challenge, name)
            try Check.equal(stage.onlyRequest().headers["Authorization"], nil, "the Authorization that arrived")
        }
    }

    static let userInfo: [Self] = [
        .wire("user info in the URL is sent once as Basic credentials, unless there are others") { _ in
            .text("who are you?", status: 401, headers: ["WWW-Authenticate": #"Basic realm="a""#])
        } verify: { stage in
            let address = stage.baseURL.absoluteString.replacingOccurrences(of: "://", with: "://ada:a%3Ab@") + "/"
            for headers in [[:], ["Authorization": "Bearer c"]] {
                try await stage.expect(
                    status: 401, body: Data("who are you?".utf8), of: stage.request(at: address, headers: headers))
            }
            try Check.equal(
                stage.requests.map { $0.headers["Authorization"] }, ["Basic YWRhOmE6Yg==", "Bearer c"],
                "the Authorization that arrived")
        }
    ]

    private static let bodiless = [204, 205, 304]

    /// Redirects have their own cases.
    private static func hasBody(_ status: Int) -> Bool { !bodiless.contains(status) && !(301...308).contains(status) }

    static let redirects: [Self] = [301, 302, 303, 307, 308].flatMap { status in
        [HTTPMethod.get, .post].map { method in
            .semantics("\(status) to \(method) is returned with body and Location, and not followed") { request in
                request.path == "/" ? .text("moved", status: status, headers: ["Location": "/new"]) : .text("new")
            } verify: { stage in
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
