// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct CookieTests {
    static let now = Date(timeIntervalSince1970: 1_750_000_000)

    static func cookie(_ line: String, from address: String = "https://shop.example.com/a/b") throws -> Cookie? {
        let url = try #require(URL(string: address))
        return try Cookie(setCookie: line, from: #require(CookieOrigin(url)), now: now)
    }

    @Test(arguments: [
        ("a=b", "a", "b"), ("a=", "a", ""), ("  a  =  b  ; Secure", "a", "b"), ("a=b=c", "a", "b=c"),
        ("a=\"b\"", "a", "\"b\""), ("a=b;c=d", "a", "b"), ("A=ü", "A", "ü"), ("a=b;;;", "a", "b"),
    ])
    func nameAndValueAreKeptUnchanged(line: String, name: String, value: String) throws {
        let cookie = try #require(try Self.cookie(line))
        #expect(cookie.name == name)
        #expect(cookie.value == value)
    }

    /// Trap: a separator followed by a combining mark is another Character, and a different semicolon equals it.
    @Test(arguments: [
        ("q=\u{301}x; Path=/", "q", "\u{301}x"), ("id=abc;\u{301}b; Secure; Path=/", "id", "abc"),
        ("a=b\u{37E}c; Path=/; Secure", "a", "b\u{37E}c"), ("a=b;Path=/;Secure=\u{301}", "a", "b"),
        ("a=b \u{301}; Path=/", "a", "b \u{301}"),
    ])
    func aCookieIsParsedByOctets(line: String, name: String, value: String) throws {
        let cookie = try #require(try Self.cookie(line))
        #expect(Array(cookie.name.utf8) == Array(name.utf8))
        #expect(Array(cookie.value.utf8) == Array(value.utf8))
        #expect(cookie.path == "/")
        #expect(cookie.isSecure == line.contains("Secure"))
    }

    @Test func attributesAreParsedByOctets() throws {
        let marked = try #require(try Self.cookie("a=b; Path=/\u{301}x; Domain=.\u{301}; Domain=example.com"))
        #expect(Array(marked.path.utf8) == Array("/\u{301}x".utf8))
        #expect(marked.domain == "example.com")
        // Swift considers the Kelvin sign equal to K.
        #expect(!CookieRules.path("/\u{212A}", matches: "/K"))
        #expect(CookieRules.path("/k", matches: "/k/\u{301}"))
    }

    @Test(arguments: [
        "", "a", "=b", " = b", ";a=b", "a=b\u{0}", "a=b\u{1F}", "a=b\u{7F}", "a=" + String(repeating: "b", count: 4096),
    ])
    func anInvalidCookieIsIgnored(line: String) throws {
        #expect(try Self.cookie(line) == nil)
    }

    @Test(arguments: [
        ("", "shop.example.com", true), ("; Domain=", "shop.example.com", true),
        ("; Domain=shop.example.com", "shop.example.com", false), ("; Domain=example.com", "example.com", false),
        ("; domain=.Example.COM", "example.com", false), ("; Domain=a.com; Domain=example.com", "example.com", false),
    ])
    func aCookieBelongsToTheDomainThatItNames(attributes: String, domain: String, isHostOnly: Bool) throws {
        let cookie = try #require(try Self.cookie("a=b" + attributes))
        #expect(cookie.domain == domain)
        #expect(cookie.isHostOnly == isHostOnly)
    }

    /// RFC 6265, section 5.3, step 5.
    @Test(arguments: ["co.uk", "github.io", "s3.amazonaws.com", "localhost", "10.0.0.1", "example.com."])
    func aCookieForASharedDomainThatIsTheHostIsHostOnly(host: String) throws {
        let cookie = try #require(try Self.cookie("a=b; Domain=\(host)", from: "https://\(host)/"))
        #expect(cookie.domain == host)
        #expect(cookie.isHostOnly)
    }

    @Test func aSiteBelowASharedDomainHasCookiesForItsSubdomains() throws {
        let cookie = try #require(try Self.cookie("a=b; Domain=me.github.io", from: "https://a.me.github.io/"))
        #expect(cookie.domain == "me.github.io" && !cookie.isHostOnly)
    }

    /// Names that are second levels in other countries.
    @Test(arguments: [
        ("https://api.id.me/", "id.me"), ("https://navigator.web.de/", "web.de"), ("https://www.in.gr/", "in.gr"),
    ])
    func aDomainLikeASecondLevelElsewhereIsAccepted(address: String, domain: String) throws {
        #expect(try Self.cookie("a=b; Domain=\(domain)", from: address)?.domain == domain)
    }

    /// Trap: a cookie for a shared domain leaks to strangers.
    @Test(arguments: [
        ("https://shop.example.com/", "other.com"), ("https://shop.example.com/", "ample.com"),
        ("https://shop.example.com/", "a.shop.example.com"), ("https://shop.example.com/", "com"),
        ("https://bank.co.uk/", "co.uk"), ("https://a.com.au/", "com.au"), ("https://a.me.uk/", "me.uk"),
        ("https://a.or.jp/", "or.jp"), ("https://10.0.0.1/", "0.0.1"),
        ("https://[::1]/", "1"), ("https://example.com/", "..com"), ("https://me.github.io/", "github.io"),
        ("https://me.github.io/", ".GitHub.io"), ("https://me.github.io./", "github.io."),
        ("https://a.any.ck/", "any.ck"),
        ("https://a.herokuapp.com/", "herokuapp.com"), ("https://a.vercel.app/", "vercel.app"),
        ("https://bucket.s3.amazonaws.com/", "s3.amazonaws.com"), ("https://a.xn--55qx5d.cn/", "xn--55qx5d.cn"),
    ])
    func aCookieForAForeignDomainIsRejected(address: String, domain: String) throws {
        #expect(try Self.cookie("a=b; Domain=\(domain)", from: address) == nil)
    }

    @Test(arguments: [
        ("https://a.com/x/y/z", "", "/x/y"), ("https://a.com/x", "", "/"), ("https://a.com", "", "/"),
        ("https://a.com/x/", "", "/x"), ("https://a.com/x/y", "; Path=/q", "/q"),
        ("https://a.com/x/y", "; Path=q", "/x"),
        ("https://a.com/x/y", "; Path=", "/x"),
    ])
    func aCookieHasItsNamedPathOrThatOfItsOrigin(address: String, attributes: String, path: String) throws {
        #expect(try Self.cookie("a=b" + attributes, from: address)?.path == path)
    }

    @Test(
        arguments: [
            ("", nil), ("; Max-Age=60", 60), ("; Max-Age=0", -1), ("; Max-Age=-5", -1), ("; Max-Age=x", nil),
            ("; Expires=Sun, 15 Jun 2025 15:07:40 GMT", 60),
            ("; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60", 60),
            ("; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 60), ("; Expires=nonsense", nil),
            ("; Max-Age=99999999999999999999", 400 * 86_400),
        ] as [(String, Double?)])
    func aCookieExpiresAtItsDeclaredTime(attributes: String, seconds: Double?) throws {
        let cookie = try #require(try Self.cookie("a=b" + attributes))
        switch seconds {
        case nil: #expect(cookie.expires == nil)
        case -1: #expect(cookie.isExpired(at: Self.now))
        case let seconds?: #expect(cookie.expires == Self.now + seconds)
        }
    }

    @Test(arguments: [
        ("a=b; Secure", "http://a.com/", false), ("a=b; Secure", "https://a.com/", true),
        ("__Secure-a=b", "https://a.com/", false), ("__Secure-a=b; Secure", "https://a.com/", true),
        ("__Host-a=b; Secure; Path=/", "https://a.com/", true), ("__Host-a=b; Secure", "https://a.com/", false),
        ("__Host-a=b; Secure; Path=/; Domain=a.com", "https://a.com/", false),
        ("__host-a=b; Path=/", "https://a.com/", false), ("__Secure-\u{301}=b", "https://a.com/", false),
    ])
    func theRulesOfSecureAndNamePrefixesAreEnforced(line: String, address: String, isTaken: Bool) throws {
        #expect(try (Self.cookie(line, from: address) != nil) == isTaken)
    }

    /// RFC 6265, section 5.1.1: any order, any delimiters.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "06 November 1994 8:49:37", "1994 Nov 06 08:49:37 PST", "08:49:37 6-Nov-1994", "Nov 6 94 8:49:37",
        "06 Nov 1994 08:49:37:11", "06 Nov 1994 08:49:37x 21:01:22", "06 Nov 1994 8x:49:37 08:49:37",
    ])
    func cookieDatesAreReadInAnyFormat(text: String) {
        #expect(CookieDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test(arguments: [
        "", "06 Nov 1994", "08:49:37 Nov 1994", "06 08:49:37 1994", "06 Nov 08:49:37", "32 Nov 1994 08:49:37",
        "06 Nov 1994 24:00:00", "06 Nov 1600 08:49:37", "31 Feb 2024 00:00:00",
        // The first text in the form of a time is the time, whatever its numbers are.
        "Sat, 15-Apr-17 91:22:33 21:01:22", "06 Nov 1994 08:60:37 08:49:37", "06 Nov 1994 08:49:60 08:49:37",
    ])
    func anInvalidCookieDateIsIgnored(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }

    @Test func theDescriptionOfACookieShowsNoValue() throws {
        let cookie = try #require(try Self.cookie("session=SECRET; Path=/"))
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect(!"\(cookie)\(String(reflecting: cookie))\(dumped)".contains("SECRET"))
    }

    @Test func theDescriptionOfACookieIsOnOneLine() throws {
        let cookie = try #require(try Self.cookie("a\u{202E}=1; Path=/\u{9B}"))
        #expect("\(cookie)".contains(#"cookie a\u{202E} of"#) && "\(cookie)" == "\(cookie)".onOneLine)
    }
}
