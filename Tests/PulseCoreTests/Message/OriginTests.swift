// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct OriginTests {
    @Test(arguments: [
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM:443/a?b#c", "https://example.com"),
        ("http://example.com:80", "http://example.com"),
        ("http://example.com:443", "http://example.com:443"),
        ("https://example.com:", "https://example.com"),
        ("https://example.com:08443/", "https://example.com:8443"),
        ("wss://example.com/socket", "https://example.com"),
        ("ws://example.com", "http://example.com"),
        ("https://user:p%40ss@example.com:8443", "https://example.com:8443"),
        ("https://example.com?x=@evil.com", "https://example.com"),
        ("https://example.com#@evil.com", "https://example.com"),
        ("https://ex%61mple.com", "https://example.com"),
        ("https://example.com./", "https://example.com."),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"),
        ("http://user@[::1]", "http://[::1]"),
        ("https://127.0.0.1:65535", "https://127.0.0.1:65535"),
        ("https://a_b.example", "https://a_b.example"),
    ])
    func anOriginIsSchemeHostAndPort(url: String, origin: String) throws {
        let url = try #require(URL(string: url))
        #expect(Origin(url)?.description == origin)
    }

    @Test(arguments: [
        "ftp://example.com", "file:///etc/hosts", "mailto:a@example.com", "/relative", "example.com",
        "https:/example.com",
        "https:///path", "https://@/", "https://:80/", "http:", "httpsx://example.com", "data:,https://example.com",
        "http://%2e%2e/x", "http://../x", "http://./x", "https://.:443/", "http://%2E", "https://u@...:1/",
        "https://ex%2Fample.com", "https://a%40b.com", "https://a%5C.b.com", "https://a%00.com",
    ])
    func aURLWithoutAnHTTPHostHasNoOrigin(text: String) {
        guard let url = URL(string: text) else { return }
        #expect(Origin(url) == nil)
    }

    @Test
    func similarHostsAreDifferentOrigins() throws {
        let home = try #require(URL(string: "https://example.com").flatMap(Origin.init))
        for text in [
            "http://example.com", "https://example.com:444", "https://example.com.evil.com",
            "https://evil.com/example.com",
            "https://example.com@evil.com", "https://evil.com#example.com", "https://xexample.com",
            "https://sub.example.com",
        ] {
            let url = try #require(URL(string: text))
            #expect(Origin(url) != home, "\(text)")
        }
    }

    @Test
    func aRelativeURLHasTheOriginOfItsBase() throws {
        let url = try #require(URL(string: "../x", relativeTo: URL(string: "https://example.com:8443/a/b")))
        let origin = try #require(Origin(url))
        #expect((origin.scheme, origin.host, origin.port) == ("https", "example.com", 8443))
    }

    @Test
    func theHostAgreesWithFoundation() {
        var random = SplitMix64(seed: 0x0816)
        for _ in 0..<3000 {
            guard let url = URL(string: "https://" + random.hostileText(maxLength: 12)) else { continue }
            guard let origin = Origin(url) else { continue }
            #expect(origin.host == url.host?.lowercased(), "\(url.absoluteString.debugDescription)")
        }
    }
}
