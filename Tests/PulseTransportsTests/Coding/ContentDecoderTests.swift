// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseCore
import TestSupport
import Testing

@testable import PulseTransports

@Suite(.throttled)
struct ContentDecoderTests {
    /// 4 MiB of zeros in gzip, twice over.
    private static let bomb = Data(
        base64Encoded:
            "H4sIAAAAAAACA5Pv5mAAASbmtwcZGYGMJoX/6/M8HBgZRsEoGAWjYBSMglEwCkbBKBgFo2AUjIJRMNRBjXSWg7sgA4MDAwBZZBRb"
            + "AhAAAA==")
    /// 1 MiB of zeros.
    private static let small: [(ContentCoding, Data?)] = [
        (.brotli, Data(base64Encoded: "W///j38CIB4LBHLvHwA=")),
        (.zstd, Data(base64Encoded: "KLUv/aAAABAAVAAAEAAAAQD7/znAAgIAEAACABAAAgAQAAIAEAACABAAAgAQAAMAEAA=")),
    ]

    private static func stream(_ codings: [ContentCoding], _ pieces: [Data]) -> DecodedStream {
        let rest = Locked(pieces[...])
        return DecodedStream(codings) { rest.withLock { $0.popFirst() } }
    }

    private static func count(_ stream: DecodedStream) async throws -> (pieces: Int, bytes: Int) {
        var (pieces, bytes) = (0, 0)
        while let piece = try await stream.read() {
            #expect(piece.count <= 32 << 10)
            #expect(piece.allSatisfy { $0 == 0 })
            (pieces, bytes) = (pieces + 1, bytes + piece.count)
        }
        #expect(stream.decodedCount == Int64(bytes))
        return (pieces, bytes)
    }

    @Test func aStreamDecodesNoMoreThanIsRead() async throws {
        let bomb = try #require(Self.bomb)
        #expect(try await Self.count(Self.stream([.gzip, .gzip], [bomb])).bytes == 4 << 20)
        #expect(try await Self.count(Self.stream([.gzip, .gzip], bomb.map { Data([$0]) })).bytes == 4 << 20)
        for (coding, data) in Self.small {
            #expect(try await Self.count(Self.stream([coding], [try #require(data)])).bytes == 1 << 20)
        }
    }

    @Test func aStreamReadsNoMoreInputThanItNeeds() async throws {
        let bomb = try #require(Self.bomb)
        let asked = Locked(0)
        let stream = DecodedStream([.gzip, .gzip]) {
            asked.withLock { asked in
                defer { asked += 1 }
                return asked == 0 ? bomb : nil
            }
        }
        for _ in 0..<100 { _ = try await stream.read() }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func aTruncatedStreamFailsAfterItsDecodableBytes() async throws {
        let bomb = try #require(Self.bomb)
        for count in stride(from: 1, to: bomb.count, by: 7) {
            let stream = Self.stream([.gzip, .gzip], [bomb.prefix(count)])
            let error = await #expect(throws: TransportFailure.self) {
                while try await stream.read() != nil {}
            }
            #expect(error?.code == .cannotDecodeContentData)
        }
    }

    @Test func aDecodingWindowBeyondTheStandardLimitIsRejected() async throws {
        // A frame that asks for 16 MiB (RFC 8878, section 3.1.1.1.2), with one block of one byte.
        let frame = Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x70, 0x09, 0x00, 0x00, 0x61])
        await #expect(throws: TransportFailure.self) { try await Self.stream([.zstd], [frame]).read() }
        var allowed = frame
        allowed[5] = 0x68
        #expect(try await Self.stream([.zstd], [allowed]).read() == Data("a".utf8))
    }

    @Test func moreThanFiveContentCodingsAreRejected() async throws {
        let five = [ContentCoding](repeating: .gzip, count: 5)
        await #expect(throws: TransportFailure.self) { try await Self.stream(five + [.gzip], [Data([0x1F])]).read() }
        #expect(try await Self.stream(five + [.gzip], []).read() == nil)
    }

    @Test(
        arguments: [
            (true, false, "gzip, deflate, br, zstd"), (false, false, "gzip, deflate"), (true, true, "identity"),
            (false, true, "identity"),
        ])
    func acceptEncodingListsTheSupportedCodings(isSecure: Bool, hasRange: Bool, value: String) {
        #expect(ContentCoding.available == ContentCoding.allCases)
        #expect(ContentCoding.acceptEncoding(isSecure: isSecure, hasRange: hasRange) == value)
    }
}
#endif
