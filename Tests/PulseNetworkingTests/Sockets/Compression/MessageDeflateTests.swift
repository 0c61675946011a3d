// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

@testable import PulseSockets

/// The messages of permessage-deflate (RFC 7692, section 7.2).
@Suite(.tags(.addresses), .throttled)
struct MessageDeflateTests {
    // MARK: Compressed data of others

    /// The examples of section 7.2.3, each of "Hello" if it is not empty.
    @Test(arguments: [
        [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
        [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
        [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], [0x00],
    ])
    func theExamplesOfTheSpecificationAreRead(bytes: [UInt8]) {
        let expected = bytes == [0x00] ? "" : "Hello"
        for cuts in MessageSamples.cuts(bytes.count) {
            let inflater = MessageInflater(DeflateParameters(), of: .server)
            // Each message leaves the next one in order.
            for _ in 0..<3 {
                #expect(MessageSamples.outcome(of: inflater, Data(bytes), cutAt: cuts) == .success(Data(expected.utf8)))
            }
        }
    }

    /// Section 7.2.3.2: the second message refers to the first.
    @Test func aSecondMessageRefersToTheFirstOnlyWithContextTakeover() throws {
        let hello = Data("Hello".utf8)
        let first = Data([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), second = Data([0xF2, 0x00, 0x11, 0x00, 0x00])
        var forgetful = DeflateParameters()
        forgetful.serverNoContextTakeover = true
        for (parameters, sender, following) in [
            (DeflateParameters(), FrameReader.Sender.server, second), (forgetful, .client, second),
            (forgetful, .server, first),
        ] {
            let deflater = MessageDeflater(parameters, of: sender)
            #expect(try deflater.compress(hello) == first)
            #expect(try deflater.compress(hello) == following)
            let inflater = MessageInflater(parameters, of: sender)
            #expect(MessageSamples.outcome(of: inflater, first) == .success(hello))
            #expect(MessageSamples.outcome(of: inflater, following) == .success(hello))
        }
        let inflater = MessageInflater(forgetful, of: .server)
        #expect(MessageSamples.outcome(of: inflater, first) == .success(hello))
        #expect(MessageSamples.code(of: inflater, second) == 1007)
    }

    @Test(arguments: MessageSamples.python)
    func readsWhatPythonCompresses(sequence: MessageSamples.Sequence) throws {
        var parameters = DeflateParameters()
        parameters.clientMaxWindowBits = sequence.windowBits
        let payloads = try sequence.payloads.map { try #require(Data(base64Encoded: $0)) }
        let messages = MessageSamples.ofPython()
        #expect(payloads.count == messages.count)
        let largest = payloads.map(\.count).max() ?? 0
        for cut in 0...largest {
            let inflater = MessageInflater(parameters, of: .client)
            for (payload, message) in zip(payloads, messages) {
                #expect(
                    MessageSamples.outcome(of: inflater, payload, cutAt: [min(cut, payload.count)]) == .success(message)
                )
            }
        }
    }

    /// By Python: the second block, final as the first, refers to the bytes of the first.
    @Test func aBlockRefersToTheBytesBeforeAFinalBlock() {
        let first = Data([
            0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0xD7, 0x51, 0xF0, 0x80, 0x50, 0xE1, 0xA9, 0x49, 0xC1, 0xF9, 0xC9, 0xD9, 0xA9,
            0x25, 0x00,
        ])
        let second = Data([0x83, 0x33, 0xA0, 0x52, 0x00])
        let texts = [Data("Hello, Hello, WebSocket".utf8), Data("WebSocket, Hello".utf8)]
        for cuts in MessageSamples.cuts(first.count + second.count + 1) {
            let whole = MessageInflater(DeflateParameters(), of: .server)
            #expect(
                MessageSamples.outcome(of: whole, first + second + Data([0x00]), cutAt: cuts)
                    == .success(texts[0] + texts[1]))
        }
        let inflater = MessageInflater(DeflateParameters(), of: .server)
        for (payload, text) in zip([first, second], texts) {
            #expect(MessageSamples.outcome(of: inflater, payload + Data([0x00])) == .success(text))
        }
    }

    /// Data that needs no flush end is complete without it, and the next message begins in order.
    @Test(arguments: [
        // No byte, a final block alone, the end of the flush left in, a stored block alone, a final stored block.
        [], [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
        [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00, 0x00, 0xFF, 0xFF],
        [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F],
        [0x01, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x01],
    ])
    func dataThatIsCompleteAsItIsIsRead(bytes: [UInt8]) {
        for cuts in MessageSamples.cuts(bytes.count) {
            let inflater = MessageInflater(DeflateParameters(), of: .server)
            for _ in 0..<3 {
                #expect(
                    MessageSamples.outcome(of: inflater, Data(bytes), cutAt: cuts)
                        == .success(Data((bytes.isEmpty ? "" : "Hello").utf8)))
                #expect(
                    MessageSamples.outcome(of: inflater, Data([0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]))
                        == .success(Data("Hello".utf8)))
            }
        }
    }

    // MARK: Round trips

    @Test func anEmptyMessageIsOneByte() throws {
        let deflater = MessageDeflater(DeflateParameters(), of: .client)
        #expect(try deflater.compress(Data()) == Data([0x00]))
        _ = try deflater.compress(Data("Hello".utf8))
        #expect(try deflater.compress(Data()) == Data([0x00]))
        #expect(try deflater.compress(Data(), isLast: false) == Data())
        #expect(try deflater.compress(Data()) == Data([0x00]))
        #expect(try deflater.compress(Data("Hello".utf8)) == Data([0xF2, 0x00, 0x11, 0x00, 0x00]))
    }

    @Test(arguments: MessageSamples.allParameters)
    @HeavyWork func everyMessageComesBack(parameters: MessageSamples.Parameters) throws {
        let random = SeededRandomness(seed: 27)
        let deflater = MessageDeflater(parameters.value, of: parameters.sender)
        let inflater = MessageInflater(parameters.value, of: parameters.sender)
        var isEmptySoFar = true
        for (name, bytes) in MessageSamples.all {
            let message = Data(bytes)
            let payload = try deflater.compress(message)
            let cut = Int(random.next() % UInt64(payload.count + 1))
            let isEqual = MessageSamples.outcome(of: inflater, payload, cutAt: [cut]) == .success(message)
            #expect(isEqual, "\(name)")
            #expect(payload.count < message.count * 17 / 16 + 16, "\(name)")
            isEmptySoFar = isEmptySoFar && message.isEmpty
            #expect(deflater.holdsState == (parameters.keepsContext && !isEmptySoFar), "\(name)")
            #expect(inflater.holdsState == parameters.keepsContext, "\(name)")
        }
    }

    @Test func aMessageIsCompressedInPieces() throws {
        let random = SeededRandomness(seed: 7692)
        let message = MessageSamples.message(.text, 400, random)
        let pieces = MessageSamples.cuts(message.count)
        let deflater = MessageDeflater(DeflateParameters(), of: .client)
        let inflater = MessageInflater(DeflateParameters(), of: .client)
        for cuts in pieces {
            var payload = Data()
            for (index, piece) in MessageSamples.pieces(of: message, cutAt: cuts).enumerated() {
                payload += try deflater.compress(piece, isLast: index == cuts.count)
            }
            #expect(MessageSamples.outcome(of: inflater, payload) == .success(message))
        }
    }

    /// A peer may have no more memory than the window agreed on.
    @Test(arguments: 8...15)
    func noMessageRefersBeyondItsWindow(bits: Int) throws {
        var parameters = DeflateParameters()
        parameters.clientMaxWindowBits = bits
        let deflater = MessageDeflater(parameters, of: .client)
        let codec = try #require(SystemDeflate.inflater(windowBits: bits))
        let random = SeededRandomness(seed: UInt64(bits))
        // Repetitions at all distances: within the window, just beyond it, and in the previous message.
        let block = MessageSamples.message(.random, 1 << bits, random)
        let message = block.prefix(200) + block + block.prefix(240) + block + block.dropFirst(30) + block
        for _ in 0..<2 {
            var rest = try deflater.compress(message) + Data([0x00, 0x00, 0xFF, 0xFF])
            var output = Data()
            // In steps of a byte, so that zlib has only its window to refer to.
            while let step = codec.run(rest, room: 1, flush: .none), !rest.isEmpty || step.end == .full {
                output.append(step.output)
                rest = Data(rest.dropFirst(step.consumed))
            }
            #expect(rest.isEmpty)
            #expect(output == message)
        }
    }

    // MARK: Limits and faults

    @Test @HeavyWork func aBombStopsAtTheLimit() throws {
        let limit = 1 << 20
        let bomb = try MessageDeflater(DeflateParameters(), of: .server).compress(Data(count: 64 << 20))
        #expect(bomb.count < 70_000)
        let inflater = MessageInflater(DeflateParameters(), of: .server, maxMessageSize: limit)
        inflater.take(bomb)
        var size = 0
        let fault = try #require(throws: SocketFault.self) {
            while let piece = try inflater.next() {
                #expect(piece.count <= 64 << 10)
                size += piece.count
            }
        }
        #expect(fault.code == 1009)
        #expect(size <= limit)
        #expect(!inflater.holdsState)
        #expect(throws: fault) { try inflater.next() }
    }

