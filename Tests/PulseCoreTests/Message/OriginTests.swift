// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct OriginTests {
    @Test(arguments: [
        ("https://api.example.com/v1?q#f", "https", "api.example.com", 443, "https://api.example.com"),
        ("https://api.example.com:443", "https", "api.example.com", 443, "https://api.example.com"),
        ("HTTPS://API.Example.COM:8443/", "https", "api.example.com", 8443, "https://api.example.com:8443"),
        ("http://api.example.com", "http", "api.example.com", 80, "http://api.example.com"),
        ("http://api.example.com:443", "http", "api.example.com", 443, "http://api.example.com:443"),
        ("https://user:pw@api.example.com", "https", "api.example.com", 443, "https://api.example.com"),
        ("https://api.example.com./", "https", "api.example.com", 443, "https://api.example.com"),
        ("ws://h/s", "http", "h", 80, "http://h"), ("wss://h:9/s", "https", "h", 9, "https://h:9"),
        ("http://[2001:DB8::1]:8080/", "http", "2001:db8::1", 8080, "http://[2001:db8::1]:8080"),
        ("http://127.0.0.1:1", "http", "127.0.0.1", 1, "http://127.0.0.1:1"),
    ])
    func isSchemeHostAndPort(text: String, scheme: String, host: String, port: Int, description: String) throws {
        let origin = try #require(try Origin(url(text)))
        #expect(origin.scheme == scheme)
        #expect(origin.host == host)
        #expect(origin.port == port)
        #expect(origin.description == description)
    }

    @Test(arguments: [
        "ftp://h/", "file:///etc/passwd", "/relative", "relative", "mailto:a@b", "data:text/plain,x", "http:/h",
        "http:h",
        "javascript:alert(1)", "http://", "http:///path", "http://:80/", "http://./", "http://h:65536/",
        "https://h:99999999999/",
    ])
    func otherURLsHaveNone(text: String) throws {
        guard let url = URL(string: text) else { return }
        #expect(Origin(url) == nil)
    }

    @Test(arguments: [
        ("https://a.example", "http://a.example"), ("https://a.example", "https://b.example"),
        ("https://a.example", "https://a.example:444"), ("https://a.example", "https://a.example.evil.com"),
        ("https://a.example", "https://a.example@evil.com"), ("http://[::1]", "http://[::2]"),
    ])
    func anyOtherSchemeHostOrPortIsForeign(left: String, right: String) throws {
        #expect(try Origin(url(left)) != Origin(url(right)))
    }
}
