// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct HTTP1RequestTests {
    private static func request(
        _ text: String, _ method: String = "GET", _ fields: [String: String] = [:], body: TransportRequest.Body = .none,
        delivery: TransportRequest.Delivery = .buffered(limit: 100), proxy: ConnectionRoute.Proxy? = nil,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) throws -> HTTP1Request {
        let url = try #require(URL(string: text))
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = method
        urlRequest.allHTTPHeaderFields = fields
        let request = TransportRequest(urlRequest: urlRequest, body: body, delivery: delivery, progress: progress)
        let origin = try #require(Origin(url))
        let feed = try request.feed(beyond: HTTP1Request.inlineLimit)
        return try HTTP1Request(request, url, origin, feed, proxy: proxy)
    }

    private static func bytes(
        _ text: String, _ method: String = "GET", _ fields: [String: String] = [:], body: TransportRequest.Body = .none,
        delivery: TransportRequest.Delivery = .buffered(limit: 100), proxy: ConnectionRoute.Proxy? = nil
    ) throws -> String {
        let request = try request(text, method, fields, body: body, delivery: delivery, proxy: proxy)
        return String(decoding: request.bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("http://a.test", "/", "a.test"), ("http://a.test:80/b%20c?d=e#f", "/b%20c?d=e", "a.test"),
            ("http://a.test:8080?x=/", "/?x=/", "a.test:8080"), ("http://[::1]:81/", "/", "[::1]:81"),
            ("HTTP://A.test/../b", "/../b", "A.test"), ("http://a.test#f", "/", "a.test"),
            ("http://a.test:/", "/", "a.test"), ("http://[fe80::80]/", "/", "[fe80::80]"),
            ("http://[::1]:80/", "/", "[::1]"), ("http://a.test:8080/", "/", "a.test:8080"),
            ("ws://a.test/b", "/b", "a.test"), ("http://%61.test:81/%61", "/%61", "a.test:81"),
            ("http://[fe80::1%25eth0]:8/?a", "/?a", "[fe80::1]:8"), ("http://a!b.test/", "/", "a!b.test"),
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
        let url = try #require(URL(string: "http://a.test:81/b?c"))
        #expect(RequestTarget(url, try #require(Origin(url))).server == "http://a.test:81/")
        #expect(try Self.bytes("\(url)", "GET", ["Host": "b.test"]).contains("\r\nHost: b.test\r\n"))
    }

    @Test func onlyTheResponseToHEADHasNoBody() throws {
        #expect(try Self.request("http://a.test/", "HEAD").traits.isHead)
        #expect(try !Self.request("http://a.test/").traits.isHead)
    }

    @Test func theCallersFieldsAreSent() throws {
        let text = try Self.bytes("http://a.test/", "GET", ["host": "b.test", "Accept-Encoding": ""])
        #expect(text == "GET / HTTP/1.1\r\nhost: b.test\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
        #expect(try Self.bytes("http://a.test/", "GET", ["X": ""]).contains("\r\nX: \r\n"))
        #expect(throws: PulseError.self) { try Self.bytes("http://a.test/", "GET", ["X": "a\r\nY: b"]) }
        #expect(throws: PulseError.self) { try Self.bytes("http://a.test/", "GET", ["X Y": "a"]) }
    }

    @Test(arguments: [("user:p%40ss", "user:p@ss"), ("user", "user:"), ("", nil)] as [(String, String?)])
    func userInformationBecomesCredentials(information: String, credentials: String?) throws {
        let field = credentials.map { "Authorization: Basic \(Data($0.utf8).base64EncodedString())\r\n" } ?? ""
        let url = "http://\(information)@a.test/"
        #expect(
            try Self.bytes(url)
                == "GET / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip, deflate\r\n\(field)\r\n")
        let own = try Self.bytes(url, "GET", ["authorization": "Own", "Accept-Encoding": "identity"])
        #expect(own.contains("authorization: Own\r\n") && !own.contains("Basic"))
    }

    /// A host of other letters comes in the form of IDNA, or is refused.
    @Test func aHostIsASCII() throws {
        let url = try #require(URL(string: "http://%C3%BC.test/"))
        let origin = try #require(Origin(url))
        #expect {
            try HTTP1Request(TransportRequest(urlRequest: URLRequest(url: url)), url, origin)
        } throws: {
            PulseError(wrapping: $0).kind == .invalidURL
        }
    }

    @Test(arguments: ["CONNECT", "A B"]) func aMethodThatCannotBeSentIsRefused(method: String) throws {
        #expect {
            try Self.request("http://a.test/", method)
        } throws: {
            PulseError(wrapping: $0).kind == .invalidRequest
        }
    }

    // MARK: Fields of the connection

    @Test(
        arguments: [
            (["Expect": "100-continue"], "Expect: 100-continue"), (["Trailer": "X"], "Trailer: X"),
            (["upgrade": "x"], "upgrade: x"), (["Connection": "close"], "Connection: close"),
            (["connection": "Keep-Alive, x"], "Connection: Keep-Alive, x"),
            (["TE": "trailers"], "TE: trailers\r\nConnection: TE"), (["Connection": ""], "Connection: "),
        ] as [([String: String], String)])
    func fieldsOfTheConnectionAreSentAsGiven(fields: [String: String], lines: String) throws {
        #expect(
            try Self.bytes("http://a.test/", "GET", fields)
                == "GET / HTTP/1.1\r\nHost: a.test\r\n\(lines)\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
    }

    @Test(
        arguments: [
            ("close", "close, TE"), ("", "TE"), ("te", "te"), ("x , TE", "x , TE"), ("x-te", "x-te, TE"),
        ])
    func theFieldTEIsAnOptionOfTheConnection(given: String, sent: String) throws {
        let text = try Self.bytes("http://a.test/", "GET", ["Connection": given, "TE": "trailers"])
        #expect(text.contains("\r\nConnection: \(sent)\r\n"))
        #expect(text.components(separatedBy: "Connection").count == 2)
    }

    @Test(
        arguments: [
            ("close", true), ("x, Close", true), ("keep-alive,close ,x", true), ("closed", false), ("x-close", false),
            ("keep-alive", false),
        ])
    func aRequestMayEndItsConnection(value: String, isClosing: Bool) throws {
        #expect(try Self.request("http://a.test/", "GET", ["Connection": value]).closesConnection == isClosing)
    }

    /// The fields of the framing are as everywhere.
    @Test(
        arguments: [
            ["Expect": "x"], ["TE": "trailers"], ["upgrade": "x"], ["Connection": "Upgrade"], ["Trailer": "X"],
            ["Content-Length": "7"], ["transfer-encoding": "chunked"],
        ])
    func theFieldsOfAnUpgradeAreSentAsGiven(fields: [String: String]) throws {
        let request = try Self.request("http://a.test/", "GET", fields, delivery: .upgrade)
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
        let request = try Self.request("http://a.test/", "GET", fields, delivery: delivery)
        #expect(
            String(decoding: request.bytes, as: UTF8.self)
                == "GET / HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip, deflate\r\n\r\n")
    }

    @Test func onlyAnUpgradeOffersAnother() throws {
        for delivery in [TransportRequest.Delivery.buffered(limit: 1), .streamed, .upgrade] {
            let request = try Self.request("https://a.test/", "GET", ["Upgrade": "x"], delivery: delivery)
            #expect(request.traits.offersUpgrade == (delivery == .upgrade))
        }
    }

    @Test func aFedBodyComesBehindTheHead() throws {
        let url = "http://a.test/"
        let large = TransportRequest.Body.bytes(Data(count: 64 << 10 + 1))
        #expect(try Self.bytes(url, "PUT", body: large).hasSuffix("\r\nContent-Length: 65537\r\n\r\n"))
        let watched = try Self.request(url, "PUT", body: .bytes(Data("ab".utf8)), progress: { _ in })
        #expect(String(decoding: watched.bytes, as: UTF8.self).hasSuffix("Length: 2\r\n\r\n"))
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

    // MARK: Proxies

    @Test(
        arguments: [
            ("http://a.test", "http://a.test/", "a.test"), ("http://a.test:80/b?c#d", "http://a.test/b?c", "a.test"),
            ("http://ada:x@%61.test:81?c", "http://a.test:81/?c", "a.test:81"),
            ("http://[fe80::1%25eth0]/", "http://[fe80::1]/", "[fe80::1]"),
        ])
    func aProxyGetsAbsoluteTargets(url: String, target: String, host: String) throws {
        let proxy = ConnectionRoute.Proxy(kind: .http, host: "p", port: 1)
        let text = try Self.bytes(url, proxy: proxy)
        #expect(text.hasPrefix("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n"))
        #expect(!text.contains("Proxy-Authorization"))
    }

    @Test func onlyAProxyGetsItsCredentials() throws {
        var proxy = ConnectionRoute.Proxy(kind: .http, host: "p", port: 1)
        let own = ["proxy-authorization": "Own"]
        let delivery = TransportRequest.Delivery.upgrade
        #expect(try !Self.bytes("http://a.test/", "GET", own).contains("Own"))
        #expect(try !Self.bytes("http://a.test/", "GET", own, delivery: delivery).contains("Own"))
        #expect(try Self.bytes("http://a.test/", "GET", own, proxy: proxy).contains("\r\nproxy-authorization: Own\r\n"))
        proxy.credentials = ConnectionRoute.Credentials(username: "ada", password: "a:b")
        let line = "\r\nProxy-Authorization: Basic \(Data("ada:a:b".utf8).base64EncodedString())\r\n"
        #expect(try Self.bytes("http://a.test/", proxy: proxy).contains(line))
        #expect(try !Self.bytes("http://a.test/", "GET", own, proxy: proxy).contains(line))
    }
}
#endif
