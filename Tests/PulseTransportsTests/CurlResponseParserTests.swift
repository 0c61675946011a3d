// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// libcurl passes the lines of a head one by one, whatever it makes of them.
@Suite(.throttled, .timeLimit(.minutes(15)))
struct CurlResponseParserTests {
    private static func parser(
        of head: String, _ traits: CurlResponseParser.RequestTraits = .init()
    ) -> (CurlResponseParser, CurlResponseParser.Step) {
        var parser = CurlResponseParser()
        var step = CurlResponseParser.Step.proceed
        var status = 0
        // Splits bytes: Swift treats CR LF as one character.
        for bytes in head.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
            let line = String(Substring(bytes))
            if line.hasPrefix("HTTP/") { status = Int(line.split(separator: " ")[1].prefix(3)) ?? 0 }
            step = (Array(bytes) + [0x0A]).withUnsafeBytes { bytes in
                parser.receive(bytes, for: traits) { status }
            }
            if case .proceed = step { continue }
            break
        }
        return (parser, step)
    }

    @Test(arguments: HeadTable.read.indices)
    func eachHeadOfTheTableIsParsed(index: Int) {
        let row = HeadTable.read[index]
        let (parser, step) = Self.parser(of: row.head)
        #expect(step == .head)
        let length: ResponseFraming.BodyLength =
            switch row.body {
            case .none: .none
            case .length(let count): .bytes(Int64(count))
            case .chunks: .chunks
            case .rest: .rest
            }
        #expect(parser.bodyLength == length)
        #expect(parser.framing.isAmbiguous == row.isAmbiguous)
        #expect(parser.endsWithConnection == (row.body == .rest))
        #expect(Self.parser(of: row.head, .init(isHead: true)).0.bodyLength == .none)
    }

    @Test(arguments: HeadTable.refused)
    func aHeadWithAnAmbiguousEndIsRejected(head: String) {
        #expect(Self.parser(of: head).1 == .bad)
    }

    @Test func interimHeadsAreValidated() {
        let end = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
        #expect(Self.parser(of: "HTTP/1.1 103 Early\r\nTransfer-Encoding: gzip\r\n\r\n" + end).1 == .head)
        #expect(Self.parser(of: "HTTP/1.1 103 Early\r\nX : y\r\n\r\n" + end).1 == .bad)
    }

    @Test func aProtocolSwitchIsAcceptedOnlyIfRequested() {
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
        #expect(Self.parser(of: head).1 == .bad)
        #expect(Self.parser(of: head, .init(asksForUpgrade: true)).1 == .head)
    }

    @Test func aMissingLengthOverHTTP2DoesNotEndTheConnection() {
        let (parser, step) = Self.parser(of: "HTTP/2 200 \r\ncontent-encoding: gzip\r\n\r\n")
        #expect(step == .head)
        #expect(!parser.endsWithConnection)
        #expect(parser.codings == [.gzip])
    }

    @Test(
        arguments: [
            ("gzip", "200", [.gzip]), ("GZIP,, deflate", "200", [.deflate, .gzip]), ("x-gzip", "404", [.gzip]),
            ("gzip", "206", []), ("gzip", "204", []), ("gzip", "304", []), ("utf-8", "200", []),
            ("identity", "200", []), ("gzip\r\nContent-Encoding: br", "200", [.brotli, .gzip]),
            ("gzip\r\n , zstd", "200", [.zstd, .gzip]),
        ] as [(String, String, [ContentCoding])])
    func theContentCodingsAreParsed(field: String, status: String, codings: [ContentCoding]) {
        let head = "HTTP/1.1 \(status) OK\r\nContent-Encoding: \(field)\r\nContent-Length: 5\r\n\r\n"
        #expect(Self.parser(of: head).0.codings == codings)
        #expect(Self.parser(of: head, .init(isHead: true)).0.codings == [])
    }
}
#endif
