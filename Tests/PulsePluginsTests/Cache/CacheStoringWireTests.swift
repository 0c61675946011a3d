// SPDX-License-Identifier: MIT

import PulseCore
import PulseNetworking
import PulseStorage
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// RFC 9111, section 3, and removal from the cache (section 4.4). Over sockets, under a stopped clock.
@Suite(.tags(.threads), .throttled)
struct CacheStoringWireTests {
    @Test func noStoreInRequestOrResponsePreventsStoring() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", ["Cache-Control": "no-store, max-age=60"])
            stage.serve("/b", ["Cache-Control": "max-age=60"])
            try await stage.get("/a")
            #expect(try await stage.text("/a") == "body 2 network")
            try await stage.get("/b", ["Cache-Control": "no-store"])
            #expect(try await stage.text("/b") == "body 2 network")
        }
    }

    @Test(arguments: [200, 203, 300, 308, 404, 405, 410, 414, 501])
    func aHeuristicallyCacheableStatusIsStored(status: Int) async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", status: status, ["Last-Modified": stage.date(-10_000)])
            try await stage.get()
            #expect(try await stage.text() == "body 1 cache")
        }
    }

    @Test(arguments: [201, 302, 400, 403, 429, 500, 503])
    func anyOtherStatusIsStoredOnlyIfItIsExplicitlyFresh(status: Int) async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", status: status, ["Last-Modified": stage.date(-10_000)])
            stage.serve("/b", status: status, ["Cache-Control": "max-age=60"])
            for path in ["/a", "/b"] { try await stage.get(path) }
            #expect(try await stage.text("/a") == "body 2 network")
            #expect(try await stage.text("/b") == "body 1 cache")
        }
    }

    /// An account's entries outlive its tokens: a 401 to an old token would be served to a new one.
    @Test(arguments: [401, 407])
    func anAuthenticationChallengeIsNotStored(status: Int) async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", status: status, ["Cache-Control": "max-age=60"])
            try await stage.get("/a")
            #expect(try await stage.text("/a") == "body 2 network")
        }
    }

    @Test func mustUnderstandOverridesNoStoreForAnUnderstoodStatus() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", ["Cache-Control": "must-understand, no-store, max-age=60"])
            stage.serve("/b", status: 299, ["Cache-Control": "must-understand, max-age=60"])
            for path in ["/a", "/b"] { try await stage.get(path) }
            #expect(try await stage.text("/a") == "body 1 cache")
            #expect(try await stage.text("/b") == "body 2 network")
        }
    }

    @Test func anUnrequested206PassesUnstored() async throws {
        try await CacheStage.run { stage in
            stage.serve("/a", status: 206, ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-5/6"])
            try await stage.get()
            #expect(try await stage.text() == "body 2 network")
        }
    }

    /// The cache must not change the bytes (RFC 9110, section 8.4).
    @Test func anUnknownContentCodingIsStoredUnchanged() async throws {
        let client = ClientStage.client(.root, plugins: [.cache(policy: .rfc9111)], retry: .default) { request in
            PulseResponse(
                statusCode: 200, headers: ["Cache-Control": "max-age=60", "Content-Encoding": "aws-chunked"],
                data: Data("5;sig\r\n".utf8), request: request)
        }
        for origin in [PulseResponse.Origin.mock, .cache] {
            let response = try await client.rawRequest(Request<EmptyResponse>(.get, "/a"))
            #expect(response.origin == origin && response.data == Data("5;sig\r\n".utf8))
            #expect(response.headers["Content-Encoding"] == "aws-chunked")
        }
        await client.shutdown()
    }

    @Test func anIncompleteBodyIsNotStored() async throws {
        try await CacheStage.run { stage in
            stage.server.on(
                .get, "/a",
                script: [
                    .text("a whole body", headers: ["Cache-Control": "max-age=60"]).truncated(after: 5),
                    .text("again", headers: ["Cache-Control": "max-age=60"]),
                ])
            await #expect(throws: PulseError.self) { try await stage.get() }
            let again = try await stage.text()
            #expect(again == "again network")
        }
    }

    @Test func hopByHopAndConnectionListedFieldsAreNotStored() async throws {
        try await CacheStage.run { stage in
            stage.serve([
                "Cache-Control": "max-age=60", "Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5",
                "X-Own": "1",
            ])
            try await stage.get()
            let hit = try await stage.get()
            #expect(hit.origin == .cache)
            for name in ["Connection", "X-Hop", "Keep-Alive"] { #expect(!hit.headers.contains(name)) }
            #expect(hit.headers["X-Own"] == "1")
        }
    }

    @Test func aResponseWithoutADateIsDatedByItsArrival() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { _ in .text("a", headers: ["Cache-Control": "max-age=60"]) }
            try await stage.get()
            await stage.pass(59)
            let hit = try await stage.get()
            #expect(hit.origin == .cache && hit.headers["Date"] == stage.date(-59))
        }
    }

    // MARK: Key and Vary

    @Test func headIsServedFromAStoredGETResponse() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "X-Own": "1"])
            try await stage.get()
            let head = try await stage.get(method: .head)
            #expect(head.origin == .cache && head.data.isEmpty && head.headers["X-Own"] == "1")
            #expect(stage.sent == 1)
        }
    }

    @Test func aDifferingHeadResponseInvalidatesTheStoredResponse() async throws {
        try await CacheStage.run { stage in
            let tag = Locked("\"1\"")
            let respond: @Sendable (RecordedRequest) async throws -> MockServer.Response = { _ in
                .text(
                    "body", headers: ["Cache-Control": "max-age=60", "ETag": tag.withLock { $0 }, "Date": stage.date()])
            }
            stage.server.on(.get, "/a", respond)
            try await stage.get()
            await stage.pass(100)
            // The same version: fresh again.
            try await stage.get(method: .head)
            #expect(try await stage.text() == "body cache")
            await stage.pass(100)
            tag.withLock { $0 = "\"2\"" }
            try await stage.get(method: .head)
            #expect(try await stage.text() == "body network")
        }
    }

    /// RFC 9111, section 4.3.5: stale, not removed.
    @Test(
        arguments: [
            ["ETag": "\"2\""], ["Last-Modified": "Mon, 01 Dec 2025 00:00:00 GMT"], ["Content-Length": "5"],
        ] as [HTTPHeaders], ["max-age=60", "max-age=99999999999, stale-while-revalidate=60", ""])
    func aDifferingHeadResponseMakesTheStoredResponseStale(differing: HTTPHeaders, control: String) async throws {
        try await CacheStage.run { stage in
            let headers: HTTPHeaders = [
                "ETag": "\"1\"", "Last-Modified": "Sun, 01 Dec 2024 00:00:00 GMT",
                "Cache-Control": control, "Expires": "Fri, 31 Dec 9999 23:59:59 GMT",
            ]
            stage.serve(headers)
            stage.server.on(.head, "/a") { _ in
                var headers = headers
                for field in differing { headers[field.name] = field.value }
                return .status(200, headers: headers)
            }
            try await stage.get()
            await stage.pass(10)
            #expect(try await stage.text() == "body 1 cache")
            try await stage.get(cache: .reload, method: .head)
            #expect(await stage.cache.statistics.entries == 1)
            // A second one changes nothing: the response is stale already.
            let stores = await stage.cache.statistics.stores
            let age = try await stage.get(cache: .cacheElseNetwork).headers["Age"]
            try await stage.get(cache: .reload, method: .head)
            #expect(await stage.cache.statistics.stores == stores)
            #expect(try await stage.get(cache: .cacheElseNetwork).headers["Age"] == age)
            #expect(try await stage.text(cache: .cacheElseNetwork) == "body 1 stale")
            // RFC 5861 lets a response be served for a while after it has become stale.
            let isServed = control.contains("stale-while-revalidate")
            #expect(try await stage.text() == (isServed ? "body 1 stale" : "body 1 revalidated"))
            try await stage.untilStored(3)
            // The server has confirmed it, so it is fresh again.
            #expect(try await stage.text() == "body 1 cache")
        }
    }

    @Test func equivalentURLsHaveTheSameKey() {
        let spellings = [
            "http://example.com/", "HTTP://EXAMPLE.com", "http://example.com:80/#a", "http://example.com:/",
        ]
        #expect(Set(spellings.map { CacheURL.normalized($0) }) == ["http://example.com/"])
        #expect(CacheURL.normalized("https://a.b:443/%7euser/%2f%zz?q=%41#f") == "https://a.b/~user/%2F%zz?q=A")
        #expect(CacheURL.normalized("http://a.b:8080?q") == "http://a.b:8080/?q")
        #expect(CacheURL.normalized("http://U:P@[::1]:80/A") == "http://U:P@[::1]/A")
        #expect(CacheURL.normalized("http://a.b/a/") != CacheURL.normalized("http://a.b/a"))
    }

    @Test func aQueryRequestIsKeyedByItsBody() async throws {
        try await CacheStage.run { stage in
            let count = Locked(0)
            stage.server.on(HTTPMethod.query, "/search") { request in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return .text(
                    "\(number) \(request.text)", headers: ["Cache-Control": "max-age=60", "Date": stage.date()])
            }
            func search(_ text: String) async throws -> String {
                let endpoint = Request<String>(.query, "/search").body(.text(text))
                return try await stage.client.request(endpoint)
            }
            let texts = try await [search("a"), search("b"), search("a")]
            #expect(texts == ["1 a", "2 b", "1 a"])
        }
    }

    @Test func aGETWithABodyBypassesTheCache() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get()
            let endpoint = Request<String>(.get, "/a").body(.text("x"))
            let text = try await stage.client.request(endpoint)
            #expect(text == "body 2")
        }
    }

    @Test func variantsAreSeparatedByTheStoredVary() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "Accept-Language, X-Absent"])
            for language in ["en", "fr"] { try await stage.get("/a", ["Accept-Language": language]) }
            #expect(try await stage.text("/a", ["Accept-Language": "en"]) == "body 1 cache")
            #expect(try await stage.text("/a", ["accept-language": "fr"]) == "body 2 cache")
            #expect(try await stage.text("/a") == "body 3 network")
            // An absent field matches only an absent field.
            #expect(try await stage.text("/a") == "body 3 cache")
            #expect(try await stage.text("/a", ["Accept-Language": "en", "X-Absent": ""]) == "body 4 network")
        }
    }

    @Test func selectingValuesAreComparedCombinedAndTrimmed() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
            try await stage.get("/a", ["Accept-Language": "en, fr"])
            #expect(try await stage.text("/a", ["Accept-Language": "en,fr "]) == "body 1 cache")
        }
    }

    @Test func equivalentPreferencesAreOneVariant() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "Accept-Language, Accept-Encoding"])
            try await stage.get("/a", ["Accept-Language": "en, de;q=0.50", "Accept-Encoding": "gzip, br"])
            let same = ["Accept-Language": "DE;q=0.5,EN;q=1", "Accept-Encoding": "br , GZIP"]
            #expect(try await stage.text("/a", same) == "body 1 cache")
            let other = ["Accept-Language": "de, en;q=0.5", "Accept-Encoding": "gzip, br"]
            #expect(try await stage.text("/a", other) == "body 2 network")
        }
    }

    /// White space in quotes may have a meaning.
    @Test func quotedSelectingValuesAreComparedVerbatim() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "X-Filter"])
            try await stage.get("/a", ["X-Filter": "\"a, b\" , c"])
            #expect(try await stage.text("/a", ["X-Filter": "\"a,b\",c"]) == "body 2 network")
            #expect(try await stage.text("/a", ["X-Filter": "\"a, b\",c"]) == "body 1 cache")
        }
    }

    /// As from a server that omits the field in its default response, which came later.
    @Test func aMatchingVariantIsPreferredToAResponseWithoutVary() async throws {
        try await CacheStage.run { stage in
            stage.server.on(.get, "/a") { request in
                var headers: HTTPHeaders = ["Cache-Control": "max-age=60", "Date": stage.date()]
                let language = request.headers["Accept-Language"]
                if language != nil { headers["Vary"] = "Accept-Language" }
                return .text(language ?? "default", headers: headers)
            }
            try await stage.get("/a", ["Accept-Language": "fr"])
            await stage.pass(10)
            try await stage.get("/a")
            #expect(try await stage.text("/a", ["Accept-Language": "fr"]) == "fr cache")
            #expect(try await stage.text("/a", ["Accept-Language": "en"]) == "default cache")
        }
    }

    @Test func varyOnEverythingNeverMatches() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60", "Vary": "*"])
            try await stage.get()
            #expect(try await stage.text() == "body 2 network")
        }
    }

    @Test func aHeaderNotNamedByVaryDoesNotPreventAHit() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get("/a", ["traceparent": "00-1"])
            #expect(try await stage.text("/a", ["traceparent": "00-2"]) == "body 1 cache")
        }
    }

    @Test func aHitHasTheRequestOfItsOwnCall() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            try await stage.get("/a", ["X-Call": "1"])
            let hit = try await stage.get("/a", ["X-Call": "2"])
            #expect(hit.origin == .cache)
            #expect(hit.request.value(forHTTPHeaderField: "X-Call") == "2")
        }
    }

    // MARK: Invalidation

    @Test(arguments: [HTTPMethod.post, .put, .delete, .patch, HTTPMethod(rawValue: "ARCHIVE")!])
    func anUnsafeMethodThatSucceedsInvalidatesTheTarget(method: HTTPMethod) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(method, "/a") { _ in .status(204) }
            try await stage.get()
            try await stage.get(method: method)
            #expect(try await stage.text() == "body 2 network")
            #expect(stage.events.contains("cacheInvalidated"))
        }
    }

    /// An application's sink may print events.
    @Test func anInvalidationEventHidesTheSecretsOfItsURL() async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(.post, "/a") { _ in .status(204) }
            try await stage.get("/a?token=hunter2")
            try await stage.get("/a?token=hunter2", method: .post)
            try await stage.get("/a?token=hunter2")
            let base = stage.server.baseURL
            try await stage.cache.invalidate(url: #require(URL(string: "\(base)/a?token=hunter2#hunter3")))
            try await stage.get("/a?token=hunter2")
            try await stage.cache.invalidate(prefix: #require(URL(string: "\(base)/a?token=hunt")))
            #expect(stage.events.count { $0 == "cacheInvalidated" } == 3)
            #expect(stage.raw.contains("\(base)/a"))
            #expect(!stage.raw.contains("hunt"))
        }
        let userInfo = try #require(URL(string: "https://ada:hunter2@example.com:8443/a%20b?c=d#e"))
        #expect(CacheURL.redacted(userInfo).absoluteString == "https://example.com:8443/a%20b")
        let parameter = try #require(URL(string: "https://example.com/a%20b;jsessionid=hunter2?c=d"))
        #expect(CacheURL.redacted(parameter).absoluteString == "https://example.com/a%20b;jsessionid=\(Redaction.mask)")
    }

    @Test(arguments: [
        (201, "body 2 network"), (302, "body 2 network"), (303, "body 2 network"), (400, "body 1 cache"),
        (404, "body 1 cache"), (500, "body 1 cache"),
    ])
    func anUnsafeMethodInvalidatesUnlessItFails(status: Int, text: String) async throws {
        try await CacheStage.run { stage in
            stage.serve(["Cache-Control": "max-age=60"])
            stage.server.on(.post, "/a") { _ in .status(status) }
            try await stage.get()
            try await stage.get(method: .post)
            #expect(try await stage.text() == text)
        }
    }

    @Test func locationAndContentLocationOfTheSameOriginAreInvalidated() async throws {
        try await CacheStage.run { stage in
            for path in ["/b", "/c", "/d"] { stage.serve(path, ["Cache-Control": "max-age=60"]) }
            stage.server.on(.post, "/a") { _ in
                .status(201, headers: ["Location": "/b", "Content-Location": "\(stage.server.baseURL)/c"])
            }
            for path in ["/b", "/c", "/d"] { try await stage.get(path) }
            try await stage.get(method: .post)
            #expect(try await stage.text("/b") == "body 2 network")
            #expect(try await stage.text("/c") == "body 2 network")
            #expect(try await stage.text("/d") == "body 1 cache")
        }
    }

    @Test func aLocationAtAnotherOriginInvalidatesNothing() throws {
        let url = try #require(URL(string: "https://a.example/x"))
        let headers: HTTPHeaders = ["Location": "https://b.example/y", "Content-Location": "http://a.example/z"]
        #expect(CachePolicy.invalidated(byStatus: 201, headers, to: .post, url) == [url])
        #expect(CachePolicy.invalidated(byStatus: 200, headers, to: .get, url).isEmpty)
    }

    /// The references are resolved as those of redirects are.
    @Test(arguments: [
        ("/x/../b", "https://a.example/b"), ("b", "https://a.example/x/b"), ("?q", "https://a.example/x/y?q"),
        ("https://a.example/x/./../b", "https://a.example/b"), ("//A.example:443/b", "https://a.example/b"),
        ("/b c%20d", "https://a.example/b%20c%20d"), ("/\u{fc}", "https://a.example/%C3%BC"),
        ("https://other@a.example/b", "https://a.example/b"), (" /b#part ", "https://a.example/b"),
        ("https://a.example:8443/b", nil), ("http://a.example/b", nil), ("//a.example.evil/b", nil),
        ("ftp://a.example/b", nil), ("https://a.example@b.example/b", nil), (" ", nil),
    ])
    func aLocationIsAReferenceToTheRequestsOrigin(reference: String, named: String?) throws {
        let url = try #require(URL(string: "https://a.example/x/y?z"))
        for name in ["Location", "Content-Location"] {
            let urls = CachePolicy.invalidated(byStatus: 201, [name: reference], to: .post, url)
            #expect(urls.first == url)
            #expect(urls.dropFirst().map { CacheURL.normalized($0) } == [named].compactMap { $0 })
        }
    }

    /// Requests with user info in their URLs have entries of their own.
    @Test func aLocationHasTheUserInfoOfTheRequest() throws {
        let url = try #require(URL(string: "https://me:secret@a.example/x"))
        let urls = CachePolicy.invalidated(byStatus: 201, ["Location": "/b"], to: .post, url)
        #expect(urls.map(\.absoluteString) == [url.absoluteString, "https://me:secret@a.example/b"])
    }

    @Test func invalidationWorksByURLPrefixTagAndForAll() async throws {
        try await CacheStage.run { stage in
            let url = stage.server.baseURL
            for path in ["/a", "/a/b", "/c"] { stage.serve(path, ["Cache-Control": "max-age=60"]) }
            func fill() async throws {
                for path in ["/a", "/a/b", "/c"] { try await stage.get(path, tag: path == "/c" ? "feed" : nil) }
            }
            func cached() async -> [String] {
                var paths: [String] = []
                for path in ["/a", "/a/b", "/c"] {
                    if (try? await stage.get(path, cache: .onlyIfCached)) != nil { paths.append(path) }
                }
                return paths
            }
            try await fill()
            await stage.cache.invalidate(url: url.appendingPathComponent("a"))
            #expect(await cached() == ["/a/b", "/c"])
            try await fill()
            await stage.cache.invalidate(prefix: url.appendingPathComponent("a"))
            #expect(await cached() == ["/c"])
            try await fill()
            await stage.cache.invalidate(tag: "feed")
            #expect(await cached() == ["/a", "/a/b"])
            try await fill()
            #expect(await cached().count == 3)
            await stage.cache.clearAll()
            #expect(await cached().isEmpty)
            #expect(await stage.cache.statistics.entries == 0)
        }
    }

    @Test func aResponseRequestedBeforeAnInvalidationIsNotStored() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { _ in
                await gate.pass()
                return .text("before", headers: ["Cache-Control": "max-age=60"])
            }
            let call = Task { try await stage.get() }
            try await stage.server.requests(atLeast: 1)
            await stage.cache.clearAll()
            gate.open()
            #expect(try await call.value.data == Data("before".utf8))
            #expect(await stage.cache.statistics.entries == 0)
            #expect(stage.cache.cache.flights.runCount == 0)
        }
    }

    @Test(arguments: [false, true])
    func aLateResponseDoesNotReplaceAResponseToALaterRequest(isStreamed: Bool) async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { request in
                let isReload = request.headers["Cache-Control"] == "no-cache"
                if !isReload { await gate.pass() }
                return .text(isReload ? "new" : "old", headers: ["Cache-Control": "max-age=60"])
            }
            let call = Task { () -> Void in
                if isStreamed { _ = try await stage.stream("/a") } else { _ = try await stage.get() }
            }
            try await stage.server.requests(atLeast: 1)
            await stage.clock.advance(by: 1)
            #expect(try await stage.text(cache: .reload) == "new network")
            gate.open()
            try await call.value
            #expect(try await stage.text() == "new cache")
        }
    }

    @Test func aLaterResponseForAnotherVariantDoesNotPreventStoring() async throws {
        try await CacheStage.run { stage in
            let gate = Gate()
            stage.server.on(.get, "/a") { request in
                let language = request.headers["Accept-Language"] ?? ""
                if language == "en" { await gate.pass() }
                return .text(language, headers: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"])
            }
            let call = Task { try await stage.get("/a", ["Accept-Language": "en"]) }
            try await stage.server.requests(atLeast: 1)
            await stage.clock.advance(by: 1)
            #expect(try await stage.text("/a", ["Accept-Language": "de"], cache: .reload) == "de network")
            gate.open()
            _ = try await call.value
            for language in ["en", "de"] {
                #expect(try await stage.text("/a", ["Accept-Language": language]) == "\(language) cache")
            }
        }
    }

    @Test func anUnstorableNewResponseRemovesTheStoredOne() async throws {
        try await CacheStage.run { stage in
            stage.server.on(
                .get, "/a",
                script: [
                    .text("old", headers: ["Cache-Control": "max-age=60, stale-if-error=9999"]),
                    .text("new", headers: ["Cache-Control": "no-store"]), .status(503),
                ])
            try await stage.get()
            await stage.pass(61)
            #expect(try await stage.text() == "new network")
            #expect(try await stage.get().statusCode == 503)
        }
    }
}
