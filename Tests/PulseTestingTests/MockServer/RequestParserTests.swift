// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@Suite(.throttled)
struct RequestParserTests {
    private static let stream =
        "\r\nPOST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello"
        + "PUT /chunks HTTP/1.1\r\nhost:x\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "5;ext=\"a\"\r\nhello\r\n00a\r\n0123456789\r\n0\r\nSum: 1\r\n\r\n"
        + "GET http://x/ HTTP/1.0\r\n\r\n"

    /// Pieces of a body joined: their boundaries depend on the arrival of the bytes.
    private static func parse(_ pieces: [Data], limit: Int = 4096) -> [String] {
        var parser = RequestParser(maxHeadSize: limit)
        var events: [String] = []
        var body = Data()
        for piece in pieces {
            parser.append(piece)
            while let event = parser.next() {
                switch event {
                case .head(let head):
                    events.append("\(head.method) \(head.target) \(head.framing) \(head.headers.count)")
                case .body(let bytes): body.append(bytes)
                case .end(let trailers):
                    events.append("\(String(decoding: body, as: UTF8.self)) \(trailers.count) \(parser.messageSize)")
                    body = Data()
                case .failed(let failure): events.append("\(failure.status)")
                }
            }
        }
        return events + (parser.isBetweenRequests ? [] : ["unfinished"])
    }

    private static let expected = [
        "POST /a?b=c length(5) 3", "hello 0 67",
        "PUT /chunks chunked 2", "hello0123456789 1 108",
        "GET http://x/ none 0", " 0 26",
    ]

    @Test func parsesTheSameEventsAtEverySplitPoint() {
        let bytes = Data(Self.stream.utf8)
        #expect(Self.parse([bytes]) == Self.expected)
        for split in 1..<bytes.count {
            #expect(Self.parse([Data(bytes[..<split]), Data(bytes[split...])]) == Self.expected, "at \(split)")
        }
        #expect(Self.parse(bytes.map { Data([$0]) }) == Self.expected)
    }

    @Test func detectsATruncatedRequestAtEverySplitPoint() {
        let bytes = Data("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi".utf8)
        for split in 1..<bytes.count {
            #expect(Self.parse([Data(bytes[..<split])]).last == "unfinished", "at \(split)")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\nHost: x\n\n", 400),
        ("GET /  HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400),
        ("G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /é HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        ("PRI * HTTP/2.0\r\n\r\n", 505),
        ("GET / HTTQ/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ])
    func refusesARequestThatBreaksTheRules(_ request: String, status: Int) {
        #expect(Self.parse([Data(request.utf8)]).first == "\(status)")
    }

    @Test(arguments: [
        "x\r\n", "\r\n", " 5\r\n", "-1\r\n", "1234567890abcdef\r\n", "1\r\nab\r\n", "1\nab", "2 erfr\r\nab\r\n",
    ])
    func refusesAChunkThatBreaksTheRules(_ chunk: String) {
        let head = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(Self.parse([Data((head + chunk).utf8)]).dropFirst().first == "400")
    }

    @Test func acceptsARepeatedEqualLength() {
        let request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi"
        #expect(Self.parse([Data(request.utf8)]).first == "POST / length(2) 3")
    }

    @Test(arguments: [64, 65, 66])
    func refusesHeaderFieldsAboveTheLimitAtEverySplit(_ limit: Int) {
        let head = "GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 34))\r\n\r\n"
        #expect(head.utf8.count == 66)
        let expected = limit < 66 ? "431" : "GET / none 2"
        #expect(Self.parse([Data(head.utf8)], limit: limit).first == expected)
        #expect(Self.parse(head.utf8.map { Data([$0]) }, limit: limit).first == expected)
    }

    @Test func refusesAnEndlessLineBeforeItFillsTheMemory() {
        #expect(Self.parse([Data(repeating: 0x41, count: 100)], limit: 99).first == "431")
    }

    @Test func emitsNoEventAfterAFailure() {
        let bytes = Data("GET\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        #expect(Self.parse([bytes]) == ["400", "unfinished"])
    }
}
