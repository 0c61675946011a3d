// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ServerAddressTests {
    @Test(
        arguments: [
            ("http://example.com/", false, "example.com", 80, "example.com"),
            ("https://example.com/", true, "example.com", 443, "example.com"),
            ("https://example.com:8443/", true, "example.com", 8443, "example.com"),
            ("http://example.com:/", false, "example.com", 80, "example.com"),
            ("https://example.com./", true, "example.com.", 443, "example.com"),
            ("http://ex%61mple.com/", false, "example.com", 80, "example.com"),
            ("http://127.0.0.1:1/", false, "127.0.0.1", 1, nil),
            ("http://[::1]/", false, "::1", 80, nil),
            ("http://[::1]:65535/", false, "::1", 65535, nil),
            ("https://[fe80::1%25en0]:99/", true, "fe80::1%en0", 99, nil),
            ("https://127.1:1/", true, "127.0.0.1", 1, nil), ("https://0x7F000001/", true, "127.0.0.1", 443, nil),
            ("http://2130706433", false, "127.0.0.1", 80, nil), ("http://127.0.0.1./", false, "127.0.0.1", 80, nil),
            ("http://%31%32%37.1/", false, "127.0.0.1", 80, nil),
            ("http://0x1.test/", false, "0x1.test", 80, "0x1.test"),
            ("http://example.com?a:1", false, "example.com", 80, "example.com"),
        ] as [(String, Bool, String, UInt16, String?)])
    func theURLNamesHostAndPort(url: String, isSecure: Bool, host: String, port: UInt16, name: String?) throws {
        let address = try ServerAddress(url, isSecure: isSecure)
        #expect(address.host == host && address.port == port && address.serverName == name)
    }

    @Test(
        arguments: [
            ("http://[fe80::1%25en0]/", "fe80::1"), ("http://[::1]/", "::1"), ("http://a.test/", "a.test"),
            ("http://a%25b.test/", "a%b.test"),
        ])
    func othersKnowNoZone(url: String, host: String) throws {
        #expect(try ServerAddress(url, isSecure: false).plainHost == host)
    }

    @Test(
        arguments: [
            "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:a/",
            "http:///", "http://:80/", "http://[::1]a80/", "http://[]/",
        ])
    func aURLWithoutThemIsInvalid(url: String) {
        #expect {
            try ServerAddress(url, isSecure: false)
        } throws: {
            PulseError(wrapping: $0).kind == .invalidURL
        }
    }
}
