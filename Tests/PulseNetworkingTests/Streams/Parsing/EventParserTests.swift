// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStreams

@Suite(.tags(.schedule), .throttled)
struct EventParserTests {
    private typealias Output = EventParser.Output

    private static func parse(_ chunks: [Data], lastEventID: String = "") throws -> (outputs: [Output], id: String) {
        var parser = EventParser(maxEventSize: 1 << 20, lastEventID: lastEventID)
        var outputs: [Output] = []
        for chunk in chunks {
            parser.append(chunk)
            while let output = try parser.next() { outputs.append(output) }
        }
        return (outputs, parser.lastEventID)
    }

    private static func events(_ text: String, lastEventID: String = "") throws -> [ServerSentEvent] {
        try parse([Data(text.utf8)], lastEventID: lastEventID).outputs.compactMap {
            if case .event(let event) = $0 { event } else { nil }
        }
    }

    /// The rules of section 9.2.6, over whole lines.
    private static func model(_ bytes: [UInt8]) -> (outputs: [Output], id: String) {
        var bytes = bytes[...]
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
        var lines: [[UInt8]] = []
        var line: [UInt8] = []
        var previous: UInt8 = 0
        for byte in bytes {
            switch byte {
            case 0x0A where previous == 0x0D: break
            case 0x0A, 0x0D:
                lines.append(line)
                line = []
            default: line.append(byte)
            }
            previous = byte
        }
        var (outputs, data, type, id, lastID) = ([Output](), [UInt8](), "", "", "")
        for line in lines {
            if line.isEmpty {
                lastID = id
                if !data.isEmpty {
                    let text = String(decoding: data.dropLast(), as: UTF8.self)
                    outputs.append(.event(ServerSentEvent(type: type.isEmpty ? "message" : type, data: text, id: id)))
                }
                (data, type) = ([], "")
                continue
            }
            let parts = line.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
            var value = parts.count > 1 ? Array(parts[1]) : []
            if value.first == 0x20 { value.removeFirst() }
            switch String(decoding: parts[0], as: UTF8.self) {
            case "data": data += value + [0x0A]
            case "event": type = String(decoding: value, as: UTF8.self)
            case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
            case "retry":
                if !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) {
                    outputs.append(.retry(milliseconds: Int(String(decoding: value, as: UTF8.self)) ?? .max))
                }
            default: break
            }
        }
        return (outputs, lastID)
    }

    private static let pieces: [[UInt8]] =
        [
            "data", "data:", "data: ", "id", "id: ", "id:1", "event:", "event: e", "retry:", "retry: 10", ":", " ", "x",
            "é",
        ]
        .map { Array($0.utf8) } + [
            [0x0A], [0x0A], [0x0D], [0x0D, 0x0A], [0x0A, 0x0A], [0xFF], [0xC3], [0], [0xEF, 0xBB, 0xBF],
        ]

    private typealias Parsed = (outputs: [Output], id: String)

    private func expect(_ expected: Parsed, of bytes: [UInt8], in chunks: [Data]) throws {
        let found = try Self.parse(chunks)
        guard found != expected else { return }
        Issue.record("\(bytes.debugText) in \(chunks.map(Array.init)): \(found), expected \(expected)")
    }

    @Test func everySplitOfShortInputsGivesTheSame() throws {
        var random = SplitMix64(seed: 1)
        for length in [4, 6, 8, 10, 12, 12, 12, 14, 16] {
            try expectTheSameAtEverySplit(of: Splits.input(Self.pieces, upTo: length, &random))
        }
        for text in ["data:a\r\n\r\ndata\n\n", "id:1\r\rdata:b\n\n\r", "\u{FEFF}\u{FEFF}data:a\n\n"] {
            try expectTheSameAtEverySplit(of: Array(text.utf8))
        }
    }

    private func expectTheSameAtEverySplit(of bytes: [UInt8]) throws {
        let expected = Self.model(bytes)
        try Splits.all(of: bytes) { try expect(expected, of: bytes, in: $0) }
    }

    @Test func everyTwoCutsGiveTheSame() throws {
        var random = SplitMix64(seed: 2)
        for _ in 0..<20 {
            let bytes = Splits.input(Self.pieces, upTo: 48, &random)
            let expected = Self.model(bytes)
            try Splits.pairs(of: bytes) { try expect(expected, of: bytes, in: $0) }
        }
    }

    @Test func randomInputsAgreeWithTheModel() throws {
        var random = SplitMix64(seed: 3)
        for _ in 0..<2_000 {
            let bytes = Splits.input(Self.pieces, upTo: Int(random.next() % 400), &random)
            try expect(Self.model(bytes), of: bytes, in: Splits.random(of: bytes, &random))
        }
    }

    @Test func aTruncatedInputGivesAPrefix() throws {
        var random = SplitMix64(seed: 4)
        for _ in 0..<50 {
            let bytes = Splits.input(Self.pieces, upTo: 100, &random)
            let whole = try Self.parse([Data(bytes)]).outputs
            for end in 0...bytes.count {
                let part = try Self.parse([Data(bytes[..<end])]).outputs
                #expect(whole.starts(with: part), "\(bytes.debugText) cut at \(end)")
            }
        }
    }

    /// The examples of section 9.2.6.
    @Test func readsTheExamplesOfTheSpecification() throws {
        #expect(
            try Self.events("data: YHOO\ndata: +2\ndata: 10\n\n") == [ServerSentEvent(data: "YHOO\n+2\n10")])
        let four = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
        #expect(
            try Self.events(four) == [
                ServerSentEvent(data: "first event", id: "1"), ServerSentEvent(data: "second event"),
                ServerSentEvent(data: " third event"),
            ])
        #expect(
            try Self.events("data\n\ndata\ndata\n\ndata:") == [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")])
        #expect(try Self.events("data:test\n\ndata: test\n\n").map(\.data) == ["test", "test"])
    }

    @Test func theIDMovesWithoutDataAndStaysInForce() throws {
        #expect(try Self.parse([Data("id: 7\n\n".utf8)]).id == "7")
        #expect(try Self.parse([Data("id: 7\n".utf8)]).id == "")
        #expect(try Self.events("id: 7\n\ndata: a\n\ndata: b\n\n").map(\.id) == ["7", "7"])
        #expect(try Self.events("data: a\n\n", lastEventID: "6").map(\.id) == ["6"])
        #expect(try Self.events("id: a\0b\ndata: a\n\n", lastEventID: "6").map(\.id) == ["6"])
    }

    @Test func aLineEndByCRDispatchesAtOnce() throws {
        #expect(try Self.events("data: a\r\r").map(\.data) == ["a"])
        #expect(try Self.events("data: a\r\n\r").map(\.data) == ["a"])
    }

    /// Copying the data for each line would take longer than the time limit, in release.
    @Test func anEventOfVeryManyLinesIsRefusedInLinearTime() throws {
        let limit = ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 1 << 20 : 32 << 20
        var parser = EventParser(maxEventSize: limit)
        let lines = Data(String(repeating: "data:\n", count: 10_000).utf8)
        let error = #expect(throws: PulseError.self) {
            // Without their ends, 50,000 bytes.
            for _ in 0...limit / 50_000 {
                parser.append(lines)
                while try parser.next() != nil {}
            }
        }
        #expect(error?.kind == .responseTooLarge)
    }

    @Test func anEventAboveTheLimitIsRefused() throws {
        for (text, isRefused) in [
            ("data: 345678\n\n", false), ("data: 3456789\n\n", true), ("data: 3456789", true),
            ("data:45\ndata:2345", true),
            ("id: 12345678901\n", true), ("id: 1\nid: 2\nid: 3\n", true),
            ("data:\u{0}\n\n:123456789012345\ndata:1\n\n", false),
        ] {
            var parser = EventParser(maxEventSize: 12)
            parser.append(Data(text.utf8))
            do {
                while try parser.next() != nil {}
                #expect(!isRefused, "\(text.debugDescription)")
            } catch PulseError.responseTooLarge(let limit) {
                #expect(isRefused && limit == 12, "\(text.debugDescription)")
            }
        }
    }

    @Test func bytesThatAreReplacedCountAsTheyAreKept() throws {
        var parser = EventParser(maxEventSize: 100)
        parser.append(Data("data:".utf8) + Data(repeating: 0xFF, count: 60) + Data("\n\n".utf8))
        let error = #expect(throws: PulseError.self) { try parser.next() }
        #expect(error?.kind == .responseTooLarge)
    }

    @Test func aCommentOfAnyLengthIsNotKept() throws {
        var parser = EventParser(maxEventSize: 100)
        parser.append(Data("data: a\n:".utf8))
        #expect(try parser.next() == nil)
        for _ in 0..<1_000 {
            parser.append(Data(repeating: 0x61, count: 1_000))
            #expect(try parser.next() == nil)
        }
        parser.append(Data("\n\n".utf8))
        #expect(try parser.next() == .event(ServerSentEvent(data: "a")))
    }

    #if DEBUG
    private static let endless: [(name: String, piece: String)] = [
        ("a line", "x"), ("a data line", "data:"), ("data lines", "data: 12345678\n"), ("ids", "id: 12345678\n"),
        ("empty data", "data\r"),
    ]

    /// Each byte is looked at three times at most, whatever the chunks.
    @Test(arguments: endless.indices, [1, 7, 4_096])
    func anEndlessEventCostsThreeLooksPerByte(index: Int, chunkSize: Int) throws {
        let limit = 16 << 10
        let piece = Array(Self.endless[index].piece.utf8)
        var fed = 0
        var error: PulseError?
        let steps = StepCount.taken {
            var parser = EventParser(maxEventSize: limit)
            while error == nil, fed < 1 << 20 {
                let chunk = (fed..<fed + chunkSize).map {
                    Self.endless[index].name == "a data line" && $0 >= piece.count
                        ? 0x78 : piece[$0 % piece.count]
                }
                parser.append(Data(chunk))
                fed += chunkSize
                do { while try parser.next() != nil {} } catch let failure { error = failure as? PulseError }
            }
        }
        guard case .responseTooLarge(limit) = error else {
            Issue.record("\(String(describing: error)) after \(fed) bytes")
            return
        }
        #expect(steps <= 3 * fed, "\(steps) steps for \(fed) bytes")
        #expect(fed <= 2 * limit + chunkSize)
    }
    #endif
}

extension [UInt8] {
    fileprivate var debugText: String { String(decoding: self, as: UTF8.self).debugDescription }
}
