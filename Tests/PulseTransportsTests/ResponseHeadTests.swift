// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ResponseHeadTests {
    private static func head(_ text: String) -> ResponseHead? {
        ResponseHead(Array(text.utf8))
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n", 200), ("HTTP/1.1 404\r\n\r\n", 404), ("HTTP/2 503 \r\n\r\n", 503),
        ("HTTP/1.0 301 Moved\n\n", 301), ("HTTP/1.1 200", 200),
    ])
    func theStatusIsParsed(text: String, status: Int) {
        #expect(Self.head(text)?.statusCode == status)
    }

    @Test(arguments: [
        "", "\r\n", "200 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 abc\r\n", "http/1.1 200 OK\r\n",
    ])
    func aHeadWithoutAStatusLineIsRejected(text: String) {
        #expect(Self.head(text) == nil)
    }

    @Test(
        arguments: [
            ("A: b\r\n", [("A", "b")]), ("A:b\r\n", [("A", "b")]), ("A: \t b c \t\r\n", [("A", "b c")]),
            ("A:\r\n", [("A", "")]),
            ("A: b\r\nA: c\r\n", [("A", "b"), ("A", "c")]), ("A: b: c\r\n", [("A", "b: c")]),
            ("A: b\r\n  c\r\n\td\r\n", [("A", "b c d")]), ("no colon\r\nA: b\r\n", [("A", "b")]),
            ("A: b\rC: d\r\n", [("A", "b C: d")]), ("A: b\r\r\n \r c\r\n", [("A", "b c")]),
            ("A: b\nC: d\n", [("A", "b"), ("C", "d")]), ("A: grün\r\n", [("A", "grün")]),
        ] as [(String, [(String, String)])])
    func fieldsAreParsedAsReceived(lines: String, fields: [(String, String)]) throws {
        let headers = try #require(Self.head("HTTP/1.1 200 OK\r\n" + lines + "\r\n")).headers
        #expect(headers.map(\.name) == fields.map(\.0))
        #expect(headers.map(\.value) == fields.map(\.1))
    }

    @Test func bytesThatAreNotUTF8AreReadAsLatin1() throws {
        let bytes =
            Array("HTTP/1.1 200 OK\r\nA: gr".utf8) + [0xFC] + Array("n \r\nB: ".utf8) + [0xFC, 0xFC, 0x0D, 0x0A]
        let headers = try #require(ResponseHead(bytes)).headers
        #expect(headers["A"] == "grün")
        #expect(headers["B"] == "üü")
    }

    @Test func aFoldedValueKeepsItsBytes() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\nA: ".utf8) + [0xFC] + Array("\r\n b".utf8) + [0xE9, 0x0D, 0x0A]
        let headers = try #require(ResponseHead(bytes)).headers
        #expect(headers["A"] == "ü bé")
        #expect(headers.octets(for: "A") == [[0xFC, 0x20, 0x62, 0xE9]])
        let mixed = Array("HTTP/1.1 200 OK\r\nA: \u{E9}\r\n b".utf8) + [0xE9] + Array("\r\n \u{E9}\r\n".utf8)
        #expect(
            try #require(ResponseHead(mixed)).headers.octets(for: "A") == [
                [0xC3, 0xA9, 0x20, 0x62, 0xE9, 0x20, 0xC3, 0xA9]
            ])
    }
}

extension ResponseHead {
    /// Nil if the first line is not a status line. Lines end with LF, optionally preceded by CR.
    fileprivate init?(_ bytes: [UInt8]) {
        let head = bytes.withUnsafeBytes { bytes -> ResponseHead? in
            var head: ResponseHead?
            var start = 0
            while start < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                let end = rest.offset(of: UInt8(ascii: "\n")) ?? rest.count
                start += end + 1
                let line = rest.line(endingAt: end)
                if head == nil {
                    head = ResponseHead(statusLine: line)
                    if head == nil { return nil }
                } else {
                    head?.add(line)
                }
            }
            return head
        }
        guard let head else { return nil }
        self = head
    }
}