    @Test func theLimitIsOfEachMessageAndExact() throws {
        for limit in [0, 1, 1000, 65_535, 65_536, 65_537, 200_000] {
            let deflater = MessageDeflater(DeflateParameters(), of: .server)
            let inflater = MessageInflater(DeflateParameters(), of: .server, maxMessageSize: limit)
            let message = Data(repeating: 7, count: limit)
            for _ in 0..<3 {
                #expect(MessageSamples.outcome(of: inflater, try deflater.compress(message)) == .success(message))
            }
            #expect(MessageSamples.code(of: inflater, try deflater.compress(message + Data([7]))) == 1009)
        }
    }

    @Test func bytesMayComeBeforeThePreviousAreRead() throws {
        let inflater = MessageInflater(DeflateParameters(), of: .server)
        for byte in [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] as [UInt8] { inflater.take(Data([byte])) }
        inflater.end()
        #expect(try inflater.next() == Data("Hello".utf8))
        #expect(try inflater.next() == nil)
    }

    /// Also what a full piece had no room for, with all input consumed.
    @Test @HeavyWork func allOutputIsReadBeforeTheMessageEnds() throws {
        for size in (64 << 10)...(64 << 10) + 300 {
            let inflater = MessageInflater(DeflateParameters(), of: .server)
            inflater.take(try MessageDeflater(DeflateParameters(), of: .server).compress(Data(count: size)))
            var count = 0
            while let piece = try inflater.next() { count += piece.count }
            #expect(count == size)
            inflater.end()
            #expect(try inflater.next() == nil)
        }
    }

