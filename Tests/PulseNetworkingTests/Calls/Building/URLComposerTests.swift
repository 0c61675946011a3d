// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct URLComposerTests {
    private func compose(
        _ base: String?, _ path: String, _ query: [URLQueryItem] = []
    ) throws -> String {
        try URLComposer(baseURL: base.flatMap { URL(string: $0) }).url(path: path, query: query).absoluteString
    }

    @Test(arguments: [
        ("https://h.test", "/a", "https://h.test/a"),
        ("https://h.test/", "/a", "https://h.test/a"),
        ("https://h.test", "a", "https://h.test/a"),
        ("https://h.test/v1", "a/b/", "https://h.test/v1/a/b/"),
        ("https://h.test/v1/", "/a", "https://h.test/v1/a"),
        ("https://h.test/v1/", "//a", "https://h.test/v1/a"),
        ("https://h.test/v1", "/a//b", "https://h.test/v1/a//b"),
        ("https://h.test/v1", "", "https://h.test/v1"),
        ("https://h.test/v1/", "", "https://h.test/v1/"),
        ("https://h.test/v1", "/", "https://h.test/v1/"),
        ("https://h.test", "", "https://h.test"),
        ("https://h.test:8443/v1", "/a", "https://h.test:8443/v1/a"),
        ("HTTPS://h.test", "/a", "https://h.test/a"),
        ("http://[::1]:8080", "/a", "http://[::1]:8080/a"),
        ("https://u:p@h.test", "/a", "https://u:p@h.test/a"),
    ])
    func baseAndPathAreJoinedByOneSlashAndATrailingSlashIsKept(base: String, path: String, url: String) throws {
        #expect(try compose(base, path) == url)
    }

    @Test(arguments: [
        ("/a%20b/%2f", "/a%20b/%2f"),
        ("/a b", "/a%20b"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
        ("/caf\u{E9}/\u{1F600}", "/caf%C3%A9/%F0%9F%98%80"),
        ("/a\r\nHost: x\u{0}", "/a%0D%0AHost:%20x%00"),
        ("/a\\b|c[d]\"<>^`{}", "/a%5Cb%7Cc%5Bd%5D%22%3C%3E%5E%60%7B%7D"),
        ("/users:batchGet", "/users:batchGet"),
        ("mailto:a@b", "/mailto:a@b"),
        ("https:/h2.test", "/https:/h2.test"),
        (" https://h2.test", "/%20https://h2.test"),
        ("/redirect/https://h2.test", "/redirect/https://h2.test"),
        ("//h2.test/x", "/h2.test/x"),
        ("\\\\h2.test", "/%5C%5Ch2.test"),
        ("@h2.test", "/@h2.test"),
        (".test/x", "/.test/x"),
        ("/a/...", "/a/..."),
        ("/.well-known/x", "/.well-known/x"),
        ("/a;v=1,2/b=c&d", "/a;v=1,2/b=c&d"),
    ])
    func aPathIsPercentEncodedAndCannotChangeTheHost(path: String, encoded: String) throws {
        let text = try compose("https://h.test/v1", path)
        #expect(text == "https://h.test/v1" + encoded)
        #expect(URL(string: text)?.host == "h.test")
    }

    @Test
    func queriesAreOrderedByBaseThenPathThenItems() throws {
        let items = [
            URLQueryItem(name: "c", value: "x y+z&"), URLQueryItem(name: "flag", value: nil),
            URLQueryItem(name: "c", value: "2"), URLQueryItem(name: "\u{E9}=", value: ""),
        ]
        let tail = "c=x%20y%2Bz%26&flag&c=2&%C3%A9%3D="
        #expect(try compose("https://h.test/v1?key=1", "/a?b=2", items) == "https://h.test/v1/a?key=1&b=2&\(tail)")
        #expect(try compose("https://h.test/v1", "/a", items) == "https://h.test/v1/a?\(tail)")
        #expect(try compose("https://h.test/v1?key=1", "/a", []) == "https://h.test/v1/a?key=1")
        #expect(try compose("https://h.test/v1?key=1", "?b=2") == "https://h.test/v1?key=1&b=2")
        #expect(try compose("https://h.test", "?b=2") == "https://h.test?b=2")
    }

    @Test(arguments: [
        ("https://h.test", "/a?", "https://h.test/a?"), ("https://h.test/v1?", "/a", "https://h.test/v1/a?"),
        ("https://h.test/v1?", "/a?", "https://h.test/v1/a?"),
        ("https://h.test/v1?k=1", "/a?", "https://h.test/v1/a?k=1"),
        ("https://h.test?", "?b=2", "https://h.test?b=2"), ("https://h.test", "https://o.test/a?", "https://o.test/a?"),
    ])
    func anEmptyQueryIsKept(base: String, path: String, url: String) throws {
        #expect(try compose(base, path) == url)
        let separator = url.hasSuffix("?") ? "" : "&"
        #expect(try compose(base, path, [URLQueryItem(name: "z", value: "1")]) == url + separator + "z=1")
    }

    @Test(arguments: [
        ("b=x+y%20z&c=/?:@", "b=x+y%20z&c=/?:@"),
        ("page=2&q=a b", "page=2&q=a%20b"),
        ("f[a]=\"\u{E9}\"&p=50%", "f%5Ba%5D=%22%C3%A9%22&p=50%25"),
        ("x=\r\n\u{0}", "x=%0D%0A%00"),
        ("up=../..&dot=.", "up=../..&dot=."),
    ])
    func theQueryOfAPathIsKeptExceptForIllegalCharacters(query: String, encoded: String) throws {
        #expect(try compose("https://h.test", "/a?\(query)") == "https://h.test/a?\(encoded)")
    }

    @Test(arguments: [
        ("https://other.test/x y?a=b", "https://other.test/x%20y?a=b"),
        ("HTTP://other.test", "http://other.test"),
        ("https://other.test?a=1", "https://other.test?a=1"),
        ("https://b\u{FC}cher.test/a", "https://xn--bcher-kva.test/a"),
        ("https://b%C3%BCcher.test/a", "https://xn--bcher-kva.test/a"),
        ("https://ex%61mple.test/", "https://example.test/"),
        ("https://other.test:/x", "https://other.test/x"),
        ("http://[fe80::1%25eth0]:80/", "http://[fe80::1%25eth0]:80/"),
        ("https://under_score.test/", "https://under_score.test/"),
    ])
    func anAbsoluteURLAsPathReplacesTheBase(path: String, url: String) throws {
        #expect(try compose("https://h.test/v1?key=1", path) == url)
        #expect(try compose(nil, path) == url)
        #expect(try compose("ftp://unusable.test", path) == url)
        let separator = url.contains("?") ? "&" : "?"
        #expect(try compose(nil, path, [URLQueryItem(name: "z", value: "1")]) == url + separator + "z=1")
    }

    @Test(arguments: [
        ("\u{FF05}\u{FF14}\u{FF11}.com", nil), ("%EF%BC%85%EF%BC%94%EF%BC%91.com", nil), ("\u{FF05}2Fa.com", nil),
        ("\u{FF21}b\u{FF0E}com", "ab.com"), ("\u{FF11}\u{FF12}\u{FF17}.\u{FF11}", "127.1"), ("a\u{3002}b", "a.b"),
        ("b%C3%BCcher.test", "xn--bcher-kva.test"), ("a\u{AD}b.test", "ab.test"), ("%FF.test", nil),
        ("xn--\u{FF41}.test", nil), ("a\u{FF20}b.test", nil), ("[:]", nil), ("[1:]", nil), ("[::1]", "[::1]"),
        ("[::1.2.3.4]:80", "[::1.2.3.4]:80"), ("[1:2:3:4:5:6:7:8:9]", nil),
    ])
    func aHostIsJudgedInALocationAsInACall(host: String, plain: String?) throws {
        let text = "http://\(host)/x"
        let base = try #require(URL(string: "http://h.test/"))
        #expect((try? compose(nil, text)) == plain.map { "http://\($0)/x" })
        #expect(URLReference(text.utf8)?.parts(against: base)?.url?.absoluteString == plain.map { "http://\($0)/x" })
    }

    @Test
    func anInternationalBaseIsUsable() throws {
        #expect(try compose("https://b\u{FC}cher.test/v1", "/a") == "https://xn--bcher-kva.test/v1/a")
    }

    @Test(arguments: [
        "/a#f", "#", "/a?b#c", "https://o.test/#f", "/../a", "/a/..", "/a/.", "./a", "..", "/%2e%2E/a", "/a/.%2e/b",
        "/%/../a", "https://o.test/a/../b", "/..?a=1",
        "ftp://o.test/a", "file:///etc/passwd", "ws://o.test", "javascript://o.test", "x-y+z.1://o.test",
        "https://", "https:///a", "https://?a", "https://:80/a", "https://u@/a", "https://a@b@c/", "https://u p@c/",
        "https://a b/", "https://a\\b/", "https://a\u{0}b/", "https://a\r\nb/", "https://a<b/", "https://h%2ftest/",
        "https://h%00/", "https://h%zz/", "https://h:8a/", "https://h:65536/", "https://h:-1/", "https://a:b:c/",
        "https://[::1/", "https://[zz]/", "https://[::1]x/", "https://[::1]:x/", "https://a\u{FF0F}b.test/",
        "https://\u{202E}x/", "https://[]/", "https://]/", "https://\u{FF05}00/", "https://a\u{FF05}2Fb.test/",
        "https://\u{FF05}2F/", "http://%2e%2e/x", "http://../x", "http://./", "https://...:80/", "https://%2E/",
        "https://\u{3002}\u{3002}/",
    ])
    func anUnsafePathIsAnInvalidURL(path: String) {
        for base in ["https://h.test/v1", nil] {
            let error = #expect(throws: PulseError.self) { try compose(base, path) }
            guard case .invalidURL = error else {
                Issue.record("not an invalid URL: \(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: [
        nil, "ftp://h.test", "h.test/v1", "https:///v1", "https://h.test/#f", "https://h.test/a/../b", "file:///tmp",
        "mailto:a@b", "https://h:99999", "http://%2e%2e", "http://..", "https://./v1",
    ])
    func aRelativePathNeedsAUsableBase(base: String?) {
        let error = #expect(throws: PulseError.self) { try compose(base, "/a") }
        guard case .invalidURL = error else {
            Issue.record("not an invalid URL: \(String(describing: error))")
            return
        }
    }

    @Test(arguments: [
        (nil, "/users?token=s3cr3t"), ("https://h.test", "/users/../x?token=s3cr3t"),
        ("https://h.test", "/users#s3cr3t"), ("https://h.test", "https://user:s3cr3t@/users?s3cr3t"),
        ("https://h.test", "/users?\u{301}s3cr3t#"), ("ftp://user:s3cr3t@h.test?s3cr3t", "/users"),
        ("https://h.test", "https://u:s3cr3t@h.test/users/.."),
    ])
    func errorsShowThePathWithoutPossibleSecrets(base: String?, path: String) {
        let error = #expect(throws: PulseError.self) {
            try compose(base, path, [URLQueryItem(name: "key", value: "s3cr3t")])
        }
        guard case .invalidURL(let text) = error else {
            Issue.record("not an invalid URL: \(String(describing: error))")
            return
        }
        #expect(text.contains("/users") && !text.contains("s3cr3t") && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }

    @Test
    func aCombiningMarkAfterASeparatorLosesNothing() throws {
        #expect(try compose("https://h.test", "/a?\u{301}x") == "https://h.test/a?%CC%81x")
        #expect(throws: PulseError.self) { try compose("https://h.test", "https://h.test:\u{301}80/a") }
    }

    @Test
    func aTenKilobyteNameIsKeptComplete() throws {
        let name = String(repeating: "n\u{E9}+", count: 2_500)
        let url = try compose("https://h.test", "/a", [URLQueryItem(name: name, value: name)])
        let items = URLComponents(string: url)?.queryItems
        #expect(items == [URLQueryItem(name: name, value: name)])
    }

    @Test
    func theTextOfAComposedURLIsAlwaysLegal() throws {
        let pieces = [
            "a", "%", "%2F", " ", "\"", "\\", "\r", "\n", "\u{0}", "\u{E9}", "\u{301}", "[", "|", "?", "+", "&",
        ]
        let composer = URLComposer(baseURL: URL(string: "https://h.test/v1"))
        let legal = ASCIISet.query.union(ASCIISet("%"))
        for seed in 0..<3_000 {
            var number = seed
            var path = "/"
            while number > 0 {
                path += pieces[number % pieces.count]
                number /= pieces.count
            }
            let url = try composer.url(path: path, query: [URLQueryItem(name: path, value: path)])
            #expect(url.host == "h.test" && url.absoluteString.utf8.allSatisfy(legal.contains))
            #expect(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?.last?.value == path)
        }
    }
}
