// SPDX-License-Identifier: MIT

import PulseCore
import PulseSockets
import TestSupport
import Testing

/// Frames of WebSockets against RFC 6455, cut at every byte.
@Suite(.throttled)
struct SocketFrameTests {
    private typealias Part = FrameReader.Part

    /// The parts of these bytes, with the payloads of each message joined, and the fault that ends them.
    private static func parts(
        _ bytes: Data, cutAt cuts: [Int] = [], of sender: FrameReader.Sender = .server, compressed: Bool = false,
        limit: Int = .max
    ) -> (parts: [Part], fault: SocketFault?) {
        var reader = FrameReader(of: sender, mayBeCompressed: compressed, maxMessageSize: limit)
        var parts: [Part] = []
        var start = 0
        for end in cuts + [bytes.count] {
            reader.take(bytes[(bytes.startIndex + start)..<(bytes.startIndex + end)])
            start = end
            do {
                while let part = try reader.next() {
                    if case .bytes(let new) = part, case .bytes(let before) = parts.last {
                        parts[parts.count - 1] = .bytes(before + new)
                    } else {
                        parts.append(part)
                    }
                }
            } catch {
                return (parts, error)
            }
        }
        return (parts, nil)
    }

    /// Reads the bytes whole, cut at every byte, and byte by byte: the outcome is the same.
    private static func expect(
        _ bytes: [UInt8], _ expected: [Part], fault: Int? = nil, of sender: FrameReader.Sender = .server,
        compressed: Bool = false, limit: Int = .max, _ location: SourceLocation = #_sourceLocation
    ) {
        let data = Data(bytes)
        let cuts = (0...data.count).map { [$0] } + [[], Array(1..<max(1, data.count))]
        for cut in cuts {
            let result = parts(data, cutAt: cut, of: sender, compressed: compressed, limit: limit)
            #expect(result.fault?.code == fault, "cut at \(cut)", sourceLocation: location)
            #expect(result.parts == expected, "cut at \(cut)", sourceLocation: location)
        }
    }

    private static func message(_ text: String) -> [Part] {
        [.begin(isText: true, isCompressed: false)] + (text.isEmpty ? [] : [.bytes(Data(text.utf8))]) + [.end]
    }

    // MARK: Legal frames

    /// The examples of section 5.7.
    @Test func theExamplesOfTheSpecificationAreRead() {
        Self.expect([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], Self.message("Hello"))
        Self.expect(
            [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], Self.message("Hello"), of: .client)
        Self.expect([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], Self.message("Hello"))
        Self.expect([0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], [.ping(Data("Hello".utf8))])
        Self.expect(
            [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58], [.pong(Data("Hello".utf8))],
            of: .client)
        Self.expect(
            [0x82, 0x7E, 0x01, 0x00] + [UInt8](repeating: 7, count: 256),
            [.begin(isText: false, isCompressed: false), .bytes(Data(repeating: 7, count: 256)), .end])
    }

    @Test func controlFramesComeBetweenFragments() {
        Self.expect(
            [0x01, 0x01, 0x61, 0x89, 0x01, 0x70, 0x00, 0x00, 0x8A, 0x00, 0x80, 0x01, 0x62],
            [
                .begin(isText: true, isCompressed: false), .bytes(Data("a".utf8)), .ping(Data("p".utf8)), .pong(Data()),
                .bytes(Data("b".utf8)), .end,
            ])
    }

    @Test func emptyFramesAreLegal() {
        Self.expect([0x81, 0x00], Self.message(""))
        Self.expect([0x01, 0x00, 0x00, 0x00, 0x80, 0x00], Self.message(""))
        Self.expect([0x89, 0x00], [.ping(Data())])
        Self.expect([0x88, 0x00], [.close(SocketClose(code: 1005))])
    }

    @Test func aCompressedMessageHasTheBitInItsFirstFrame() {
        Self.expect(
            [0x41, 0x01, 0xFF, 0x80, 0x01, 0xFE],
            [.begin(isText: true, isCompressed: true), .bytes(Data([0xFF, 0xFE])), .end], compressed: true)
    }

