// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.tags(.schedule), .throttled)
struct BufferedBodyTests {
    private static let text = Data(#"{"id":42,"name":"Ada Lovelace"}"#.utf8)
    // Made by Python's gzip and zlib.
    private static let gzip = "H4sIAAAAAAACA6tWykxRsjIx0lHKS8xNVbJSckxJVPDJL0vNSUxOVaoFAB7SW3UfAAAA"
    private static let zlib = "eJyrVspMUbIyMdJRykvMTVWyUnJMSVTwyS9LzUlMTlWqBQCPZwmK"
    private static let raw = "q1bKTFGyMjHSUcpLzE1VslJyTElU8MkvS81JTE5VqgUA"
    // Made by the encoders of brotli and zstd.
    private static let brotli = "Cw+AeyJpZCI6NDIsIm5hbWUiOiJBZGEgTG92ZWxhY2UifQM="
    private static let zstd = "KLUv/SAf+QAAeyJpZCI6NDIsIm5hbWUiOiJBZGEgTG92ZWxhY2UifQ=="
    private static let isLong = ProcessInfo.processInfo.environment["PULSE_STEPS"] != nil
    /// Two frames; four in release.
    private static let zstdFrames = isLong ? zstd + zstd + zstd + zstd : zstd + zstd
    /// Limits within the text, at its end, and within a second one.
    private static let limits = isLong ? [0, 10, 30, 31, 45, 70] : [10, 31, 45]
    private static let twice =
        "H4sIAAAAAAACA5Pv5mAAASbm1WGnfAI3GRleCjzlfcY3dFNQkY9nyIeT+t5nPX38QlexMshdii6VByoFANragR4zAAAA"
    private static let gzipInBrotli = "CxmAH4sIAAAAAAACA6tWykxRsjIx0lHKS8xNVbJSckxJVPDJL0vNSUxOVaoFAB7SW3UfAAAAAw=="

    // 890 bytes: words, then one letter; in zstd in frames of 90 bytes.
    private static let brotliOfText =
        "G3kD+EWHU2UjJBTKcbLjCL2gNBDYvqitPhSK0np6JFDB4ycaU/VV+OCF75onRvvJ5ws2T0ouxLKO3kXl0kZe6C2NqkFLp6oF7PL5"
        + "WgV16LW2oy7XKBPe++RIJPJb4fJFuXb6R3Ca7T0DW81zVsFLI/0aGcviFJC62UWKz9rN+0DcUmoLvMs97og5aY8MOi6npkFnXJcJ"
        + "IuN3l2Dz8n38QZRd6hMU27tyCCamLUvgON9QXYxYxpUGl4RUCzjrsY7j3W8rh/CuO381aPOO9yna9OahgSjb87t43FQ2Afaxw2ZY"
        + "Z3c2gVWIZhU6W1fzwrzs8ThMz+SZxer1unpRVF5ujRMSdOQhH/MNvug4Fc2GZ6FTM/iufPKkkWusFAM/n5zHC7Ml5WFQytodwg8="
    private static let zstdOfFrames =
        "KLUv/SBaBQIAogUPD8A1B5Ik/+9kkra51I+AT7TffSlL+cLVeaVWceZFhSJA8Cgg5tRYBNyRDY384DceDzLh02TUvGcdxvk9ACi1"
        + "L/0gWhUCAKKFDw+wJQ9Nq4Z0tLK2JKwZswh+vobs2JYIbYMH7XfIWcTh7dR7OrUCjUFRiUzL2NAB1Hd7CqnLLmiA4CCY4esBACi1"
        + "L/0gWg0CAKJFDw+w5wEkwST5bm5t7cuYRwQuVMgRNc+uuFZ5aMMVjFMR1DXYhtgBHf41aZeMi3X2Msjb04rDYJ7A8pgX7bgAKLUv"
        + "/SBaDQIAokUPD7AlD6ToJMN2N2mxV6YEIg54Qq3UmzhmdJYdGSCdbcNcjvE1L55jPYlRX1PKIiDGElxDvSzA6WrSx7xNeAAotS/9"
        + "IFoFAgCiBQ8PwKUNsvk/27ZpJ0k2XfMEJdMVOZs4huO3UMSvXjKnh43emUNwb7hUSWV/mWNJA/wBQ0STSlwcisAY+SMAKLUv/SBa"
        + "FQIAooUPD7DnAWxRQ9rWiJW7ZUYnAp61KyXG34Mpdy5PqkHBiwN+RZhU1igb3tUFeOk7QSUktqP9KZxFg4VkckGDjgYAKLUv/SBa"
        + "RQAAEHh4AQA1ASwotS/9IFpFAAAQeHgBADUBLCi1L/0gWkUAABB4eAEANQEsKLUv/SBQRQAAEHh4AQCLAiw="

    /// `1 << 20` zeros in gzip, whose bytes are mostly zeros too.
    private static let zeros: [UInt8] =
        [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 8, 95, 160]
        + [UInt8](repeating: 0, count: 1016) + [62, 3, 28, 234, 56, 167, 0, 0, 16, 0]

    init() {
        #expect(pulse_deflate_load())
    }

    private static func bytes(_ base64: String) -> [UInt8] { Array(Data(base64Encoded: base64) ?? Data()) }

    private static func body(
        _ coding: String, _ pieces: [ArraySlice<UInt8>], limit: Int = 100
    ) throws -> BufferedBody {
        var body = BufferedBody(limit: limit)
        try body.begin(codings: ContentCoding.toDecode(coding), length: nil)
        for piece in pieces { try piece.withUnsafeBytes { try body.take($0) } }
        try body.finish()
        return body
    }

    @Test(
        arguments: [
            ("gzip", gzip), ("x-gzip", gzip), ("deflate", zlib), ("deflate", raw), ("identity, gzip", gzip),
            ("gzip, none", gzip), ("br", brotli), ("zstd", zstd), ("gzip, gzip", twice), ("gzip, br", gzipInBrotli),
        ])
    func aCodedBodyIsDecodedAtEverySplit(coding: String, base64: String) throws {
        let bytes = Self.bytes(base64)
        for split in bytes.indices {
            #expect(try Self.body(coding, [bytes[..<split], bytes[split...]]).data == Self.text)
        }
        let body = try Self.body(coding, bytes.indices.map { bytes[$0...$0] }, limit: Self.text.count)
        #expect(body.data == Self.text)
        #expect(body.receivedCount == Int64(bytes.count))
    }

    @Test(
        arguments: [
            ("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("br", brotli), ("zstd", zstd), ("gzip, gzip", twice),
            ("gzip, br", gzipInBrotli),
        ])
    func noPrefixOfACodedBodyIsComplete(coding: String, base64: String) {
        let bytes = Self.bytes(base64)
        for count in bytes.indices.dropFirst() {
            #expect(throws: TransportFailure.self) { try Self.body(coding, [bytes[..<count]]) }
        }
    }

    @Test func aBodyMayBeAThousandTimesLargerThanItsCodedBytes() throws {
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
    func checksumsAreVerified(coding: String, base64: String, length: Int) {
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
            "Content-Encoding: GZip", "content-encoding:\r\n x-gzip\r",
            "Content-Encoding: identity\r\nContent-Encoding: gzip",
        ])
    func aBodyIsDecodedAsItsHeadDeclares(fields: String) throws {
        let body = Self.bytes(Self.gzip)
        let message = Array("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
        for split in message.indices {
            var reader = HTTP1ResponseParser(limit: 100)
            for piece in [message[..<split], message[split...]] { try piece.withUnsafeBytes { try reader.read($0) } }
            #expect(reader.isComplete)
            #expect(reader.body.data == Self.text)
        }
    }

    /// All declared bytes have arrived, but the coded data is incomplete.
    @Test func aResponseIsIncompleteIfItsCodingIs() {
        let body = Self.bytes(Self.gzip).dropLast()
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
        #expect(throws: TransportFailure.self) {
            var reader = HTTP1ResponseParser(limit: 100)
            try (Array(head.utf8) + body).withUnsafeBytes { try reader.read($0) }
        }
    }

    @Test(arguments: [[0, 0, 0], [0, 0x1F], [0, 0x1F, 0x8B, 8]] as [[UInt8]])
    func paddingIsSkippedAtEverySplit(padding: [UInt8]) throws {
        let bytes = Self.bytes(Self.gzip) + padding
        for split in bytes.indices {
            #expect(try Self.body("gzip", [bytes[..<split], bytes[split...]]).data == Self.text, "split at \(split)")
        }
    }

    @Test func severalGzipMembersFormOneBody() throws {
        let twice = Self.bytes(Self.gzip) + Self.bytes(Self.gzip)
        #expect(try Self.body("gzip", [twice[...]]).data == Self.text + Self.text)
        #expect(try Self.body("gzip", [twice[...], [0, 0, 0]]).data == Self.text + Self.text)
    }

    /// Browsers ignore it. Some servers send a checksum after DEFLATE without the header of zlib.
    @Test(arguments: [[0], [0x1F, 0x8B, 8, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]])
    func whatFollowsTheEndOfDeflateOrBrotliIsIgnored(surplus: [UInt8]) throws {
        let zlib = Self.bytes(Self.zlib)
        let raw = Array(zlib.dropFirst(2).dropLast(4))
        for (coding, coded) in [("deflate", zlib), ("deflate", raw), ("br", Self.bytes(Self.brotli))] {
            let bytes = coded + surplus
            for split in bytes.indices {
                let body = try Self.body(coding, [bytes[..<split], bytes[split...]])
                #expect(body.data == Self.text, "\(coding), split at \(split)")
            }
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd", "gzip, gzip", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func aBodyThatIsNotCodedAsDeclaredIsAnError(coding: String) {
        #expect {
            try Self.body(coding, [[0xFF, 0xFF, 0xFF, 0xFF]])
        } throws: {
            ($0 as? TransportFailure)?.code == .cannotDecodeContentData
        }
    }

    @Test(arguments: ["", "identity", "gzip", "deflate", "br", "zstd", "none", "gzip, gzip, gzip, gzip, gzip, gzip"])
    func anEmptyBodyIsNotCoded(coding: String) throws {
        #expect(try Self.body(coding, []).data.isEmpty)
    }

    @Test(arguments: ["utf-8", "aws-chunked", "gzip, aws-chunked", "aws-chunked, gzip", "compress", "gzip br"])
    func anUnknownCodingLeavesTheBodyUnchanged(coding: String) throws {
        #expect(ContentCoding.toDecode(coding) == [])
        let bytes = Self.bytes(Self.gzip)
        #expect(try Self.body(coding, [bytes[...]]).data == Data(bytes))
    }

    /// The decoded text of a body, or its error.
    private enum Verdict: Equatable {
        case text(Data), failure(URLError.Code), error(PulseError.Kind)
    }

    private static func verdict(_ coding: String, _ pieces: [ArraySlice<UInt8>], limit: Int) -> Verdict {
        do {
            return .text(try body(coding, pieces, limit: limit).data)
        } catch let error as TransportFailure {
            return .failure(error.code)
        } catch {
            return .error(PulseError(wrapping: error).kind)
        }
    }

    @Test(
        arguments: [
            ("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("br", brotli), ("zstd", zstd), ("gzip, gzip", twice),
            ("gzip, br", gzipInBrotli), ("gzip", gzip + gzip), ("zstd", zstdFrames),
        ])
    func aCorruptBodyBeyondTheLimitGivesTheSameErrorAtEverySplit(coding: String, base64: String) {
        // Each text was padded by itself.
        let whole = base64.replacingOccurrences(of: "==KLUv", with: "==\nKLUv").split(separator: "\n")
            .flatMap { Self.bytes(String($0)) }
        for place in whole.indices {
            var bytes = whole
            bytes[place] ^= 0x55
            for limit in Self.limits {
                let expected = Self.verdict(coding, bytes.map { [$0] }, limit: limit)
                #expect(Self.verdict(coding, [bytes[...]], limit: limit) == expected, "\(place), \(limit)")
                for split in bytes.indices {
                    let verdict = Self.verdict(coding, [bytes[..<split], bytes[split...]], limit: limit)
                    if verdict != expected { Issue.record("\(place), \(limit), split at \(split): \(verdict)") }
                }
            }
        }
    }

    /// Brotli and zstd withhold output when they fail: within one piece the failure would come first.
    @Test(arguments: [("br", brotliOfText), ("zstd", zstdOfFrames)])
    func theLimitPrecedesALaterFailureAtEverySplit(coding: String, base64: String) {
        var bytes = Self.bytes(base64)
        // What follows the end of zstd must be a frame; what follows that of Brotli is ignored.
        if coding == "br" { bytes[bytes.count - 1] ^= 0xFF } else { bytes.append(0xFF) }
        for limit in [0, 100, 900] {
            let expected = Self.verdict(coding, bytes.map { [$0] }, limit: limit)
            #expect(
                expected == (limit < 900 ? .error(.responseTooLarge) : .failure(.cannotDecodeContentData)))
            for split in bytes.indices {
                #expect(
                    Self.verdict(coding, [bytes[..<split], bytes[split...]], limit: limit) == expected,
                    "\(limit), split at \(split)")
            }
        }
    }

    @Test(arguments: ["gzip", "br", "zstd"])
    func inputThatDecodesToNothingIsLimited(coding: String) throws {
        let empty: [UInt8] =
            switch coding {
            case "gzip": Self.bytes(Self.gzip) + [UInt8](repeating: 0, count: 200_000)
            // Empty metadata blocks, or skippable frames.
            case "br": [0x0C] + [UInt8](repeating: 0x06, count: 200_000)
            default: (0..<20_000).flatMap { _ in [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2] as [UInt8] }
            }
        #expect(Self.verdict(coding, [empty[...]], limit: 100) == .error(.responseTooLarge))
        let bytewise = empty.indices.map { empty[$0...$0] }
        #expect(Self.verdict(coding, bytewise, limit: 100) == .error(.responseTooLarge))
    }

    @Test func aTruncatedBodyHasTheBytesUpToTheLimit() throws {
        for (coding, bytes) in [
            ("", Array(Self.text)), ("gzip", Self.bytes(Self.gzip)), ("br", Self.bytes(Self.brotli)),
        ] {
            for limit in [0, 10, 30] {
                var body = BufferedBody(limit: limit, cuts: true)
                try body.begin(codings: ContentCoding.toDecode(coding), length: 1000)
                #expect(throws: PulseError.self) {
                    try bytes.withUnsafeBytes { try body.take($0) }
                    try body.finish()
                }
                #expect(body.isTruncated)
                #expect(body.data == Self.text.prefix(limit))
            }
            var body = BufferedBody(limit: Self.text.count, cuts: true)
            try body.begin(codings: ContentCoding.toDecode(coding), length: 1000)
            try bytes.withUnsafeBytes { try body.take($0) }
            try body.finish()
            #expect(!body.isTruncated)
            #expect(body.data == Self.text)
        }
    }

    @Test(arguments: [("gzip", gzip), ("deflate", zlib), ("br", brotli), ("zstd", zstd)])
    func theLimitCountsDecodedBytes(coding: String, base64: String) {
        #expect(throws: PulseError.self) {
            try Self.body(coding, [Self.bytes(base64)[...]], limit: Self.text.count - 1)
        }
    }

    @Test func aDeclaredLengthBeyondTheLimitFailsAtOnce() {
        var body = BufferedBody(limit: 10)
        let error = #expect(throws: PulseError.self) { try body.begin(codings: [], length: 11) }
        #expect(error?.kind == .responseTooLarge)
        #expect(throws: Never.self) { try body.begin(codings: [], length: 10) }
        // The decoded length is unknown.
        #expect(throws: Never.self) { try body.begin(codings: [.gzip], length: 11) }
    }
}
#endif
