// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@testable import PulseSockets

/// The messages of one connection, with compression and its faults.
@Suite(.throttled)
struct SocketCodecTests {
    private static func deflated(_ data: Data) throws -> Data {
        try MessageDeflater(DeflateParameters(), of: .server).compress(data)
    }

    private static func frame(_ opcode: SocketOpcode, _ payload: Data, isCompressed: Bool = false) -> Data {
        FrameWriter.frame(opcode, payload, isCompressed: isCompressed, mask: nil)
    }

    /// The code that each attempt to go on throws, and the number of messages before.
    private static func fault(
        of bytes: Data, in pieces: Int = .max, limit: Int = 1 << 20
    ) -> (codes: [Int], messages: Int) {
        var decoder = SocketDecoder(DeflateParameters(), maxMessageSize: limit)
        var (codes, messages, rest) = ([Int](), 0, bytes)
        while !rest.isEmpty {
            decoder.take(Data(rest.prefix(pieces)))
            rest = Data(rest.dropFirst(pieces))
            do throws(SocketFault) {
                while try decoder.next() != nil { messages += 1 }
            } catch {
                codes.append(error.code)
            }
        }
        return (codes, messages)
    }

    /// Nothing that follows a fault is a message: neither the rest of the bad one, nor another.
    @Test(arguments: [7, 1000, Int.max]) func aFaultIsTheEnd(pieces: Int) throws {
        guard DeflateParameters.offer != nil else { return }
        var text = Data(String(repeating: "a", count: 200_000).utf8)
        text[100_000] = 0xFF
        let valid = try Self.deflated(Data(repeating: 1, count: 100_000))
        let plain = Self.frame(.text, Data("plain".utf8))
        let bad = [
            Self.frame(.text, try Self.deflated(text), isCompressed: true),
            Self.frame(.binary, valid.dropLast(9) + Data(repeating: 0xFF, count: 9), isCompressed: true),
        ]
        for frame in bad {
            let (codes, messages) = Self.fault(of: plain + frame + plain + plain, in: pieces)
            #expect(messages == 1 && Set(codes) == [1007])
        }
    }

    /// A header costs a peer nothing, so it takes no memory of this side beyond the limit.
    @Test func anEndlessFrameIsNoReasonToReserveMemory() {
        let header = Data([0x82, 127, 0x3F] + [UInt8](repeating: 0xFF, count: 7))
        let (codes, messages) = Self.fault(of: header + Data(repeating: 1, count: 100_001), in: 1000, limit: 100_000)
        #expect(messages == 0 && Set(codes) == [1009])
    }

    /// Neither does it below a limit beyond all memory.
    @Test(arguments: [Int.max, 64 << 30])
    func anAnnouncedSizeIsNoReasonToReserveMemory(limit: Int) {
        for length: [UInt8] in [
            [0, 0x8A, 0x8E, 0x44, 0x9E, 0x8D, 0x80, 0], [0, 0, 0, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ] {
            let (codes, messages) = Self.fault(of: Data([0x82, 127] + length + [0x78, 0x78]), in: 11, limit: limit)
            #expect(messages == 0 && Set(codes).isSubset(of: [1009]))
        }
    }

    /// The limit counts the bytes after decompression, also if they are fewer than those on the wire.
    @Test func theLimitCountsDecompressedBytes() throws {
        guard DeflateParameters.offer != nil else { return }
        let random = SeededRandomness(seed: 7)
        for (size, isAllowed) in [(100_000, true), (100_001, false)] {
            let noise = Data((0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            let deflated = try Self.deflated(noise)
            #expect(deflated.count > size)
            for (payload, isCompressed) in [(deflated, true), (noise, false)] {
                let frame = Self.frame(.binary, payload, isCompressed: isCompressed)
                let (codes, messages) = Self.fault(of: frame, limit: 100_000)
                #expect(messages == (isAllowed ? 1 : 0) && codes == (isAllowed ? [] : [1009]))
            }
        }
        let bomb = try Self.deflated(Data(repeating: 0, count: 10 << 20))
        #expect(bomb.count < 20_000)
        #expect(Self.fault(of: Self.frame(.binary, bomb, isCompressed: true), limit: 100_000).codes == [1009])
    }

    /// A compressor of little memory, such as that of Python's `websockets`, stores noise in small blocks.
    @Test func theLimitCountsNoHeadersOfBlocks() throws {
        guard DeflateParameters.offer != nil else { return }
        let stored = Data([0x00, 10, 0, 0xF5, 0xFF]) + Data(repeating: 7, count: 10)
        for (blockCount, isAllowed) in [(100, true), (101, false)] {
            let payload = Data((0..<blockCount).flatMap { _ in stored })
            // In one frame, and in a frame for each block.
            let whole = Self.frame(.binary, payload, isCompressed: true)
            let parts = (0..<blockCount).reduce(into: Data()) { bytes, number in
                FrameWriter.append(
                    number == 0 ? .binary : .continuation, stored, isFinal: number == blockCount - 1,
                    isCompressed: number == 0, mask: nil, to: &bytes)
            }
            for bytes in [whole, parts] {
                let (codes, messages) = Self.fault(of: bytes, limit: 1000)
                #expect(messages == (isAllowed ? 1 : 0) && codes == (isAllowed ? [] : [1009]))
            }
        }
    }

    /// An application may index the bytes of a message from 0.
    @Test func messagesBeginAtZero() throws {
        var decoder = SocketDecoder(maxMessageSize: 100)
        decoder.take(Self.frame(.binary, Data([1, 2, 3])))
        guard case .message(.binary(let data)) = try decoder.next() else {
            Issue.record("no message")
            return
        }
        #expect(data.startIndex == 0 && data == Data([1, 2, 3]))
    }
}
