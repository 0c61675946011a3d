// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RedirectPolicyTests {
    private enum Outcome: Equatable {
        case follow(String, dropsBody: Bool), stop, tooMany
    }

    private static func request(_ method: String = "GET", _ url: String = "https://h.example/a") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        request.httpBody = Data("body".utf8)
        request.allHTTPHeaderFields = [
            "Content-Type": "text/plain", "content-length": "4", "Content-Digest": "x", "Idempotency-Key": "k",
            "Transfer-Encoding": "chunked", "Authorization": "Bearer t", "Accept": "*/*", "Host": "h.example",
        ]
        return request
    }

    private static func outcome(
        _ status: Int, _ location: String?, of request: URLRequest, hop: Int = 0, isBodyReplayable: Bool = true,
        by policy: RedirectPolicy = .default
    ) -> Outcome {
        let headers = location.map { HTTPHeaders(["Location": $0]) } ?? HTTPHeaders()
        let response = PulseResponse(statusCode: status, headers: headers, request: request)
        switch policy.decision(for: response, hop: hop, isBodyReplayable: isBodyReplayable) {
        case .follow(let next, let dropsBody):
            return .follow("\(next.httpMethod ?? "") \(next.url?.absoluteString ?? "")", dropsBody: dropsBody)
        case .stop: return .stop
        case .tooManyRedirects: return .tooMany
        }
    }

    @Test(arguments: [
        (301, "GET", "GET", false), (301, "HEAD", "HEAD", false), (301, "POST", "GET", true),
        (301, "PUT", "PUT", false),
        (302, "POST", "GET", true), (302, "DELETE", "DELETE", false), (302, "PATCH", "PATCH", false),
        (303, "GET", "GET", false), (303, "HEAD", "HEAD", false), (303, "POST", "GET", true),
        (303, "DELETE", "GET", true),
        (307, "POST", "POST", false), (307, "GET", "GET", false), (308, "POST", "POST", false),
        (308, "PUT", "PUT", false),
    ])
    func keepsOrChangesTheMethodByStatus(status: Int, method: String, next: String, dropsBody: Bool) throws {
        let request = try Self.request(method)
        #expect(Self.outcome(status, "/b", of: request) == .follow("\(next) https://h.example/b", dropsBody: dropsBody))
        let response = PulseResponse(statusCode: status, headers: ["Location": "/b"], request: request)
        guard
            case .follow(let followed, _) = RedirectPolicy.follow().decision(
                for: response, hop: 0, isBodyReplayable: true)
        else {
            Issue.record("not followed")
            return
        }
        let kept = ["Accept", "Authorization", "Host"]
        let all = [
            "Accept", "Authorization", "Content-Digest", "Content-Length", "Content-Type", "Host", "Idempotency-Key",
            "Transfer-Encoding",
        ]
        let names = (followed.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() }.sorted()
        #expect(names == (dropsBody ? kept : all).map { $0.lowercased() })
        #expect(followed.httpBody == (dropsBody ? nil : Data("body".utf8)))
    }

    @Test(arguments: [200, 201, 204, 300, 304, 305, 306, 309, 399, 400, 503])
    func followsNoOtherStatus(status: Int) throws {
        #expect(Self.outcome(status, "/b", of: try Self.request()) == .stop)
    }

    @Test(
        arguments: [
            nil, "", " ", "http://h.example/b", "ftp://h.example/b", "file:///etc/passwd", "mailto:a@b",
            "javascript:alert(1)",
            "data:text/html,x", "wss://h.example/b", "https:///b", "https://", "https://h.example:99999/",
            "https://a\\b/",
            "https:b",
        ] as [String?])
    func stopsWhereItMustNotOrCannotGo(location: String?) throws {
        #expect(Self.outcome(302, location, of: try Self.request()) == .stop)
        let agreeable = RedirectPolicy.custom { $1 }
        #expect(Self.outcome(302, location, of: try Self.request(), by: agreeable) == .stop)
    }

    @Test
    func goesFromHTTPToHTTPSAndToItself() throws {
        let request = try Self.request("GET", "http://h.example/a")
        #expect(
            Self.outcome(301, "https://h.example/a", of: request)
                == .follow("GET https://h.example/a", dropsBody: false))
        // A login page sends one back to where one came from.
        #expect(Self.outcome(302, "/a", of: request) == .follow("GET http://h.example/a", dropsBody: false))
    }

    @Test
    func dropsAHostOfOnesOwnOnTheWayToAnotherOrigin() throws {
        let response = PulseResponse(
            statusCode: 307, headers: ["Location": "https://other.example/"], request: try Self.request("POST"))
        guard
            case .follow(let next, _) = RedirectPolicy.follow().decision(for: response, hop: 0, isBodyReplayable: true)
        else {
            Issue.record("not followed")
            return
        }
        #expect(next.value(forHTTPHeaderField: "Host") == nil)
        #expect(next.value(forHTTPHeaderField: "Content-Type") == "text/plain")
    }

    @Test
    func sendsAOneShotBodyOnlyOnce() throws {
        let post = try Self.request("POST")
        for status in [307, 308] { #expect(Self.outcome(status, "/b", of: post, isBodyReplayable: false) == .stop) }
        #expect(Self.outcome(301, "/b", of: try Self.request("PUT"), isBodyReplayable: false) == .stop)
        #expect(
            Self.outcome(303, "/b", of: post, isBodyReplayable: false)
                == .follow("GET https://h.example/b", dropsBody: true))
    }

    @Test
    func givesUpAtTheEleventhHop() throws {
        let request = try Self.request()
        let next = Outcome.follow("GET https://h.example/b", dropsBody: false)
        #expect(Self.outcome(302, "/b", of: request, hop: 9) == next)
        #expect(Self.outcome(302, "/b", of: request, hop: 10) == .tooMany)
        // What would not be followed anyway is an answer, not one too many.
        #expect(Self.outcome(302, "http://h.example/b", of: request, hop: 10) == .stop)
        #expect(Self.outcome(302, "/b", of: request, by: .follow(maximumHops: 0)) == .tooMany)
        #expect(Self.outcome(302, "/b", of: request, hop: 1, by: .custom(maximumHops: 1) { $1 }) == .tooMany)
    }

    @Test
    func refusesOrAsksIfTold() throws {
        let request = try Self.request()
        #expect(Self.outcome(302, "/b", of: request, by: .refuse) == .stop)
        #expect(Self.outcome(302, "/b", of: request, by: .custom { _, _ in nil }) == .stop)
        let elsewhere = RedirectPolicy.custom { response, next in
            var next = next
            next.url = URL(string: "/c?\(response.statusCode)", relativeTo: next.url)
            return next
        }
        #expect(
            Self.outcome(302, "/b", of: request, by: elsewhere)
                == .follow("GET https://h.example/c?302", dropsBody: false))
        let downgrading = RedirectPolicy.custom { _, next in
            var next = next
            next.url = URL(string: "http://h.example/")
            return next
        }
        #expect(Self.outcome(302, "/b", of: request, by: downgrading) == .stop)
    }

    @Test
    func startsFromTheRequestThatWasBuilt() throws {
        let sent = try Self.request("POST", "https://h.example/sent")
        var built = URLRequest(url: try #require(URL(string: "https://h.example/a/built")))
        built.httpMethod = "PUT"
        let response = PulseResponse(statusCode: 307, headers: ["Location": "b"], request: sent)
        guard
            case .follow(let next, _) = RedirectPolicy.follow().decision(
                for: response, following: built, hop: 0, isBodyReplayable: true)
        else {
            Issue.record("not followed")
            return
        }
        #expect(next.httpMethod == "PUT")
        #expect(next.url?.absoluteString == "https://h.example/a/b")
        #expect(next.value(forHTTPHeaderField: "Authorization") == nil)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct RedirectSecretsTests {
    @Test(arguments: [
        // first, target, homes, may go
        ("https://home/a", "https://home/b", ["https://home"], true),
        ("https://home/a", "https://trusted/b", ["https://home", "https://trusted"], true),
        ("https://home/a", "https://else/b", ["https://home"], false),
        ("https://home/a", "https://home:8443/b", ["https://home"], false),
        ("https://else/a", "https://else/b", ["https://home"], true),
        ("https://else/a", "https://home/b", ["https://home"], false),
        ("https://else/a", "https://third/b", ["https://home"], false),
        ("https://a/a", "https://a/b", [], true),
        ("https://a/a", "https://b/b", [], false),
        ("file:///a", "file:///a", [], false),
    ])
    func goHomeOrStayWhereTheyStarted(first: String, target: String, homes: [String], mayGo: Bool) throws {
        let home = Set(homes.compactMap { URL(string: $0).flatMap(Origin.init) })
        let isHome: (URL) -> Bool = { Origin($0).map(home.contains) ?? false }
        let (first, target) = (try #require(URL(string: first)), try #require(URL(string: target)))
        let beganAtHome = isHome(first)
        #expect(RedirectSecrets.mayGo(to: target, first: first, beganAtHome: beganAtHome, isHome: isHome) == mayGo)
    }

    @Test
    func dropsEverySecretAndMarkedHeaderAndOrigin() throws {
        var request = URLRequest(url: try #require(URL(string: "https://other/")))
        for name in [
            "Authorization", "cookie", "Proxy-Authorization", "Origin", "X-API-Key", "X-Signature-256", "X-My-Token",
            "X-Mine",
            "X-Tenant", "Accept", "X-Request-ID", "Idempotency-Key", "Content-Type",
        ] {
            request.setValue("v", forHTTPHeaderField: name)
        }
        RedirectSecrets.remove(
            from: &request, redaction: Redaction(secretHeaders: ["X-Tenant"]), marked: ["x-mine"])
        let left = (request.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() }.sorted()
        #expect(left == ["accept", "content-type", "idempotency-key", "x-request-id"])
    }
}
