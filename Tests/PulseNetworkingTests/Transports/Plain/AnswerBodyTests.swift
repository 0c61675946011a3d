// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore
import Testing

@testable import PulseNetworking

@Suite(.timeLimit(.minutes(1)))
struct AnswerBodyTests {
    private static let text = Data(#"{"id":42,"name":"Ada Lovelace"}"#.utf8)
    // Made by Python's gzip and zlib.
    private static let gzip = "H4sIAAAAAAACA6tWykxRsjIx0lHKS8xNVbJSckxJVPDJL0vNSUxOVaoFAB7SW3UfAAAA"
    private static let zlib = "eJyrVspMUbIyMdJRykvMTVWyUnJMSVTwyS9LzUlMTlWqBQCPZwmK"
    private static let raw = "q1bKTFGyMjHSUcpLzE1VslJyTElU8MkvS81JTE5VqgUA"

    init() {
        #expect(pulse_deflate_load())
    }

    private static func bytes(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }

    private static func body(
        _ coding: String, _ pieces: [ArraySlice<UInt8>], limit: Int = 100
    ) throws -> AnswerBody {
        var body = AnswerBody(limit: limit)
        try body.begin(coding: coding, length: nil)
        for piece in pieces { try piece.withUnsafeBytes { try body.take($0) } }
        try body.finish()
        return body
    }

    @Test(
        arguments: [
            ("gzip", gzip), ("x-gzip", gzip), ("deflate", zlib), ("deflate", raw), ("identity, gzip", gzip),
            ("gzip, none", gzip),
        ])
    func undoesACodingWhicheverWayItsBytesAreSplit(coding: String, base64: String) throws {
        let bytes = Self.bytes(base64)
        for split in bytes.indices {
            #expect(try Self.body(coding, [bytes[..<split], bytes[split...]]).data == Self.text)
        }
        let body = try Self.body(coding, bytes.indices.map { bytes[$0...$0] }, limit: Self.text.count)
        #expect(body.data == Self.text)
        #expect(body.receivedCount == Int64(bytes.count))
    }

    @Test(arguments: [("gzip", gzip), ("deflate", zlib), ("deflate", raw)])
    func noPartOfACodedBodyIsAWholeOne(coding: String, base64: String) {
        let bytes = Self.bytes(base64)
        for count in bytes.indices.dropFirst() {
            #expect(throws: TransportFailure.self) { try Self.body(coding, [bytes[..<count]]) }
        }
    }

    @Test func severalMembersAreOneBodyAndPaddingIsNone() throws {
        let twice = Self.bytes(Self.gzip) + Self.bytes(Self.gzip)
        #expect(try Self.body("gzip", [twice[...]]).data == Self.text + Self.text)
        #expect(try Self.body("gzip", [twice[...], [0, 0, 0]]).data == Self.text + Self.text)
        #expect(throws: TransportFailure.self) { try Self.body("deflate", [(Self.bytes(Self.zlib) + [0])[...]]) }
    }

    @Test(arguments: ["gzip", "deflate", "br", "gzip, gzip"])
    func whatIsNotCodedAsItSaysIsAnError(coding: String) {
        #expect {
            try Self.body(coding, [[0xFF, 0xFF, 0xFF, 0xFF]])
        } throws: {
            ($0 as? TransportFailure)?.code == .cannotDecodeContentData
        }
    }

    @Test(arguments: ["", "identity", "gzip", "deflate", "br", "none"])
    func anEmptyBodyIsNotCoded(coding: String) throws {
        #expect(try Self.body(coding, []).data.isEmpty)
    }

    @Test(arguments: [("gzip", gzip), ("deflate", zlib)])
    func theLimitCountsDecodedBytes(coding: String, base64: String) {
        #expect(throws: PulseError.self) {
            try Self.body(coding, [Self.bytes(base64)[...]], limit: Self.text.count - 1)
        }
    }

    @Test func aLengthBeyondTheLimitIsNotWaitedFor() {
        var body = AnswerBody(limit: 10)
        #expect(throws: PulseError.self) { try body.begin(coding: "", length: 11) }
    }
}
#endif
