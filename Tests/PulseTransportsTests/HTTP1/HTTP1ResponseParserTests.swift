// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseConformance
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct HTTP1ResponseParserTests {
    /// A response, and the expected result of parsing it.
    struct Whole: Sendable, CustomTestStringConvertible {
        let text: String
        var status = 200
        var body = ""
        var keeps = true
        var isHead = false
        /// Whether only the end of the connection ends it.
        var endsWithConnection = false

        var testDescription: String { text.debugDescription }
    }

    static let whole: [Whole] = [
        Whole(text: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", body: "body"),
        Whole(text: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
        Whole(text: "HTTP/1.1 200 \nContent-Length:2\n\nab", body: "ab"),
        Whole(text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nab", body: "ab"),
        Whole(text: "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\n.", body: "."),
        Whole(
            text:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 1\r\n\r\nx",
            status: 201, body: "x"),
        Whole(text: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", body: "x", keeps: false),
        Whole(text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(text: "HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\nContent-Length: 1\r\n\r\nx", body: "x", keeps: false),
        Whole(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", body: "body"),
        Whole(
            text:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n00a ; x=y\r\n0123456789\r\nA;z\n0123456789\n0\r\nT: 1\r\n\r\n",
            body: "01234567890123456789"),
        Whole(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        // A parser that uses the length would take the rest for another response.
        Whole(
            text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            body: "x", keeps: false),
        Whole(
            text: "HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            body: "x", keeps: false),
        Whole(
            text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            body: "x", keeps: false),
        Whole(text: "HTTP/1.1 200 OK\r\n\r\nall", body: "all", keeps: false, endsWithConnection: true),
        Whole(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nall", body: "all", keeps: false,
            endsWithConnection: true),
        Whole(text: "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", status: 204),
        Whole(text: "HTTP/1.1 304 Not\r\nTransfer-Encoding: chunked\r\n\r\n", status: 304, keeps: true),
        Whole(text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", isHead: true),
        Whole(
            text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n , close\r\nContent-Length: 1\r\n\r\nx", body: "x",
            keeps: false),
        Whole(text: "HTTP/1.1 200 O\rK\r\nX: a\rb\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(
            text: "HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(
            text: "HTTP/1.1 206 Part\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", status: 206, body: "x"),
        Whole(text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\0\r\n\r\n", body: "\0\r\n\r\n"),
        Whole(text: "HTTP/1.1 200 OK\r\nX: a\r\n Connection: close\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(text: "HTTP/1.1 200 OK\r\nConnection: closed\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(text: "HTTP/1.0 200 OK\r\nConnection: x ,\tkeep-alive\r\nContent-Length: 1\r\n\r\nx", body: "x"),
        Whole(
            text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
            body: "x", keeps: false),
        Whole(text: "HTTP/1.1 200 OK\r\nConnection:,a,close\r\nContent-Length: 1\r\n\r\nx", body: "x", keeps: false),
        // The framing fields of an interim head have no effect.
        Whole(
            text:
                "HTTP/1.1 103 A\r\nConnection: close\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 B\r\nContent-Length: 1\r\n\r\nx",
            body: "x"),
        Whole(
            text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: 1\r\n 2\r\n\r\n",
            body: "x"),
        Whole(text: "HTTP/1.1 200 OK\r\nContent-Length: 999\r\nContent-Encoding: gzip\r\n\r\n", isHead: true),
        Whole(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", isHead: true),
        Whole(text: "HTTP/1.0 200 OK\r\nX: a\r\n\r\nall\r\n", body: "all\r\n", keeps: false, endsWithConnection: true),
        Whole(text: "HTTP/1.1 200 OK\r\n\r\n", keeps: false, endsWithConnection: true),
    ]

    @Test(arguments: whole)
    func aResponseIsParsedTheSameAtEverySplit(_ response: Whole) throws {
        let bytes = Array(response.text.utf8)
        try expect(response, in: [bytes[...]])
        try expect(response, in: bytes.indices.map { bytes[$0...$0] })
        for split in bytes.indices { try expect(response, in: [bytes[..<split], bytes[split...]]) }
        let randomness = SeededRandomness(seed: 7)
        for _ in 0..<50 {
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = 1 + Int(randomness.next() % 9)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            try expect(response, in: pieces)
        }
    }

    private func expect(_ response: Whole, in pieces: [ArraySlice<UInt8>]) throws {
        var reader = HTTP1ResponseParser(.init(isHead: response.isHead), limit: 100)
        for piece in pieces { try piece.withUnsafeBytes { try reader.read($0) } }
        if response.endsWithConnection {
            #expect(!reader.isComplete)
            #expect(try reader.readEnd())
        }
        #expect(reader.isComplete)
        #expect(reader.head?.statusCode == response.status)
        #expect(reader.body.data == Data(response.body.utf8))
        #expect(reader.keepsConnection == response.keeps)
        #expect(reader.surplus.isEmpty)
        try expectStreamed(response, in: pieces)
    }

    private func expectStreamed(_ response: Whole, in pieces: [ArraySlice<UInt8>]) throws {
        var reader = HTTP1ResponseParser(.init(isHead: response.isHead), limit: 100, cuts: true, isStreamed: true)
        var body = Data()
        for piece in pieces {
            try piece.withUnsafeBytes { try reader.read($0) }
            #expect(reader.isStreaming || (reader.status ?? 0) / 100 != 2)
            if reader.isStreaming { body += reader.takeBody() }
        }
        if response.endsWithConnection { #expect(try reader.readEnd()) }
        #expect(reader.isComplete)
        #expect(reader.status == response.status && reader.isStreaming == (response.status / 100 == 2))
        #expect(body == Data(response.body.utf8))
        #expect(reader.body.receivedCount == Int64(response.body.utf8.count))
        #expect(reader.keepsConnection == response.keeps)
    }

    // MARK: Trailers

    private static let chunked = "HTTP/1.1 200 OK\r\nX: head\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"

    private static func parsed(_ pieces: [ArraySlice<UInt8>], isStreamed: Bool) throws -> HTTP1ResponseParser {
        var reader = HTTP1ResponseParser(limit: 100, isStreamed: isStreamed)
        for piece in pieces { try piece.withUnsafeBytes { try reader.read($0) } }
        return reader
    }

    /// Those of the framing mean nothing behind it.
    @Test(
        arguments: [
            ("\r\n", []), ("X: tail\r\n\r\n", ["X: tail"]), ("T:1\n\n", ["T: 1"]),
            ("T: 1\r\nU:\r\nT:  2 \r\n\r\n", ["T: 1", "U: ", "T: 2"]), ("T: a\r\n\tb\r\n\r\n", ["T: a b"]),
            ("Content-Length: 9\r\nConnection: close\r\n\r\n", ["Content-Length: 9", "Connection: close"]),
            ("Content-Encoding: br\r\nTransfer-Encoding: x\r\n\r\n", ["Content-Encoding: br", "Transfer-Encoding: x"]),
        ] as [(String, [String])])
    func trailersAreParsedAtEverySplit(text: String, fields: [String]) throws {
        let bytes = Array((Self.chunked + text).utf8)
        for split in bytes.indices {
            for isStreamed in [false, true] {
                let reader = try Self.parsed([bytes[..<split], bytes[split...]], isStreamed: isStreamed)
                #expect(reader.isComplete && reader.keepsConnection && reader.surplus.isEmpty && reader.codings.isEmpty)
                #expect(reader.trailers.map { "\($0.name): \($0.value)" } == fields)
                #expect(reader.head?.headers["X"] == "head")
                #expect(reader.body.data == Data("x".utf8))
            }
        }
        let reader = try Self.parsed(bytes.indices.map { bytes[$0...$0] }, isStreamed: false)
        #expect(reader.trailers.map { "\($0.name): \($0.value)" } == fields)
    }

    @Test(
        arguments: [
            "no colon\r\n", ": value\r\n", "T : 1\r\n", " T: 1\r\n", "T\0: 1\r\n", "T: \0\r\n", "\r\r\n",
            "Content-Length: 1\r\n 2\r\n", "HTTP/1.1 200 OK\r\n",
        ])
    func aMalformedTrailerIsRejected(text: String) {
        let bytes = Array((Self.chunked + text).utf8)
        for split in bytes.indices {
            #expect(throws: HTTP1ResponseParser.Malformed.self) {
                try Self.parsed([bytes[..<split], bytes[split...]], isStreamed: split % 2 == 0)
            }
        }
    }

    @Test func headAndTrailersShareALimit() throws {
        let name = "T: "
        let room = HTTP1ResponseParser.headLimit - Self.chunked.utf8.count - name.utf8.count - 4
        // The body and the lines of chunks do not count.
        let free = "1\r\nx\r\n0\r\n".utf8.count
        for (count, isAccepted) in [(room + free, true), (room + free + 1, false)] {
            let bytes = Array((Self.chunked + name + String(repeating: "a", count: count) + "\r\n\r\n").utf8)
            let reader = try? Self.parsed([bytes[...]], isStreamed: false)
            #expect((reader?.trailers.count == 1) == isAccepted)
        }
    }

    @Test func aStreamHasNoLimitAndKeepsItsCodings() throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n"
        var reader = HTTP1ResponseParser(limit: 10, cuts: true, isStreamed: true)
        try Array(head.utf8).withUnsafeBytes { try reader.read($0) }
        #expect(reader.isStreaming && reader.codings == [.gzip] && reader.takeBody().isEmpty)
        for _ in 0..<10 {
            try [UInt8](repeating: 7, count: 100).withUnsafeBytes { try reader.read($0) }
            #expect(reader.takeBody() == Data(repeating: 7, count: 100))
        }
        #expect(reader.isComplete)
    }

    @Test func theBodyOfAnErrorIsBufferedAndCut() throws {
        let text = "HTTP/1.1 404 No\r\nContent-Length: 20\r\n\r\n01234567890123456789"
        var reader = HTTP1ResponseParser(limit: 10, cuts: true, isStreamed: true)
        #expect(throws: PulseError.self) { try Array(text.utf8).withUnsafeBytes { try reader.read($0) } }
        #expect(!reader.isStreaming && reader.body.isTruncated)
        #expect(reader.body.data == Data("0123456789".utf8))
    }

    // MARK: Whole bodies

    @Test(arguments: [0, 5]) func aWholeBodyReplacesWhatHasCome(surplus: Int) throws {
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 >> 4) })
        var reader = HTTP1ResponseParser(limit: 100_000)
        try Array("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc".utf8).withUnsafeBytes { try reader.read($0) }
        #expect(reader.lengthToCopy == 100_000)
        #expect(throws: HTTP1ResponseParser.Malformed.self) { try reader.take(whole: body.dropLast()) }
        #expect(!reader.isComplete)
        try reader.take(whole: body + Data(count: surplus))
        #expect(reader.isComplete && reader.body.data == body && reader.body.receivedCount == 100_000)
        #expect(reader.surplus.count == surplus && reader.keepsConnection == (surplus == 0))
        #expect(reader.lengthToCopy == nil)
    }

    /// A body that is decoded, cut, streamed or nearly complete, and one without a length.
    @Test(arguments: [
        ("Content-Length: 100000\r\nContent-Encoding: gzip", 100_000, false), ("Content-Length: 100000", 99_999, false),
        ("Content-Length: 100000", 100_000, true), ("Content-Length: 65535", 100_000, false),
        ("Transfer-Encoding: chunked", 100_000, false), ("X: y", 100_000, false),
    ])
    func otherBodiesAreReadPieceByPiece(_ fields: String, limit: Int, isStreamed: Bool) throws {
        var reader = HTTP1ResponseParser(limit: limit, cuts: true, isStreamed: isStreamed)
        #expect(reader.lengthToCopy == nil)
        try Array("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n".utf8).withUnsafeBytes { try reader.read($0) }
        #expect(!reader.isComplete && reader.lengthToCopy == nil)
        #expect(throws: HTTP1ResponseParser.Malformed.self) { try reader.take(whole: Data(count: 100_000)) }
    }

    @Test(arguments: whole.filter { !$0.endsWithConnection })
    func noPrefixOfAResponseIsComplete(_ response: Whole) throws {
        let bytes = Array(response.text.utf8)
        for count in bytes.indices {
            var reader = HTTP1ResponseParser(.init(isHead: response.isHead), limit: 100)
            try bytes[..<count].withUnsafeBytes { try reader.read($0) }
            #expect(!reader.isComplete)
            #expect(reader.hasBegun == (count > 0))
            #expect(try !reader.readEnd())
        }
    }

    @Test(arguments: whole.filter(\.endsWithConnection))
    func aResponseWithoutALengthIsCompleteAtAnyEndAfterItsHead(_ response: Whole) throws {
        let bytes = Array(response.text.utf8)
        for count in 0...bytes.count {
            var reader = HTTP1ResponseParser(limit: 100)
            try bytes[..<count].withUnsafeBytes { try reader.read($0) }
            #expect(!reader.isComplete)
            #expect(try reader.readEnd() == (count >= bytes.count - response.body.utf8.count))
            #expect(!reader.keepsConnection)
        }
    }

    @Test(arguments: whole.filter { !$0.endsWithConnection })
    func bytesAfterTheEndPreventReuse(_ response: Whole) throws {
        for surplus in ["\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            let bytes = Array((response.text + surplus).utf8)
            for split in bytes.indices {
                var reader = HTTP1ResponseParser(.init(isHead: response.isHead), limit: 100)
                for piece in [bytes[..<split], bytes[split...]] { try piece.withUnsafeBytes { try reader.read($0) } }
                #expect(reader.body.data == Data(response.body.utf8))
                #expect(reader.head?.statusCode == response.status)
                #expect(!reader.surplus.isEmpty)
                #expect(!reader.keepsConnection)
            }
        }
    }

    @Test func anUpgradeEndsHTTPAtEverySplit() throws {
        let head =
            "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nContent-Length: 9\r\n\r\n"
        let bytes = Array((head + "HTTP/1.1 200 OK\r\n\r\n").utf8)
        for first in bytes.indices {
            for second in [first, min(first + 7, bytes.count)] {
                var reader = HTTP1ResponseParser(.init(offersUpgrade: true), limit: 100)
                for piece in [bytes[..<first], bytes[first..<second], bytes[second...]] {
                    #expect(!reader.isComplete || piece.startIndex >= head.utf8.count)
                    try piece.withUnsafeBytes { try reader.read($0) }
                }
                #expect(reader.isUpgrade && !reader.keepsConnection)
                #expect(reader.head?.statusCode == 101)
                #expect(reader.body.data.isEmpty)
                #expect(reader.surplus == Data("HTTP/1.1 200 OK\r\n\r\n".utf8))
            }
        }
    }

    @Test(arguments: [
        "HTTP/1.0 101 Switching Protocols\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nno colon\r\n\r\n",
    ])
    func aMalformedUpgradeIsRejected(_ text: String) {
        #expect(throws: HTTP1ResponseParser.Malformed.self) {
            var reader = HTTP1ResponseParser(.init(offersUpgrade: true), limit: 100)
            try Array(text.utf8).withUnsafeBytes { try reader.read($0) }
        }
    }

    @Test func anotherResponseToAnUpgradeIsNone() throws {
        var reader = HTTP1ResponseParser(.init(offersUpgrade: true), limit: 100)
        try Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na".utf8).withUnsafeBytes { try reader.read($0) }
        #expect(reader.isComplete && !reader.isUpgrade && reader.keepsConnection)
    }

    static let malformed: [String] =
        [
            "\u{16}\u{3}\u{1}", "SSH-2.0", "HTTP/2 200\r\n\r\n", "HTTP/1.2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1200 OK\r\n\r\n",
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "HTTP/1.1 200 OK\r\n: value\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: \0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n ,x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
            "HTTP/1.1 101 Other\r\n\r\n", " HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n\r\n", "HTTP/1.1 200 O\0K\r\n\r\n",
        ]
        + [
            "\r\n", "g\r\n", "-1\r\n", " 1\r\nx\r\n", "1 x\n\r\ny", "8000000000000000\r\n", "1\rx\n", "1\r\nxy",
            "1\r\nx\r\r\n", ";a\r\n", "0x1\r\n", "1g\r\n", "+1\r\n", "10000000000000001\r\n",
            "1\r\nx1\r\n", "0\r\nT: \0\r\n", "2 erfr\r\n", "1 \t2\r\n",
        ]
        .map { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + $0 } + HeadTable.refused

    @Test(arguments: malformed)
    func aResponseWithAnAmbiguousEndIsRejected(_ text: String) throws {
        let bytes = Array(text.utf8)
        for split in bytes.indices {
            #expect(throws: HTTP1ResponseParser.Malformed.self) {
                var reader = HTTP1ResponseParser(limit: 100)
                try bytes[..<split].withUnsafeBytes { try reader.read($0) }
                try bytes[split...].withUnsafeBytes { try reader.read($0) }
                // An invalid chunk line may look complete so far.
                guard !reader.isComplete else { return }
                _ = try bytes[bytes.endIndex...].withUnsafeBytes { try reader.read($0) }
            }
        }
    }

    @Test(arguments: HeadTable.read.indices)
    func eachHeadOfTheTableIsParsedAtEverySplit(index: Int) throws {
        let row = HeadTable.read[index]
        let status = row.head.dropFirst(9).prefix(3)
        let whole = Whole(
            text: row.head + row.content.sent, status: Int(status) ?? 0, body: row.content.read,
            keeps: !row.isAmbiguous && row.body != .rest && !row.head.hasPrefix("HTTP/1.0"),
            endsWithConnection: row.body == .rest)
        try aResponseIsParsedTheSameAtEverySplit(whole)
        if row.body != .rest { try noPrefixOfAResponseIsComplete(whole) }
    }

    @Test(
        arguments: [
            "X: " + String(repeating: "a", count: 400 << 10), String(repeating: "X: a\r\n", count: 80 << 10),
            "\r\n" + String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 20 << 10),
            "Transfer-Encoding: chunked\r\n\r\n0\r\n" + String(repeating: "X: a\r\n", count: 80 << 10),
            "Transfer-Encoding: chunked\r\n\r\n1;" + String(repeating: "x", count: 20 << 10),
        ])
    func theSizeOfAHeadIsBounded(_ rest: String) {
        let interim = rest.hasPrefix("\r\n")
        let bytes = Array(("HTTP/1.1 \(interim ? 103 : 200) OK\r\n" + rest).utf8)
        for size in [1000, bytes.count] {
            #expect(throws: HTTP1ResponseParser.Malformed.self) {
                var reader = HTTP1ResponseParser(limit: 100)
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try bytes[start...].prefix(size).withUnsafeBytes { try reader.read($0) }
                }
            }
        }
    }

    @Test func aHeadUpToTheLimitIsAccepted() throws {
        let (start, end) = ("HTTP/1.1 204 No\r\nX: ", "\r\n\r\n")
        let padding = String(repeating: "a", count: HTTP1ResponseParser.headLimit - start.utf8.count - end.utf8.count)
        var reader = HTTP1ResponseParser(limit: 100)
        try Array((start + padding + end).utf8).withUnsafeBytes { try reader.read($0) }
        #expect(reader.isComplete)
        #expect(throws: HTTP1ResponseParser.Malformed.self) {
            var reader = HTTP1ResponseParser(limit: 100)
            try Array((start + padding + "a" + end).utf8).withUnsafeBytes { try reader.read($0) }
        }
    }
}
#endif
