// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct CookieJarTests {
    private static let now = CookieTests.now

    private static func url(_ address: String) throws -> URL {
        try #require(URL(string: address))
    }

    private static func jar(_ lines: String..., from address: String = "https://www.example.com/") throws -> CookieJar {
        var jar = CookieJar()
        _ = try jar.store(lines, from: url(address), now: now)
        return jar
    }

    @Test(
        arguments: [
            ("https://www.example.com/", "a=1; b=2"), ("https://www.example.com/account", "p=3; a=1; b=2"),
            ("https://www.example.com/account/x", "p=3; a=1; b=2"), ("https://www.example.com/accounts", "a=1; b=2"),
            ("https://api.example.com/", "b=2"), ("http://www.example.com/", "b=2"), ("https://example.com/", "b=2"),
            ("https://evilexample.com/", nil), ("https://www.example.com.evil.com/", nil),
            ("https://www.example.com:8443/", "a=1; b=2"), ("HTTPS://WWW.EXAMPLE.COM/", "a=1; b=2"),
        ] as [(String, String?)])
    func eachRequestGetsTheCookiesThatMatchItsURL(address: String, header: String?) throws {
        var jar = try Self.jar("a=1; Secure", "b=2; Domain=example.com", "p=3; Path=/account; Secure")
        let given = try jar.header(for: Self.url(address), now: Self.now)
        #expect(given == header)
    }

    /// Older cookies first (RFC 6265, section 5.4), also among those of one response.
    @Test(arguments: [
        (["z=1", "a=2"], "z=1; a=2"), (["a=1", "b=2", "a=3"], "a=3; b=2"), (["b=1", "a=2", "c=3"], "b=1; a=2; c=3"),
    ])
    func cookiesAreSentInTheOrderOfTheirLines(lines: [String], header: String) throws {
        var jar = CookieJar()
        let url = try Self.url("https://www.example.com/")
        _ = jar.store(lines, from: url, now: Self.now)
        #expect(jar.header(for: url, now: Self.now) == header)
        var reloaded = CookieJar(jar.cookies.values)
        #expect(reloaded.header(for: url, now: Self.now) == header)
        // The clock may stand still, or go back.
        _ = reloaded.store(["0=0"], from: url, now: Self.now - 10)
        #expect(reloaded.header(for: url, now: Self.now) == header + "; 0=0")
    }

    /// What is sent to a loopback host never meets a network, so that browsers send secure cookies there.
    @Test(arguments: [
        ("http://localhost:8080/", true), ("http://app.localhost/", true), ("http://127.0.0.1/", true),
        ("http://127.9.8.7:1/", true), ("http://[::1]:8080/", true), ("http://10.0.0.1/", false),
        ("http://localhost.example.com/", false), ("http://127.0.0.1.example.com/", false), ("http://[::2]/", false),
    ])
    func aLoopbackHostGetsSecureCookies(address: String, isSecure: Bool) throws {
        var jar = try Self.jar("SESSION=1; Path=/; Secure", from: address)
        #expect(try jar.header(for: Self.url(address), now: Self.now) == (isSecure ? "SESSION=1" : nil))
    }

    @Test func aCookieReplacesTheOneWithTheSameNameDomainAndPath() throws {
        var jar = try Self.jar("a=1", "b=2")
        let url = try Self.url("https://www.example.com/")
        let replaced = jar.store(["a=3"], from: url, now: Self.now + 1)
        #expect(replaced)
        // The cookie keeps its position (RFC 6265, section 5.3, step 11.3).
        #expect(jar.header(for: url, now: Self.now) == "a=3; b=2")
        let repeated = jar.store(["a=3"], from: url, now: Self.now + 2)
        #expect(!repeated)
        let removed = jar.store(["a=; Max-Age=0"], from: url, now: Self.now + 3)
        #expect(removed)
        #expect(jar.header(for: url, now: Self.now) == "b=2")
    }

    /// Trap: Swift considers a precomposed letter and its decomposed form equal.
    @Test func cookieNamesAndValuesAreComparedByBytes() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        var jar = try Self.jar("\(composed)=1", "\(decomposed)=2", "v=\(composed)")
        #expect(jar.cookies.count == 3)
        let url = try Self.url("https://www.example.com/")
        let changed = jar.store(["v=\(decomposed)"], from: url, now: Self.now)
        #expect(changed)
        let values = jar.cookies(for: url, now: Self.now).map { Array($0.value.utf8) }
        #expect(values.contains(Array(decomposed.utf8)) && !values.contains(Array(composed.utf8)))
    }

    @Test func anExpiredCookieIsNotSent() throws {
        var jar = try Self.jar("a=1; Max-Age=60", "b=2")
        let url = try Self.url("https://www.example.com/")
        #expect(jar.header(for: url, now: Self.now + 59) == "a=1; b=2")
        #expect(jar.header(for: url, now: Self.now + 60) == "b=2")
    }

    /// Trap: an attacker on the cleartext path plants a session.
    @Test func aCleartextResponseCannotReplaceASecureCookie() throws {
        var jar = try Self.jar("session=good; Secure; Path=/")
        let plain = try Self.url("http://www.example.com/login")
        let planted = jar.store(
            ["session=evil; Path=/", "session=evil; Domain=example.com"], from: plain, now: Self.now)
        #expect(!planted)
        let added = jar.store(["other=fine"], from: plain, now: Self.now + 1)
        #expect(added)
        let secure = try Self.url("https://www.example.com/")
        #expect(jar.header(for: secure, now: Self.now) == "session=good; other=fine")
    }

    @Test func aNewCookieReplacesAnExpiredSecureCookie() throws {
        var jar = try Self.jar("session=old; Secure; Path=/; Max-Age=60")
        let plain = try Self.url("http://www.example.com/login")
        let early = jar.store(["session=new; Path=/"], from: plain, now: Self.now + 59)
        #expect(!early)
        let late = jar.store(["session=new; Path=/"], from: plain, now: Self.now + 61)
        #expect(late)
        #expect(jar.header(for: plain, now: Self.now + 61) == "session=new")
    }

    @Test func theJarIsBounded() throws {
        var jar = CookieJar(limit: 20, domainLimit: 5)
        for index in 0..<9 {
            _ = try jar.store(
                ["a\(index)=1"], from: Self.url("https://one.example.com/"), now: Self.now + Double(index))
        }
        let header = try jar.header(for: Self.url("https://one.example.com/"), now: Self.now)
        #expect(header == "a4=1; a5=1; a6=1; a7=1; a8=1")
        for index in 0..<40 {
            let url = try Self.url("https://h\(index).example.com/")
            _ = jar.store(["a=1"], from: url, now: Self.now + Double(100 + index))
        }
        #expect(jar.cookies.count == 20)
        #expect(try jar.cookies(for: Self.url("https://h20.example.com/"), now: Self.now).count == 1)
        #expect(try jar.cookies(for: Self.url("https://h19.example.com/"), now: Self.now).isEmpty)
    }

    /// A session cookie is older than most, and is sent with each request.
    @Test(arguments: [true, false])
    func theLeastRecentlyUsedCookieIsEvictedFirst(isSetAnew: Bool) throws {
        var jar = CookieJar(limit: 20, domainLimit: 5)
        let url = try Self.url("https://one.example.com/")
        _ = jar.store(["session=1"], from: url, now: Self.now)
        for index in 0..<9 {
            let time = Self.now + Double(2 * index + 1)
            _ = jar.store(["a\(index)=1; Path=/\(index)"], from: url, now: time)
            if isSetAnew {
                _ = jar.store(["session=1"], from: url, now: time + 1)
            } else {
                _ = jar.header(for: url, now: time + 1)
            }
        }
        #expect(jar.cookies.values.map(\.name).sorted() == ["a5", "a6", "a7", "a8", "session"])
    }

    @Test func aCleartextCookieEvictsNoSecureCookieOfItsDomain() throws {
        var jar = CookieJar(limit: 20, domainLimit: 5)
        _ = try jar.store(
            ["session=1; Secure; Domain=example.com"], from: Self.url("https://www.example.com/"), now: Self.now)
        let plain = try Self.url("http://evil.example.com/")
        for index in 0..<9 {
            _ = jar.store(["a\(index)=1; Domain=example.com"], from: plain, now: Self.now + Double(1 + index))
        }
        #expect(jar.cookies.values.map(\.name).sorted() == ["a5", "a6", "a7", "a8", "session"])
    }

    @Test func aResponseStoresAtMostTheDomainLimitOfCookies() throws {
        var jar = CookieJar(limit: 100, domainLimit: 5)
        let url = try Self.url("https://a.b.example.com/")
        _ = try jar.store(["old=1"], from: Self.url("https://example.com/"), now: Self.now)
        let lines = (0..<40).map { "a\($0)=1; Domain=\(["a.b.example.com", "b.example.com", "example.com"][$0 % 3])" }
        let hasChanged = jar.store(lines, from: url, now: Self.now + 1)
        #expect(hasChanged)
        #expect(jar.cookies.values.map(\.name).sorted() == ["a35", "a36", "a37", "a38", "a39", "old"])
        // Any number of existing cookies may change or expire.
        let ends = jar.cookies.values.filter { $0.name != "old" }.map { "\($0.name)=; Max-Age=0; Domain=\($0.domain)" }
        _ = jar.store((0..<40).map { "b\($0)=; Max-Age=0" } + ends, from: url, now: Self.now + 2)
        #expect(jar.cookies.values.map(\.name) == ["old"])
    }

    @Test func theLastSetCookieLineOfACookieCounts() throws {
        var jar = CookieJar()
        let url = try Self.url("https://www.example.com/")
        _ = jar.store(["a=1", "b=1", "a=2", "b=; Max-Age=0", "c=; Max-Age=0", "c=3"], from: url, now: Self.now)
        let header = jar.header(for: url, now: Self.now)
        #expect(header == "a=2; c=3")
    }

    @Test func aJarReadFromAFileEnforcesItsLimits() throws {
        var full = CookieJar(limit: 1000, domainLimit: 500)
        for index in 0..<30 {
            _ = try full.store(["a\(index)=1"], from: Self.url("https://a.example.com/"), now: Self.now)
        }
        for index in 0..<30 {
            _ = try full.store(["a=1"], from: Self.url("https://h\(index).example.com/"), now: Self.now)
        }
        let jar = CookieJar(full.cookies.values, limit: 20, domainLimit: 5)
        #expect(jar.cookies.count == 20)
        #expect(try jar.cookies(for: Self.url("https://a.example.com/"), now: Self.now).count <= 5)
    }

    #if DEBUG
    @Test(arguments: ["https", "http"])
    func theCostOfStoringIsProportionalToTheLines(scheme: String) throws {
        // A full jar, with secure cookies of the same names.
        var full = CookieJar()
        for index in 0..<3000 {
            _ = try full.store(
                ["a\(index % 60)=1; Secure"], from: Self.url("https://h\(index).example.com/"), now: Self.now)
        }
        let url = try Self.url("\(scheme)://www.example.com/")
        func steps(_ count: Int) -> Int {
            var jar = full
            let lines = (0..<count).map { "a\($0 % 60)\($0 / 60)=1; Path=/\($0)" }
            return StepCount.taken { _ = jar.store(lines, from: url, now: Self.now + 1) }
        }
        let base = steps(4_000)
        #expect(steps(8_000) < 9 * base / 4)
        #expect(base < 4_000 + 120 * 3_000)
    }
    #endif
}
