// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct HTTP2RequestTests {
    private static func request(
        _ text: String = "https://a.test/", _ method: String = "GET", _ fields: [String: String] = [:],
        body: TransportRequest.Body = .none, isFed: Bool = false
    ) throws -> HTTP2Request {
        let url = try #require(URL(string: text))
        var urlRequest = URLRequest(url: url)
        urlRequest.httpMethod = method
        urlRequest.allHTTPHeaderFields = fields
        let request = TransportRequest(urlRequest: urlRequest, body: body)
        let origin = try #require(Origin(url))
        let feed = isFed ? try BodyFeed(body, progress: nil) : nil
        return try HTTP2Request(request, url, origin, feed)
    }

    /// The fields as lines, those after the pseudo-fields in order of their names.
    private static func lines(of request: HTTP2Request) -> [String] {
        let lines = request.fields.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
        return lines.prefix(4) + lines.dropFirst(4).sorted()
    }

    /// The lines that a caller's fields add to a GET.
    private static func added(_ fields: [String: String], to url: String = "https://a.test/") throws -> [String] {
        let usual = "accept-encoding: " + ContentCoding.acceptEncoding(isSecure: true, hasRange: false)
        return try lines(of: request(url, "GET", fields)).dropFirst(4).filter { $0 != usual }
    }

    @Test(
        arguments: [
            ("https://a.test", "/", "a.test"), ("https://a.test:443/b%20c?d=e#f", "/b%20c?d=e", "a.test"),
            ("https://a.test:8443?x=/", "/?x=/", "a.test:8443"), ("https://[::1]:81/", "/", "[::1]:81"),
            ("HTTPS://A.test/../b", "/../b", "A.test"), ("https://a.test#f", "/", "a.test"),
            ("https://a.test:/", "/", "a.test"), ("https://[fe80::443]/", "/", "[fe80::443]"),
            ("https://a.test:80/", "/", "a.test:80"), ("https://user@a.test/x?y@z", "/x?y@z", "a.test"),
            ("https://%61.test/%61", "/%61", "a.test"), ("https://[fe80::1%25eth0]:81/", "/", "[fe80::1]:81"),
        ])
    func thePseudoFieldsNameTheTarget(url: String, path: String, authority: String) throws {
        let lines = Self.lines(of: try Self.request(url, "HEAD")).prefix(4)
        #expect(lines == [":method: HEAD", ":scheme: https", ":authority: \(authority)", ":path: \(path)"])
    }

    @Test func cleartextHasItsSchemeAndPort() throws {
        let lines = Self.lines(of: try Self.request("http://a.test:80/"))
        #expect(lines.contains(":scheme: http") && lines.contains(":authority: a.test"))
        #expect(lines.contains("accept-encoding: " + ContentCoding.acceptEncoding(isSecure: false, hasRange: false)))
    }

    @Test(
        arguments: [
            ["Connection": "keep-alive"], ["Keep-Alive": "timeout=5"], ["Proxy-Connection": "x"],
            ["Transfer-Encoding": "chunked"], ["Upgrade": "websocket"], ["HTTP2-Settings": "x"],
            ["proxy-authorization": "Basic eA=="], ["TE": "gzip"], ["Content-Length": "7"],
            ["Connection": "close, X-Hop", "x-hop": "1"], ["Accept-Encoding": ""],
        ])
    func fieldsOfOneConnectionAreNotSent(fields: [String: String]) throws {
        #expect(try Self.added(fields) == [])
    }

    @Test(
        arguments: [
            (["X-Mixed": "Value"], "x-mixed: Value"), (["TE": "trailers, deflate;q=0.5"], "te: trailers"),
            (["Cookie": "a=b; c=d"], "cookie: a=b; c=d"), (["X": " padded\t"], "x: padded"), (["X": ""], "x: "),
            (["Trailer": "X"], "trailer: X"), (["Expect": "100-continue"], "expect: 100-continue"),
        ] as [([String: String], String)])
    func theCallersFieldsAreSent(fields: [String: String], line: String) throws {
        #expect(try Self.added(fields) == [line])
    }

    @Test func theHostFieldIsTheAuthority() throws {
        let lines = Self.lines(of: try Self.request("https://a.test/", "GET", ["host": "b.test"]))
        #expect(lines.prefix(4).contains(":authority: b.test") && !lines.contains { $0.hasPrefix("host") })
    }

    @Test func octetsOfCookiesAreSentAsTheyAre() throws {
        let octets: [UInt8] = [UInt8(ascii: "a"), UInt8(ascii: "="), 0xE9]
        let request = try Self.request("https://a.test/", "GET", ["Cookie": OctetText.text(octets)])
        #expect(request.fields.first { $0.name == "cookie" }?.value == octets)
    }

    /// `user:pass` in Base64.
    @Test func userInformationBecomesCredentials() throws {
        #expect(try Self.added([:], to: "https://user:p%61ss@a.test/") == ["authorization: Basic dXNlcjpwYXNz"])
        #expect(try Self.added(["AUTHORIZATION": "x"], to: "https://user:pass@a.test/") == ["authorization: x"])
    }

    @Test func aRangeRequestAcceptsNoCoding() throws {
        let lines = Self.lines(of: try Self.request("https://a.test/", "GET", ["Range": "bytes=0-"]))
        #expect(lines.contains("accept-encoding: identity"))
        let asked = Self.lines(of: try Self.request("https://a.test/", "GET", ["Accept-Encoding": "br"]))
        #expect(asked.filter { $0.hasPrefix("accept-encoding") } == ["accept-encoding: br"])
    }

    @Test(
        arguments: [
            ("POST", .none, "0", 0), ("PATCH", .none, "0", 0), ("DELETE", .none, nil, 0),
            ("GET", .bytes(Data("ab".utf8)), "2", 2), ("PUT", .bytes(Data()), "0", 0),
        ] as [(String, TransportRequest.Body, String?, Int)])
    func theLengthIsThatOfTheBody(method: String, body: TransportRequest.Body, length: String?, count: Int) throws {
        let request = try Self.request("https://a.test/", method, ["content-length": "7"], body: body)
        let lines = Self.lines(of: request).filter { $0.hasPrefix("content-length") }
        #expect(lines == (length.map { ["content-length: \($0)"] } ?? []))
        #expect(request.body.count == count)
    }

    @Test(arguments: [nil, 9] as [Int64?])
    func aFedBodyIsNotInTheRequest(length: Int64?) throws {
        let stream = RequestBody.Stream(length: length) { ByteStream([]) }
        let request = try Self.request("https://a.test/", "POST", body: .stream(stream), isFed: true)
        #expect(request.body.isEmpty)
        #expect(Self.lines(of: request).contains("content-length: 9") == (length != nil))
    }

    @Test func whatCannotBeSentIsAnError() throws {
        let huge = String(repeating: "a", count: TransportRequest.maxHeadSize)
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "CONNECT") }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "G T") }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "GET", ["X": "a\r\nY: b"]) }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "GET", ["X Y": "a"]) }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "GET", ["Cookie": "a\nb"]) }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "GET", ["Host": "a\0"]) }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/", "GET", ["X": huge]) }
        #expect(throws: PulseError.self) { try Self.request("https://a.test/" + huge) }
        #expect(try Self.request("https://a.test/", "HEAD").isHead)
    }
}
#endif
