// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RedirectPolicyTests {
    private let policy = RedirectPolicy.default

    private func redirect(
        _ status: Int = 302, to location: String?, from text: String = "https://a.example/b/c/d;p?q",
        method: HTTPMethod = .get, headers: [String: String] = [:], body: Data? = nil
    ) throws -> PulseResponse {
        PulseResponse(
            statusCode: status, headers: location.map { ["Location": $0] } ?? [:],
            request: try request(method, text, headers: headers, body: body))
    }

    private func followed(_ response: PulseResponse, hop: Int = 0, isBodyReplayable: Bool = true) -> URLRequest? {
        policy.decision(for: response, hop: hop, isBodyReplayable: isBodyReplayable).request
    }

    @Test
    func aCustomHostHeaderIsKeptOnlyAtTheSameOrigin() throws {
        let headers = ["Host": "tenant.example", "Accept": "c/d"]
        for (location, host) in [
            ("/x", "tenant.example"), ("https://b.example/x", nil), ("https://a.example:8443/", nil),
        ] {
            let next = followed(try redirect(307, to: location, headers: headers))
            #expect(next?.value(forHTTPHeaderField: "Host") == host)
            #expect(next?.value(forHTTPHeaderField: "Accept") == "c/d")
        }
    }

    @Test
    func onlyAHostHeaderSetByACustomDecisionIsKept() throws {
        let elsewhere = try url("https://b.example/")
        let response = try redirect(307, to: "/x", headers: ["Host": "tenant.example"])
        for (own, host) in [(String?.none, String?.none), ("new.example", "new.example")] {
            let policy = RedirectPolicy.custom { _, next in
                var next = next
                next.url = elsewhere
                if let own { next.setValue(own, forHTTPHeaderField: "Host") }
                return next
            }
            let next = policy.decision(for: response, hop: 0, isBodyReplayable: true).request
            #expect(next?.value(forHTTPHeaderField: "Host") == host)
        }
    }

    @Test(arguments: ["GET", "HEAD", "POST", "PUT"])
    func aCustomDecisionThatChangesTheMethodToGETOrHEADDropsTheBody(method: String) throws {
        let policy = RedirectPolicy.custom { _, next in
            var next = next
            next.httpMethod = method
            return next
        }
        let response = try redirect(
            307, to: "/x", method: .post, headers: ["Content-Type": "a/b"], body: Data("x".utf8))
        let decision = policy.decision(for: response, hop: 0, isBodyReplayable: true)
        guard case .follow(let next, let dropsBody) = decision else {
            Issue.record("\(decision)")
            return
        }
        let drops = ["GET", "HEAD"].contains(method)
        #expect(next.httpMethod == method)
        #expect(dropsBody == drops)
        #expect((next.httpBody == nil) == drops)
        #expect((next.value(forHTTPHeaderField: "Content-Type") == nil) == drops)
    }

    @Test
    func aLocationIsResolvedAgainstTheURLThatWasSent() throws {
        let built = try request(.get, "https://a.example/b", headers: ["Host": "tenant.example"])
        let response = try redirect(to: "next", from: "https://moved.example/c/d")
        let next = policy.decision(for: response, following: built, hop: 0, isBodyReplayable: true).request
        #expect(next?.url?.absoluteString == "https://moved.example/c/next")
        #expect(next?.value(forHTTPHeaderField: "Host") == nil)
        let insecure = try redirect(to: "http://moved.example/", from: "https://moved.example/")
        let plain = try request(.get, "http://a.example/")
        #expect(policy.decision(for: insecure, following: plain, hop: 0, isBodyReplayable: true).isStop)
    }

    @Test
    func aDroppedBodyTakesItsHeadersAlong() throws {
        let headers = ["Transfer-Encoding": "chunked", "Expect": "100-continue", "Trailer": "Digest", "Accept": "c/d"]
        let next = followed(try redirect(303, to: "/x", method: .post, headers: headers))
        #expect(next?.allHTTPHeaderFields == ["Accept": "c/d"])
    }

    // MARK: Method and body

    /// The method of the next request, and whether the body is dropped; nil if the redirect is not followed.
    private static func expectation(_ status: Int, _ method: HTTPMethod) -> (method: String, dropsBody: Bool)? {
        switch (status, method) {
        case (301, .post), (302, .post): ("GET", true)
        case (301, _), (302, _), (307, _), (308, _): (method.rawValue, false)
        case (303, _): (method == .head ? "HEAD" : "GET", true)
        default: nil
        }
    }

    private static let methods: [HTTPMethod] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .query,
    ]

    @Test(arguments: [200, 201, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 400], methods)
    func theStatusDecidesMethodAndBody(status: Int, method: HTTPMethod) throws {
        let headers = [
            "Content-Type": "a/b", "content-length": "1", "Content-Digest": "x", "Idempotency-Key": "k",
            "Accept": "c/d", "Digest": "d", "Repr-Digest": "r", "Last-Modified": "l",
        ]
        for isReplayable in [true, false] {
            let response = try redirect(status, to: "/next", method: method, headers: headers, body: Data("x".utf8))
            let decision = policy.decision(for: response, hop: 0, isBodyReplayable: isReplayable)
            guard let expected = Self.expectation(status, method), expected.dropsBody || isReplayable else {
                #expect(decision.isStop)
                continue
            }
            guard case .follow(let next, let dropsBody) = decision else {
                Issue.record("\(decision)")
                continue
            }
            #expect(next.url?.absoluteString == "https://a.example/next")
            #expect(next.httpMethod == expected.method)
            #expect(dropsBody == expected.dropsBody)
            #expect(next.httpBody == (dropsBody ? nil : Data("x".utf8)))
            let kept = (next.allHTTPHeaderFields ?? [:]).keys.map { $0.lowercased() }.sorted()
            let all = [
                "accept", "content-digest", "content-length", "content-type", "digest", "idempotency-key",
                "last-modified", "repr-digest",
            ]
            #expect(kept == (dropsBody ? ["accept"] : all))
        }
    }

    @Test
    func aRedirectContinuesTheRequestAsTheClientBuiltIt() throws {
        let built = try request(.get, "https://a.example/", headers: ["X-Own": "1"])
        let response = try redirect(to: "/next", headers: ["X-Plugin": "2"])
        let decision = policy.decision(for: response, following: built, hop: 0, isBodyReplayable: true)
        #expect(decision.request?.allHTTPHeaderFields == ["X-Own": "1"])
    }

    // MARK: Target

    @Test(arguments: [
        // RFC 3986, section 5.4.1, with the scheme https.
        ("https://g", "https://g"), ("g", "https://a.example/b/c/g"), ("./g", "https://a.example/b/c/g"),
        ("g/", "https://a.example/b/c/g/"), ("/g", "https://a.example/g"), ("//g", "https://g"),
        ("?y", "https://a.example/b/c/d;p?y"), ("g?y", "https://a.example/b/c/g?y"),
        ("#s", "https://a.example/b/c/d;p?q#s"), ("g#s", "https://a.example/b/c/g#s"),
        ("g?y#s", "https://a.example/b/c/g?y#s"), (";x", "https://a.example/b/c/;x"),
        ("g;x", "https://a.example/b/c/g;x"), ("g;x?y#s", "https://a.example/b/c/g;x?y#s"),
        (".", "https://a.example/b/c/"), ("./", "https://a.example/b/c/"), ("..", "https://a.example/b/"),
        ("../", "https://a.example/b/"), ("../g", "https://a.example/b/g"), ("../..", "https://a.example/"),
        ("../../", "https://a.example/"), ("../../g", "https://a.example/g"),
        // Section 5.4.2.
        ("../../../g", "https://a.example/g"), ("../../../../g", "https://a.example/g"),
        ("/./g", "https://a.example/g"), ("/../g", "https://a.example/g"), ("g.", "https://a.example/b/c/g."),
        (".g", "https://a.example/b/c/.g"), ("g..", "https://a.example/b/c/g.."), ("..g", "https://a.example/b/c/..g"),
        ("./../g", "https://a.example/b/g"), ("./g/.", "https://a.example/b/c/g/"),
        ("g/./h", "https://a.example/b/c/g/h"),
        ("g/../h", "https://a.example/b/c/h"), ("g;x=1/./y", "https://a.example/b/c/g;x=1/y"),
        ("g;x=1/../y", "https://a.example/b/c/y"), ("g?y/./x", "https://a.example/b/c/g?y/./x"),
        ("g?y/../x", "https://a.example/b/c/g?y/../x"), ("g#s/../x", "https://a.example/b/c/g#s/../x"),
        // WHATWG URL, section 4.1.
        ("%2e%2E", "https://a.example/b/"), (".%2e/g?%2e%2e/x", "https://a.example/b/g?%2e%2e/x"),
        ("x/%2e%2e/../g", "https://a.example/b/g"), ("/a/%2e/g%2e", "https://a.example/a/g%2e"),
        ("https://g/a/%2e%2e/b", "https://g/b"),
    ])
    func referencesAreResolvedAsInRFC3986(location: String, target: String) throws {
        #expect(followed(try redirect(to: location))?.url?.absoluteString == target)
    }

    @Test(arguments: [
        ("/a b", "https://a.example/a%20b"), ("/a%20b", "https://a.example/a%20b"),
        ("/a%20b c", "https://a.example/a%20b%20c"), ("/\u{E9}", "https://a.example/%C3%A9"),
        ("/?q=a b&r=\u{E9}", "https://a.example/?q=a%20b&r=%C3%A9"),
        ("/a\"<>\\^`{|}", "https://a.example/a%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("/\u{1F600}", "https://a.example/%F0%9F%98%80"), ("/a\r\nb\u{0}", "https://a.example/a%0D%0Ab%00"),
        ("/50%", "https://a.example/50%25"), ("/%zz%41", "https://a.example/%25zz%41"),
        ("/a%2", "https://a.example/a%252"), ("/[x]%20", "https://a.example/%5Bx%5D%20"),
        ("/?a[]=1", "https://a.example/?a%5B%5D=1"), ("/x#a#b", "https://a.example/x#a%23b"),
        ("/x%20y#a#b", "https://a.example/x%20y#a%23b"), ("/?a[]=%20", "https://a.example/?a%5B%5D=%20"),
        ("/x%20 [::1]//[y]", "https://a.example/x%20%20%5B::1%5D//%5By%5D"), (" /x\t", "https://a.example/x"),
        ("https://b.example:8443/p?q#f", "https://b.example:8443/p?q#f"), ("http://[::1]:80/x", nil),
        ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443/x"), ("HTTPS://B.example/", "HTTPS://B.example/"),
        ("https://user:pw@b.example/x", "https://b.example/x"), ("//user@b.example/x", "https://b.example/x"),
        ("https://b.example", "https://b.example"), ("https://b.example?x", "https://b.example?x"),
        ("https://b.example/x/../y/./z", "https://b.example/y/z"), ("//b.example/../..", "https://b.example/"),
        ("https://b.example/..", "https://b.example/"), ("https://b.example/a/.", "https://b.example/a/"),
        ("https://b.example/a/..?q=/../r", "https://b.example/?q=/../r"),
        // The host as used for name resolution: it decides whether the URL is pinned and whether it is home.
        ("https://b\u{FC}cher.example/x", "https://xn--bcher-kva.example/x"),
        ("//b%C3%BCcher.example:8443/x", "https://xn--bcher-kva.example:8443/x"),
        ("https://%62.example/%62", "https://b.example/%62"),
    ])
    func rawBytesOfALocationAreEncodedAndUserInfoIsDropped(location: String, target: String?) throws {
        #expect(followed(try redirect(to: location))?.url?.absoluteString == target)
    }

    /// RFC 9110, section 10.2.2.
    @Test(arguments: [("/next", "/next#part"), ("/next#", "/next#"), ("/next#own", "/next#own")])
    func theFragmentIsInheritedUnlessTheLocationHasOne(location: String, target: String) throws {
        let response = try redirect(to: location, from: "https://a.example/x#part")
        #expect(followed(response)?.url?.absoluteString == "https://a.example" + target)
    }

    @Test
    func aRelativeReferenceDoesNotInheritUserInfo() throws {
        let response = try redirect(to: "/next", from: "https://user:pw@a.example/x")
        #expect(followed(response)?.url?.absoluteString == "https://a.example/next")
    }

    @Test(arguments: [
        nil, "", " ", "http://a.example/", "HTTP://b.example/", "ftp://a.example/", "file:///etc/passwd", "mailto:a@b",
        "javascript:alert(1)", "data:text/plain,x", "ws://a.example/", "wss://a.example/", "https:", "https:///x",
        "https://",
        "https:g", "https://:443/", "//", "https://a.example:port/", "https://a.example:65536/",
        "https://a.example:99999999999/", "https://a.example:99999999999999999999999/", "https://[::1/x",
    ])
    func anUnusableLocationReturnsTheRedirectResponse(location: String?) throws {
        #expect(policy.decision(for: try redirect(to: location), hop: 0, isBodyReplayable: true).isStop)
    }

    /// Hosts with percent escapes that Foundation decodes to illegal characters: setting such a host traps.
    @Test(arguments: [
        "http://[:]/", "http://[1::2::3]/",
        "http://[%2Fx:]/", "http://[%41:]/", "http://[v1.x]/%20", "https://%EF%BC%8500/", "https://\u{FF05}00/",
        "//a\u{FF05}2Fb.example/", "https://a%EF%BC%852Fb.example/", "https://\u{FE6A}40/", "https://\u{FF05}/",
    ])
    func aLocationWithAnInvalidHostIsNotFollowed(location: String) throws {
        let response = try redirect(to: location, from: "http://a.example/x")
        for policy in [policy, .refuse, .custom { _, request in request }] {
            #expect(policy.decision(for: response, hop: 0, isBodyReplayable: true).isStop, "\(location)")
        }
        if let url = URL(string: location) { #expect(url.withPlainHost == nil) }
    }

    @Test
    func aRedirectFromHTTPMayGoToHTTPAndHTTPS() throws {
        for (location, target) in [
            ("http://b.example/", "http://b.example/"), ("https://b.example/", "https://b.example/"),
        ] {
            let response = try redirect(to: location, from: "http://a.example/")
            #expect(followed(response)?.url?.absoluteString == target)
        }
    }

    @Test(
        arguments: [
            ([0x2F, 0xE9], "https://a.example/%E9"), ([0x2F, 0xC3, 0xA9], "https://a.example/%C3%A9"),
            ([0x2F, 0xE9, 0x20, 0xC3, 0xA9, 0x3F, 0xFF], "https://a.example/%E9%20%C3%A9?%FF"),
        ] as [([UInt8], String)])
    func theBytesOfALocationAreEncodedAsReceived(bytes: [UInt8], target: String) throws {
        var response = try redirect(to: nil)
        response.headers.append(bytes.withUnsafeBytes { HTTPHeaders.Field(name: "Location", octets: $0) })
        #expect(followed(response)?.url?.absoluteString == target)
    }

    @Test(arguments: ["http://%2e%2e/x", "//../x", "https://./", "//%2E:443/x"])
    func aHostOfDotsIsNotFollowed(location: String) throws {
        #expect(followed(try redirect(to: location)) == nil)
    }

    @Test
    func theFirstOfSeveralLocationsCounts() throws {
        var response = try redirect(to: "/one")
        response.headers.add(name: "location", value: "/two")
        #expect(followed(response)?.url?.path == "/one")
    }

    @Test
    func hostileLocationsNeverTrapOrLeaveHTTP() throws {
        var generator = SplitMix64(seed: 3986)
        for _ in 0..<5000 {
            let response = try redirect(to: generator.hostileText(maxLength: 10))
            guard let target = followed(response)?.url else { continue }
            #expect(Origin(target)?.scheme == "https")
            #expect(target.absoluteString.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(target.user == nil)
        }
    }

    // MARK: Modes

    @Test
    func theDefaultPolicyFollowsTenHops() throws {
        let response = try redirect(to: "/next")
        for hop in 0..<10 {
            #expect(followed(response, hop: hop) != nil)
        }
        #expect(policy.decision(for: response, hop: 10, isBodyReplayable: true).isTooMany)
    }

    @Test(arguments: [(0, 0), (1, 1), (25, 25), (-1, 0)])
    func theMaximumNumberOfHopsIsConfigurable(maximum: Int, allowed: Int) throws {
        let policy = RedirectPolicy.follow(maxHops: maximum)
        let response = try redirect(to: "/next")
        if allowed > 0 {
            #expect(policy.decision(for: response, hop: allowed - 1, isBodyReplayable: true).request != nil)
        }
        #expect(policy.decision(for: response, hop: allowed, isBodyReplayable: true).isTooMany)
    }

    @Test
    func theRefusePolicyFollowsNothing() throws {
        #expect(RedirectPolicy.refuse.decision(for: try redirect(to: "/x"), hop: 0, isBodyReplayable: true).isStop)
    }

    @Test
    func aCustomDecisionGetsTheProposedRequestAndHasTheLastWord() throws {
        let elsewhere = try url("https://c.example/")
        let policy = RedirectPolicy.custom { response, proposed in
            guard proposed.url?.path == "/next", proposed.httpMethod == "GET", response.statusCode == 303 else {
                return nil
            }
            var changed = proposed
            changed.url = elsewhere
            return changed
        }
        let agreed = try redirect(303, to: "/next", method: .post)
        #expect(policy.decision(for: agreed, hop: 0, isBodyReplayable: true).request?.url == elsewhere)
        #expect(policy.decision(for: agreed, hop: 10, isBodyReplayable: true).isTooMany)
        let refused = try redirect(302, to: "/next", method: .post)
        #expect(policy.decision(for: refused, hop: 0, isBodyReplayable: true).isStop)
    }

    @Test
    func aCustomDecisionIsNotAskedAboutAForbiddenRedirect() throws {
        let policy = RedirectPolicy.custom { _, proposed in
            Issue.record("asked about \(proposed.url?.absoluteString ?? "")")
            return proposed
        }
        #expect(policy.decision(for: try redirect(to: "http://a.example/"), hop: 0, isBodyReplayable: true).isStop)
        #expect(policy.decision(for: try redirect(200, to: "/x"), hop: 0, isBodyReplayable: true).isStop)
        #expect(policy.decision(for: try redirect(307, to: "/x"), hop: 0, isBodyReplayable: false).isStop)
    }

    @Test func theDescriptionNamesTheMode() {
        #expect("\(RedirectPolicy.follow(maxHops: 3))" == "follow(maxHops: 3)")
        #expect("\(RedirectPolicy.refuse)" == "refuse")
        #expect("\(RedirectPolicy.custom { _, _ in nil })" == "custom")
    }

    @Test(arguments: ["relative", "ftp://x/", "file:///etc/passwd", "mailto:a@b", "wss://x/", "http://a.example/x"])
    func aCustomDecisionCannotLeaveHTTP(text: String) throws {
        let target = try url(text)
        let policy = RedirectPolicy.custom { _, proposed in
            var changed = proposed
            changed.url = target
            return changed
        }
        #expect(policy.decision(for: try redirect(to: "/x"), hop: 0, isBodyReplayable: true).isStop)
    }
}

extension RedirectPolicy.Decision {
    fileprivate var request: URLRequest? {
        if case .follow(let request, _) = self { request } else { nil }
    }

    fileprivate var isStop: Bool {
        if case .stop = self { true } else { false }
    }

    fileprivate var isTooMany: Bool {
        if case .tooManyRedirects = self { true } else { false }
    }
}