    @Test func onlyWhatIsReadIsDecompressed() throws {
        let message = Data(count: 1 << 20)
        let payload = try MessageDeflater(DeflateParameters(), of: .server).compress(message)
        let inflater = MessageInflater(DeflateParameters(), of: .server)
        inflater.take(payload)
        inflater.end()
        var pieces: [Data] = []
        while let piece = try inflater.next() { pieces.append(piece) }
        #expect(pieces.count == 16)
        #expect(pieces.allSatisfy { $0.count == 64 << 10 })
        #expect(try inflater.next() == nil)
    }

    /// A changed bit may leave the data valid, and a few of them, as those of padding, change nothing.
    @Test func corruptedMessagesAreFaultsOrOtherBytes() throws {
        let random = SeededRandomness(seed: 1)
        let message = MessageSamples.message(.text, 600, random)
        let payload = try MessageDeflater(DeflateParameters(), of: .server).compress(message)
        var (faults, unchanged) = (0, 0)
        for index in payload.indices {
            for bit in 0..<8 {
                var corrupted = payload
                corrupted[index] ^= 1 << UInt8(bit)
                let inflater = MessageInflater(DeflateParameters(), of: .server, maxMessageSize: 5000)
                switch MessageSamples.outcome(of: inflater, corrupted) {
                case .success(let bytes): unchanged += bytes == message ? 1 : 0
                case .failure(let fault):
                    faults += 1
                    #expect(fault.code == 1007 || fault.code == 1009)
                    #expect(throws: fault) { try inflater.next() }
                }
            }
        }
        #expect(faults > payload.count)
        #expect(unchanged < payload.count / 8)
    }

