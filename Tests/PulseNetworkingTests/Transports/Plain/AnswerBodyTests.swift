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

    /// `1 << 20` zeros in gzip, which are mostly zeros themselves.
    private static let zeros: [UInt8] =
        [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 8, 95, 160]
        + [UInt8](repeating: 0, count: 1016) + [62, 3, 28, 234, 56, 167, 0, 0, 16, 0]

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

    @Test func aBodyMayBeAThousandTimesAsLargeAsItsBytes() throws {
        let (bytes, size) = (Self.zeros, 1 << 20)
        for split in stride(from: 0, to: bytes.count, by: 50) {
            let body = try Self.body("gzip", [bytes[..<split], bytes[split...]], limit: size)
            #expect(body.data == Data(count: size))
        }
        #expect(try Self.body("gzip", bytes.indices.map { bytes[$0...$0] }, limit: size).data == Data(count: size))
        let error = #expect(throws: PulseError.self) { try Self.body("gzip", [bytes[...]], limit: size - 1) }
        #expect(error?.kind == .responseTooLarge)
    }

    @Test(arguments: [("gzip", gzip, 8), ("deflate", zlib, 4)])
    func aChecksumIsChecked(coding: String, base64: String, length: Int) {
        var bytes = Self.bytes(base64)
        for index in bytes.indices.suffix(length) {
            bytes[index] ^= 1
            let error = #expect(throws: TransportFailure.self) { try Self.body(coding, [bytes[...]]) }
            #expect(error?.code == .cannotDecodeContentData)
            bytes[index] ^= 1
        }
    }

    @Test(
        arguments: [
            "Content-Encoding: GZip", "content-encoding : x-gzip",
            "Content-Encoding: identity\r\nContent-Encoding: gzip",
        ])
    func undoesTheCodingThatAHeadTells(fields: String) throws {
        let body = Self.bytes(Self.gzip)
        let answer = Array("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
        for split in answer.indices {
            var reader = AnswerReader(isHead: false, limit: 100)
            for piece in [answer[..<split], answer[split...]] { try piece.withUnsafeBytes { try reader.read($0) } }
            #expect(reader.isComplete)
            #expect(reader.body.data == Self.text)
        }
    }

    /// The bytes that were told have come, and yet something is missing.
    @Test func anAnswerIsNotWholeIfItsCodingIsNot() {
        let body = Self.bytes(Self.gzip).dropLast()
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
        #expect(throws: TransportFailure.self) {
            var reader = AnswerReader(isHead: false, limit: 100)
            try (Array(head.utf8) + body).withUnsafeBytes { try reader.read($0) }
        }
    }

    @Test(arguments: [[0, 0, 0], [0, 0x1F], [0, 0x1F, 0x8B, 8]] as [[UInt8]])
    func passesOverPaddingWhicheverWayItIsSplit(padding: [UInt8]) throws {
        let bytes = Self.bytes(Self.gzip) + padding
        for split in bytes.indices {
            #expect(try Self.body("gzip", [bytes[..<split], bytes[split...]]).data == Self.text, "split at \(split)")
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
        let error = #expect(throws: PulseError.self) { try body.begin(coding: "", length: 11) }
        #expect(error?.kind == .responseTooLarge)
        #expect(throws: Never.self) { try body.begin(coding: "", length: 10) }
        // How long it is without its coding, nobody has told.
        #expect(throws: Never.self) { try body.begin(coding: "gzip", length: 11) }
    }
}
#endif