    @Test func nothingIsReadBehindAClose() {
        Self.expect(
            [0x88, 0x04, 0x03, 0xE8, 0x6F, 0x6B, 0x81, 0x01, 0x61, 0xFF],
            [.close(SocketClose(code: 1000, reason: "ok"))])
    }

    // MARK: Illegal frames

    @Test(arguments: [
        ("a reserved opcode", [0x83, 0x00]), ("a reserved control opcode", [0x8B, 0x00]),
        ("the first bit", [0xC1, 0x00]), ("the second bit", [0xA1, 0x00]), ("the third bit", [0x91, 0x00]),
        ("a mask of a server", [0x81, 0x80, 1, 2, 3, 4]), ("a ping in fragments", [0x09, 0x00]),
        ("a long ping", [0x89, 0x7E, 0x00, 0x7E]), ("a long close", [0x88, 0x7F]),
        ("a stray continuation", [0x80, 0x00]), ("a message within a message", [0x01, 0x00, 0x81, 0x00]),
        ("125 bytes in three", [0x82, 0x7E, 0x00, 0x7D]),
        ("65535 bytes in nine", [0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]),
        ("a negative length", [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0]), ("a close of one byte", [0x88, 0x01, 0x03]),
        ("code 0", [0x88, 0x02, 0x00, 0x00]), ("code 999", [0x88, 0x02, 0x03, 0xE7]),
        ("code 1004", [0x88, 0x02, 0x03, 0xEC]), ("code 1005", [0x88, 0x02, 0x03, 0xED]),
        ("code 1006", [0x88, 0x02, 0x03, 0xEE]), ("code 1015", [0x88, 0x02, 0x03, 0xF7]),
        ("code 2999", [0x88, 0x02, 0x0B, 0xB7]), ("code 5000", [0x88, 0x02, 0x13, 0x88]),
    ])
    func anIllegalFrameIsAProtocolError(name: String, bytes: [UInt8]) {
        let whole = Self.parts(Data([0x81, 0x01, 0x61] + bytes))
        #expect(whole.fault?.code == 1002)
        // What came before is delivered.
        #expect(Array(whole.parts.prefix(3)) == Self.message("a"))
        for cut in 0...(bytes.count) { #expect(Self.parts(Data(bytes), cutAt: [cut]).fault?.code == 1002) }
    }

    @Test func whatCompressionChangesIsIllegalElsewhere() {
        for bytes: [UInt8] in [[0xC9, 0x00], [0x01, 0x00, 0xC0, 0x00], [0xE1, 0x00]] {
            #expect(Self.parts(Data(bytes), compressed: true).fault?.code == 1002)
        }
        Self.expect([0x81, 0x00], [], fault: 1002, of: .client)
    }

    @Test func aFaultIsFoundAtItsByteAndStays() throws {
        var reader = FrameReader(of: .server)
        reader.take(Data([0x83]))
        #expect(throws: SocketFault.self) { try reader.next() }
        reader.take(Data([0x81, 0x00]))
        #expect(throws: SocketFault.self) { try reader.next() }
    }

    @Test func theLimitHoldsBeforeTheBytesCome() {
        Self.expect([0x82, 0x7F, 0x7F, 255, 255, 255, 255, 255, 255, 255], [], fault: 1009, limit: 1 << 20)
        #expect(Self.parts(Data([0x82, 0x05])).fault == nil)
        #expect(Self.parts(Data([0x82, 0x05]), limit: 4).fault?.code == 1009)
        let fragments: [UInt8] = [0x02, 0x03, 1, 2, 3, 0x80, 0x02]
        #expect(Self.parts(Data(fragments), limit: 5).fault == nil)
        #expect(Self.parts(Data(fragments), limit: 4).fault?.code == 1009)
        // The limit is that of each message.
        Self.expect(
            [0x82, 0x01, 1, 0x82, 0x01, 2],
            [1, 2].flatMap { [.begin(isText: false, isCompressed: false), .bytes(Data([$0])), .end] as [Part] },
            limit: 1)
    }

    // MARK: Text

    @Test func textIsCheckedAcrossFragmentsAndAtItsFirstBadByte() {
        let euro = Array("€".utf8)
        Self.expect([0x01, 0x01, euro[0], 0x80, 0x02] + euro[1...], Self.message("€"))
        // The rest of the message is not waited for.
        let early = Self.parts(Data([0x81, 0x7D, 0x61, 0xFF]))
        #expect(early.fault?.code == 1007)
        #expect(Self.parts(Data([0x81, 0x02, euro[0], euro[1]])).fault?.code == 1007)
        #expect(Self.parts(Data([0x82, 0x02, 0xFF, 0xFE])).fault == nil)
        #expect(Self.parts(Data([0x88, 0x03, 0x03, 0xE8, 0xFF])).fault?.code == 1007)
    }

    /// As Foundation and the standard library see it.
    @Test func theValidatorAgreesWithTheStandardLibrary() {
        var generator = SplitMix64(seed: 27)
        let special: [UInt8] = [
            0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
            0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ]
        func check(_ bytes: [UInt8]) {
            var validator = UTF8Validator()
            let isValid = validator.accepts(bytes) && validator.isComplete
            #expect(isValid == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
            for cut in 0...bytes.count {
                var parts = UTF8Validator()
                let isValidInParts =
                    parts.accepts(bytes[..<cut]) && parts.accepts(bytes[cut...]) && parts.isComplete
                #expect(isValidInParts == isValid, "\(bytes) cut at \(cut)")
            }
        }
        for a in special { for b in special { for c in special { check([a, b, c, 0x80]) } } }
        for _ in 0..<500 {
            let text = String(
                String.UnicodeScalarView(
                    (0..<8).compactMap { _ in
                        Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator))
                    }))
            check(Array(text.utf8))
            var damaged = Array(("12345678" + text).utf8)
            damaged[Int.random(in: 0..<damaged.count, using: &generator)] =
                special.randomElement(using: &generator) ?? 0
            check(damaged)
        }
    }

    // MARK: Writing

    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 65_535, 65_536, 100_000])
    func whatIsWrittenIsRead(size: Int) {
        let payload = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for mask: (UInt8, UInt8, UInt8, UInt8)? in [nil, (1, 2, 3, 4)] {
            let frame = FrameWriter.frame(.binary, payload, mask: mask)
            let cuts = [0, 1, 2, 3, 5, 9, 10, 13, 14, 15, 17].filter { $0 <= frame.count }
            for cut in cuts {
                let result = Self.parts(frame, cutAt: [cut], of: mask == nil ? .server : .client)
                #expect(
                    result.parts == [.begin(isText: false, isCompressed: false)]
                        + (size == 0 ? [] : [.bytes(payload)]) + [.end])
            }
        }
    }

    @Test func aMaskIsTheSameForAllPieces() {
        let payload = Data((0..<40).map { UInt8($0) })
        var whole = payload
        var mask = SocketMask(key: (9, 8, 7, 6))
        mask.apply(to: &whole)
        #expect(whole.enumerated().allSatisfy { $0.element == UInt8($0.offset) ^ [9, 8, 7, 6][$0.offset & 3] })
        for first in 0...20 {
            for second in first...40 {
                var mask = SocketMask(key: (9, 8, 7, 6))
                var pieces = [payload[..<first], payload[first..<second], payload[second...]]
                for index in pieces.indices { mask.apply(to: &pieces[index]) }
                #expect(pieces.reduce(Data(), +) == whole)
            }
        }
    }

    @Test func aCloseIsWrittenAsItIsRead() throws {
        for close in [SocketClose(code: 1000), SocketClose(code: 4999, reason: "später"), SocketClose(code: 1005)] {
            let frame = FrameWriter.frame(.close, try #require(close.payload), mask: nil)
            #expect(Self.parts(frame).parts == [.close(close)])
        }
        for close in [
            SocketClose(code: 1006), SocketClose(code: 999), SocketClose(code: 1005, reason: "x"),
            SocketClose(code: 1000, reason: String(repeating: "x", count: 124)),
        ] {
            #expect(close.payload == nil)
        }
    }

    @Test func theKeyOfTheStandardHasItsProof() {
        #expect(SocketHandshake.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
}
