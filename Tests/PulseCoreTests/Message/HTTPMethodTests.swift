// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct HTTPMethodTests {
    @Test(arguments: [
        (HTTPMethod.get, "GET", true, true),
        (.head, "HEAD", true, true),
        (.post, "POST", false, false),
        (.put, "PUT", false, true),
        (.patch, "PATCH", false, false),
        (.delete, "DELETE", false, true),
        (.options, "OPTIONS", true, true),
        (.trace, "TRACE", true, true),
        (.connect, "CONNECT", false, false),
        (.query, "QUERY", true, true),
    ])
    func registeredMethodsHaveTheirRegisteredSafetyAndIdempotency(
        method: HTTPMethod, name: String, isSafe: Bool, isIdempotent: Bool
    ) {
        #expect(method.rawValue == name)
        #expect(method.description == name)
        #expect(method == HTTPMethod(rawValue: name))
        #expect(method.isSafe == isSafe)
        #expect(method.isIdempotent == isIdempotent)
    }

    @Test(arguments: ["PROPFIND", "M-SEARCH", "get", "Get", "x!#$%&'*+-.^_`|~9"])
    func anUnregisteredMethodIsNotSafe(name: String) throws {
        let method = try #require(HTTPMethod(rawValue: name))
        #expect(method.rawValue == name)
        #expect(!method.isSafe)
        #expect(!method.isIdempotent)
        #expect(method != .get)
    }

    @Test(arguments: [
        "", " ", "GET ", " GET", "GE T", "GET\r\n", "GET\r", "GET\n", "GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
        "GET\u{0}",
        "\u{0}", "GET\t", "G\u{CA}T", "\u{1F600}", "GET\u{301}", "GET:", "GET/", "(GET)", "G,T", "\"GET\"", "GET\u{7F}",
    ])
    func anInvalidTokenIsNotAMethod(name: String) {
        #expect(HTTPMethod(rawValue: name) == nil)
    }

    @Test
    func everyByteOutsideTheTokenAlphabetIsRefused() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8(0)..<128 {
            let name = "A" + String(Unicode.Scalar(byte))
            #expect((HTTPMethod(rawValue: name) != nil) == token.contains(byte), "byte \(byte)")
        }
    }
}
