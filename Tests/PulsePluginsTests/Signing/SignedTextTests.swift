// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulsePlugins

@Suite(.throttled)
struct SignedTextTests {
    private static func text(method: String = "GET", _ target: String, nonce: String? = nil) -> String? {
        SignedText(method: method, target: target, timestamp: "1767225600", bodyHash: "ab", nonce: nonce)
            .map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test(
        arguments: [
            ("https://api.example.com/v1/users", "/v1/users"), ("/v1/users", "/v1/users"),
            ("https://api.example.com/a%20b/%C3%A9%2F?q=%26&r=a+b", "/a%20b/%C3%A9%2F?q=%26&r=a+b"),
            ("https://api.example.com/a%2fb", "/a%2fb"), ("https://api.example.com/a/?", "/a/?"),
            ("https://api.example.com", "/"), ("https://api.example.com?x=1", "/?x=1"),
            ("https://api.example.com#top", "/"), ("https://api.example.com/a?b#c?d", "/a?b"),
            ("http://user:pass@[::1]:8080/a", "/a"), ("/a?u=http://b/c", "/a?u=http://b/c"),
            ("https://api.example.com//a//b", "//a//b"), ("//a", "//a"), ("*", "*"), ("", ""),
        ])
    func theSignedTextCoversPathAndQueryAsSent(target: String, path: String) {
        #expect(Self.text(target) == "GET|\(path)|1767225600|ab")
    }

    @Test func aNonceIsTheFifthPartOfTheSignedText() {
        #expect(Self.text(method: "POST", "/a", nonce: "n") == "POST|/a|1767225600|ab|n")
    }

    @Test func aSeparatorWithinAPartOfTheSignedTextIsRejected() {
        #expect(Self.text(method: "A|B", "/a") == nil)
        #expect(Self.text("/a|b") == nil)
        #expect(Self.text("/a?b=|") == nil)
        #expect(Self.text("/a", nonce: "n|m") == nil)
        #expect(Self.text("https://a/b#|") == "GET|/b|1767225600|ab")
    }
}