    @Test func truncatedMessagesAreFaultsOrOtherBytes() throws {
        let random = SeededRandomness(seed: 2)
        let message = MessageSamples.message(.text, 600, random)
        let payload = try MessageDeflater(DeflateParameters(), of: .server).compress(message)
        var faults = 0
        for count in 1..<payload.count {
            switch MessageSamples.outcome(of: MessageInflater(DeflateParameters(), of: .server), payload.prefix(count))
            {
            case .success(let bytes): #expect(bytes != message)
            case .failure(let fault):
                faults += 1
                #expect(fault.code == 1007)
            }
        }
        #expect(faults > payload.count * 9 / 10)
    }

    /// A block that ends within a byte leaves bits, which must not become the beginning of the next message.
    @Test func aMessageWithoutItsLastByteIsAFaultOrLeavesTheNextOneInOrder() throws {
        let random = SeededRandomness(seed: 3)
        var faults = 0
        for size in 1...200 {
            let message = MessageSamples.message(.text, size, random)
            let deflater = MessageDeflater(DeflateParameters(), of: .server)
            let inflater = MessageInflater(DeflateParameters(), of: .server)
            guard
                case .success(let bytes) = MessageSamples.outcome(
                    of: inflater, try deflater.compress(message).dropLast())
            else {
                faults += 1
                continue
            }
            #expect(bytes == message)
            #expect(MessageSamples.outcome(of: inflater, try deflater.compress(message)) == .success(message))
        }
        #expect(faults > 100)
    }

    @Test(arguments: [
        ("a reserved type of block", [0x06]), ("a reserved type of a final block", [0x07]),
        ("a stored length without its complement", [0x00, 0x05, 0x00, 0xFA, 0xFE, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]),
        ("a distance beyond all bytes", [0xF2, 0x00, 0x11, 0x00, 0x00]),
        ("half a block", [0xF2, 0x48, 0xCD]), ("half a stored block", [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65]),
        ("half a header", [0x00, 0x05]),
        ("a gzip header", [0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03]),
        ("garbage behind a final block", [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0xFF]),
    ])
    func invalidDataIsAFault(name: String, bytes: [UInt8]) {
        for cuts in MessageSamples.cuts(bytes.count) {
            #expect(
                MessageSamples.code(of: MessageInflater(DeflateParameters(), of: .server), Data(bytes), cutAt: cuts)
                    == 1007)
        }
    }

    @Test func windowsThatDoNotExistAreFaults() throws {
        for bits in [-15, 0, 7, 16, 31] {
            var parameters = DeflateParameters()
            parameters.clientMaxWindowBits = bits
            let message = Data("Hello".utf8)
            let fault = #expect(throws: SocketFault.self) {
                try MessageDeflater(parameters, of: .client).compress(message)
            }
            #expect(fault?.code == 1011)
            #expect(MessageSamples.code(of: MessageInflater(parameters, of: .client), message) == 1011)
        }
    }
}
