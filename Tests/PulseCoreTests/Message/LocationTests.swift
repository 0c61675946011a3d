// SPDX-License-Identifier: MIT

import PulseCore
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LocationTests {
    private static func location(_ text: String, from base: String) throws -> String? {
        let base = try #require(URL(string: base))
        return HTTPHeaders(["Location": text]).location(from: base)?.absoluteString
    }

    /// The examples of RFC 3986, section 5.4, but `g:h`, which is tested below, and the empty reference.
    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q#s"), ("g#s", "/b/c/g#s"), ("g?y#s", "/b/c/g?y#s"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
        ("g;x?y#s", "/b/c/g;x?y#s"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"),
        ("../..", "/"), ("../../", "/"), ("../../g", "/g"), ("../../../g", "/g"), ("../../../../g", "/g"),
        ("/./g", "/g"),
        ("/../g", "/g"), ("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"),
        ("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"),
        ("g;x=1/./y", "/b/c/g;x=1/y"),
        ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"),
        ("g#s/./x", "/b/c/g#s/./x"),
        ("g#s/../x", "/b/c/g#s/../x"),
    ])
    func resolvesAsTheStandardSays(reference: String, target: String) throws {
        #expect(try Self.location(reference, from: "http://a/b/c/d;p?q") == "http://a" + target)
    }

    @Test(arguments: [
        ("//other/x", "https://h/a", "https://other/x"),
        ("https://other", "https://h/a", "https://other"),
        ("g", "https://h", "https://h/g"),
        ("?q", "https://h", "https://h?q"),
        (
            "/a b/\u{E9}\"<>\\^`{|}[]?x y=\u{E9}|[1]", "https://h/",
            "https://h/a%20b/%C3%A9%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D?x%20y=%C3%A9%7C%5B1%5D"
        ),
        ("/a%2Fb%zz%", "https://h/", "https://h/a%2Fb%25zz%25"),
        ("  /a\t", "https://h/", "https://h/a"),
        ("https://bob:pw@other/x", "https://h/", "https://other/x"),
        ("https://a@b@other/x@y", "https://h/", "https://other/x@y"),
        ("/x", "https://bob@h/", "https://bob@h/x"),
        ("/x", "https://h/a#top", "https://h/x#top"),
        ("/x#", "https://h/a#top", "https://h/x#"),
        ("/\u{301}/x", "https://h/", "https://h/%CC%81/x"),
        ("http:g", "https://h/", "http:g"),
        ("mailto:a", "https://h/", "mailto:a"),
        ("1a:b", "https://h/", "https://h/1a:b"),
    ])
    func isLenientButNotGullible(reference: String, base: String, target: String) throws {
        #expect(try Self.location(reference, from: base) == target)
    }

    @Test
    func isOneLineThatSaysSomething() throws {
        let base = try #require(URL(string: "https://h/"))
        #expect(HTTPHeaders().location(from: base) == nil)
        #expect(HTTPHeaders(["Location": " "]).location(from: base) == nil)
        #expect((["Location": "/a", "location": "/b"] as HTTPHeaders).location(from: base) == nil)
        #expect((["Location": "/a", "location": "/a"] as HTTPHeaders).location(from: base)?.path == "/a")
    }

    @Test
    func neverTrapsAndNeverBringsUserInfoAlong() throws {
        var random = SplitMix64(seed: 0x307)
        let base = try #require(URL(string: "https://h/a/b?c"))
        for _ in 0..<3000 {
            let text = random.hostileText(maximumLength: 10)
            for prefix in ["", "//", "https://", "/"] {
                let url = HTTPHeaders(["Location": prefix + text]).location(from: base)
                #expect(url?.user == nil && url?.password == nil, "\(text.debugDescription)")
            }
        }
    }
}
