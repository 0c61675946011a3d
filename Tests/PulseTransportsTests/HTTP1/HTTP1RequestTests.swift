// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled, .timeLimit(.minutes(15)))
struct HTTP1RequestTests {
    private static func request(
        _ text: String, _ method: String = "GET", _ fields: [String: String] = [:], body: TransportRequest.Body = .none,
        delivery: TransportRequest.Delivery = .buffered(limit: 100), proxy: ProxySettings = .environment,
        hasNoProxyAround: Bool = true, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) throws -> HTTP1Request? {
        let url = try #require(URL(string: text))
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = method
        urlRequest.allHTTPHeaderFields = fields
        let request = TransportRequest(
            urlRequest: urlRequest, body: body, delivery: delivery, proxy: proxy, progress: progress)
        let origin = try #require(Origin(url))
        let feed = try request.feed(beyond: HTTP1Request.inlineLimit)
        return try HTTP1Request(request, url, origin, feed, hasNoProxyAround: hasNoProxyAround)
    }

    private static func bytes(
        _ text: String, _ method: String = "GET", _ fields: [String: String] = [:], body: TransportRequest.Body = .none,
        proxy: ProxySettings = .environment, hasNoProxyAround: Bool = true
    ) throws -> String? {
        try request(text, method, fields, body: body, proxy: proxy, hasNoProxyAround: hasNoProxyAround)
            .map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test(
        arguments: [
            ("http://a.test", "/", "a.test"), ("http://a.test:80/b%20c?d=e#f", "/b%20c?d=e", "a.test"),
            ("http://a.test:8080?x=/", "/?x=/", "a.test:8080"), ("http://[::1]:81/", "/", "[::1]:81"),
            ("HTTP://A.test/../b", "/../b", "A.test"), ("http://a.test#f", "/", "a.test"),
            ("http://a.test:/", "/", "a.test"), ("http://[fe80::80]/", "/", "[fe80::80]"),
            ("http://[::1]:80/", "/", "[::1]"), ("http://a.test:8080/", "/", "a.test:8080"),
        ])
    func aRequestHasItsTargetAndHost(url: String, target: String, host: String) throws {
        #expect(
            try Self.bytes(url) == "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
    }

    @Test(
        arguments: [
            ("POST", .none, "Content-Length: 0\r\n\r\n"), ("PATCH", .none, "Content-Length: 0\r\n\r\n"),
            ("DELETE", .none, "\r\n"), ("GET", .bytes(Data("ab".utf8)), "Content-Length: 2\r\n\r\nab"),
            ("PUT", .bytes(Data()), "Content-Length: 0\r\n\r\n"),
        ] as [(String, TransportRequest.Body, String)])
    func theRequestFramesItsBody(method: String, body: TransportRequest.Body, end: String) throws {
        let fields = ["content-length": "7", "Transfer-Encoding": "chunked", "Accept-Encoding": "identity"]
        let text = try Self.bytes("http://a.test/", method, fields, body: body)
        #expect(text == "\(method) / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: identity\r\n" + end)
    }

    @Test func aRangeRequestAcceptsNoCoding() throws {
        let text = try Self.bytes("http://a.test/", "GET", ["range": "bytes=0-"])
        #expect(text == "GET / HTTP/1.1\r\nHost: a.test\r\nrange: bytes=0-\r\nAccept-Encoding: identity\r\n\r\n")
        let asked = try Self.bytes("http://a.test/", "GET", ["Accept-Encoding": "br"])
        #expect(asked == "GET / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: br\r\n\r\n")
    }

    @Test func theHostFieldDoesNotChangeTheServer() throws {
        let request = try #require(try Self.request("http://a.test:81/b?c", "HEAD", ["Host": "b.test"]))
        #expect(request.server == "http://a.test:81/")
        #expect(request.traits.isHead)
        #expect(try Self.request("http://a.test/")?.traits.isHead == false)
    }

    @Test func theCallersFieldsAreSent() throws {
        let text = try Self.bytes("http://a.test/", "GET", ["host": "b.test", "Accept-Encoding": ""])
        #expect(text == "GET / HTTP/1.1\r\nhost: b.test\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
        #expect(try Self.bytes("http://a.test/", "GET", ["X": ""])?.contains("\r\nX: \r\n") == true)
        #expect(throws: PulseError.self) { try Self.bytes("http://a.test/", "GET", ["X": "a\r\nY: b"]) }
        #expect(throws: PulseError.self) { try Self.bytes("http://a.test/", "GET", ["X Y": "a"]) }
    }

    @Test(
        arguments: [
            "http://user@a.test/", "http://user:pass@a.test/", "http://%61.test/", "ws://a.test/",
            "http://[fe80::1%25eth0]/",
        ])
    func unusualURLsAreLeftToLibcurl(url: String) throws {
        #expect(try Self.bytes(url) == nil)
    }

    @Test(
        arguments: [
            ["Expect": "100-continue"], ["TE": "trailers"], ["upgrade": "x"], ["Connection": "close"],
            ["Trailer": "X"],
        ])
    func connectionFieldsAreLeftToLibcurl(fields: [String: String]) throws {
        #expect(try Self.bytes("http://a.test/", "GET", fields) == nil)
    }

    /// The fields of the framing are as everywhere.
    @Test(
        arguments: [
            ["Expect": "x"], ["TE": "trailers"], ["upgrade": "x"], ["Connection": "Upgrade"], ["Trailer": "X"],
            ["Content-Length": "7"], ["transfer-encoding": "chunked"],
        ])
    func theFieldsOfAnUpgradeAreSentAsGiven(fields: [String: String]) throws {
        let request = try #require(try Self.request("http://a.test/", "GET", fields, delivery: .upgrade))
        let isFraming = fields.keys.contains { $0.lowercased() == "content-length" || $0 == "transfer-encoding" }
        let line = isFraming ? "" : fields.map { "\($0.key): \($0.value)\r\n" }.joined()
        #expect(
            String(decoding: request.bytes, as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: a.test\r\n\(line)Accept-Encoding: gzip, deflate\r\n\r\n")
        #expect(request.traits.offersUpgrade == (fields.keys.first == "upgrade"))
    }

    /// The proxy of a tunnel has got its credentials with CONNECT.
    @Test(arguments: [TransportRequest.Delivery.buffered(limit: 100), .streamed, .upgrade])
    func theFieldsOfAProxyAreNotSentToAnOrigin(delivery: TransportRequest.Delivery) throws {
        let fields = ["proxy-authorization": "Basic hunter2", "Proxy-Connection": "keep-alive"]
        let request = try #require(try Self.request("http://a.test/", "GET", fields, delivery: delivery))
        #expect(
            String(decoding: request.bytes, as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
    }

    @Test func onlyAnUpgradeOffersAnother() throws {
        #expect(try Self.request("http://a.test/")?.traits.offersUpgrade == false)
        #expect(try Self.request("http://a.test/", delivery: .streamed)?.traits.offersUpgrade == false)
        #expect(try Self.request("https://a.test/", delivery: .upgrade) == nil)
    }

    @Test func aFedBodyComesBehindTheHead() throws {
        let url = "http://a.test/"
        let large = TransportRequest.Body.bytes(Data(count: 64 << 10 + 1))
        #expect(try Self.bytes(url, "PUT", body: large)?.hasSuffix("\r\nContent-Length: 65537\r\n\r\n") == true)
        let watched = try Self.request(url, "PUT", body: .bytes(Data("ab".utf8)), progress: { _ in })
        #expect(watched.map { String(decoding: $0.bytes, as: UTF8.self) }?.hasSuffix("Length: 2\r\n\r\n") == true)
        for length in [nil, 7] as [Int64?] {
            let stream = RequestBody.Stream(length: length) { ByteStream([]) }
            let text = try Self.bytes(url, "POST", ["Content-Length": "9"], body: .stream(stream))
            let line = length.map { "Content-Length: \($0)" } ?? "Transfer-Encoding: chunked"
            #expect(text == "POST / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip, deflate\r\n\(line)\r\n\r\n")
        }
        #expect(throws: TransportFailure.self) {
            try Self.bytes(url, "PUT", body: .file(URL(fileURLWithPath: "/nowhere/x")))
        }
    }

    @Test func proxiesAreLeftToLibcurl() throws {
        let url = "http://a.test/"
        #expect(try Self.bytes(url, proxy: .http(host: "p", port: 1)) == nil)
        #expect(try Self.bytes(url, hasNoProxyAround: false) == nil)
        #expect(try Self.bytes(url, proxy: .direct, hasNoProxyAround: false) != nil)
        #expect(try Self.bytes(url, "PUT", body: .bytes(Data(count: 64 << 10))) != nil)
        #expect(try Self.request(url, progress: { _ in }) != nil)
        #expect(try Self.bytes(url, "CONNECT") == nil)
    }
}
#endif
