// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseCalls

@Suite(.throttled)
struct PublicSuffixesTests {
    private static let list = """
        // ===BEGIN ICANN DOMAINS===
        com
        co.uk the rest of a line does not count
        *.CK\r
        !www.ck
        *.kobe.jp
        !city.kobe.jp
        \u{516C}\u{53F8}.cn
        // ===END ICANN DOMAINS===

        // ===BEGIN PRIVATE DOMAINS===
        github.io
        s3.amazonaws.com
        *.compute.amazonaws.com
        // ===END PRIVATE DOMAINS===
        """

    private static let lists: [(name: String, suffixes: PublicSuffixes)] = [
        ("parsed", PublicSuffixes(list: Array(list.utf8)) ?? PublicSuffixes(groups: "")), ("compact", .compact),
    ]

    @Test(arguments: [
        ("com", true), ("example.com", false), ("localhost", true), ("unknown", true), ("host.unknown", false),
        ("co.uk", true), ("shop.co.uk", false), ("a.shop.co.uk", false),
        ("ck", true), ("any.ck", true), ("shop.any.ck", false), ("www.ck", false), ("a.www.ck", false),
        ("jp", true), ("kobe.jp", true), ("any.kobe.jp", true), ("shop.any.kobe.jp", false), ("city.kobe.jp", false),
        ("xn--55qx5d.cn", true), ("shop.xn--55qx5d.cn", false), ("xn--55qx5d", true),
        ("github.io", true), ("me.github.io", false), ("a.me.github.io", false), ("ithub.io", false),
        ("amazonaws.com", false), ("s3.amazonaws.com", true), ("bucket.s3.amazonaws.com", false),
        ("compute.amazonaws.com", true), ("eu.compute.amazonaws.com", true), ("a.eu.compute.amazonaws.com", false),
    ])
    func theLongestRuleDecidesAndAnExceptionWins(name: String, isSuffix: Bool) {
        for list in Self.lists { #expect(list.suffixes.contains(name) == isSuffix, "\(list.name)") }
    }

    @Test(arguments: [
        "a.run.app", "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "duckdns.org",
        "firebaseapp.com", "fly.dev", "githubusercontent.com", "gitlab.io", "herokuapp.com", "myshopify.com",
        "netlify.app", "onrender.com", "pages.dev", "readthedocs.io", "s3.us-east-2.amazonaws.com", "vercel.app",
        "web.app", "workers.dev", "com.au", "ac.jp", "or.jp", "me.uk", "co.it", "gov.it", "com.br", "co.za",
    ])
    func theCompactListHasHostsOfOthersContentAndRegistries(name: String) {
        #expect(PublicSuffixes.compact.contains(name))
        #expect(!PublicSuffixes.compact.contains("shop." + name))
    }

    /// Trap: half of a list lets cookies of all its missing domains pass.
    @Test func onlyAWholeListIsTaken() {
        let (whole, half) = (Array(Self.list.utf8), Array(Self.list.utf8.dropLast(30)))
        #expect(PublicSuffixes(list: whole) != nil)
        for list in [[], half, Array("<html></html>\n".utf8), [0xFF, 0x0A] + whole] {
            #expect(PublicSuffixes(list: list) == nil)
        }
    }

    @Test func onlyARegularFileOfBoundedSizeIsRead() throws {
        let manager = FileManager.default
        let directory = manager.temporaryDirectory.appendingPathComponent("suffixes-\(UUID().uuidString)")
        defer { try? manager.removeItem(at: directory) }
        try manager.createDirectory(at: directory, withIntermediateDirectories: true)
        func path(_ name: String) -> String { directory.appendingPathComponent(name).path }
        try Data(Self.list.utf8).write(to: URL(fileURLWithPath: path("list")))
        try (Data(Self.list.utf8) + Data(repeating: 0x0A, count: 4 << 20)).write(
            to: URL(fileURLWithPath: path("large")))
        #expect(mkfifo(path("pipe"), 0o600) == 0)
        #expect(PublicSuffixes(file: path("list"))?.contains("github.io") == true)
        for name in ["large", "pipe", "none", "."] { #expect(PublicSuffixes(file: path(name)) == nil, "\(name)") }
    }
}
