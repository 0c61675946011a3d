// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@testable import PulseStreams

/// Lines and JSON texts.
@Suite(.throttled)
struct SplitterTests {
    private static func lines(_ chunks: [Data], limit: Int = .max) throws -> [String] {
        var splitter = LineSplitter(maxLength: limit, skipsByteOrderMark: true)
        var lines: [String] = []
        for chunk in chunks {
            splitter.append(chunk)
            while let line = try splitter.next() { lines.append(line) }
        }
        if let last = try splitter.finish() { lines.append(last) }
        #expect(try splitter.finish() == nil)
        return lines
    }

    private static func modelLines(_ bytes: [UInt8]) -> [String] {
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        let last = lines.removeLast()
        return lines.map { String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self) }
            + (last.isEmpty ? [] : [String(decoding: last, as: UTF8.self)])
    }

    /// Each text, or nil for one that was cut.
    private static func texts(_ format: JSONTextSplitter.Format, _ chunks: [Data]) throws -> [String?] {
        var splitter = JSONTextSplitter(format, maxLength: .max)
        var texts: [String?] = []
        func add(_ next: () throws -> Data?) throws {
            while true {
                do {
                    guard let text = try next() else { return }
                    texts.append(String(decoding: text, as: UTF8.self))
                } catch is JSONTextSplitter.CutText {
                    texts.append(nil)
                }
            }
        }
        for chunk in chunks {
            splitter.append(chunk)
            try add { try splitter.next() }
        }
        try add { try splitter.finish() }
        return texts
    }

    /// The limit counts the bytes of a text, not the end of its line and not the blanks between texts.
    @Test(arguments: [
        (JSONTextSplitter.Format.lines, "{\"n\":1}\n"), (.lines, "{\"n\":1}\r\n"), (.lines, "{\"n\":1}\r"),
        (.sequence, "\u{1E}{\"n\":1}\n"), (.sequence, "\u{1E}\n\n\n\n\n\n\n\n\n\n{\"n\":1}\n\n\n\n\n\n\n\n\n\n"),
    ])
    func theLimitOfATextIsExact(format: JSONTextSplitter.Format, body: String) throws {
        for (limit, isRefused) in [(7, false), (6, true)] {
            for chunkSize in [1, 100] {
                var splitter = JSONTextSplitter(format, maxLength: limit)
                var texts = 0
                var error: PulseError?
                do {
                    for byte in stride(from: 0, to: body.utf8.count, by: chunkSize) {
                        splitter.append(Data(body.utf8.dropFirst(byte).prefix(chunkSize)))
                        while try splitter.next() != nil { texts += 1 }
                    }
                    if try splitter.finish() != nil { texts += 1 }
                } catch let failure {
                    error = failure as? PulseError
                }
                #expect((error?.kind == .responseTooLarge) == isRefused, "\(body.debugDescription), \(limit)")
                #expect(texts == (isRefused ? 0 : 1))
            }
        }
    }

    private static let linePieces: [[UInt8]] = [
        [0x0A], [0x0D], [0x0D, 0x0A], Array("a".utf8), Array("bc".utf8), Array("\u{2028}".utf8), [0xFF],
        [0xEF, 0xBB, 0xBF], [0x20],
    ]
    private static let sequencePieces: [[UInt8]] =
        ["{", "}", "[", "]", "\"", "\\", "1", "\n", "\n", " ", "\u{1E}", "\u{1E}{\"a\":1}\n", "true"].map {
            Array($0.utf8)
        }

    private func check<Found: Equatable>(_ found: Found, _ expected: Found, _ chunks: [Data]) {
        guard found != expected else { return }
        Issue.record("\(chunks.map(Array.init)): \(found), expected \(expected)")
    }

    @Test func everySplitOfShortInputsGivesTheSame() throws {
        var random = SplitMix64(seed: 5)
        for length in [6, 10, 12, 13, 14] {
            let text = Splits.input(Self.linePieces, upTo: length, &random)
            let lines = Self.modelLines(text)
            try Splits.all(of: text) { check(try Self.lines($0), lines, $0) }
            let whole = try Self.texts(.lines, [Data(text)])
            try Splits.all(of: text) { check(try Self.texts(.lines, $0), whole, $0) }
            let sequence = Splits.input(Self.sequencePieces, upTo: length, &random)
            let texts = try Self.texts(.sequence, [Data(sequence)])
            try Splits.all(of: sequence) { check(try Self.texts(.sequence, $0), texts, $0) }
        }
    }

    @Test func everyTwoCutsGiveTheSame() throws {
        var random = SplitMix64(seed: 6)
        for _ in 0..<8 {
            let text = Splits.input(Self.linePieces, upTo: 48, &random)
            let lines = Self.modelLines(text)
            try Splits.pairs(of: text) { check(try Self.lines($0), lines, $0) }
            let sequence = Splits.input(Self.sequencePieces, upTo: 48, &random)
            let texts = try Self.texts(.sequence, [Data(sequence)])
            try Splits.pairs(of: sequence) { check(try Self.texts(.sequence, $0), texts, $0) }
        }
    }

    @Test func randomInputsAgreeWithTheModel() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<1_000 {
            let bytes = Splits.input(Self.linePieces, upTo: Int(random.next() % 400), &random)
            #expect(try Self.lines(Splits.random(of: bytes, &random)) == Self.modelLines(bytes))
            let modelTexts = Self.modelLines(bytes).filter { !$0.utf8.allSatisfy { [0x20, 0x0D].contains($0) } }
            let texts = try Self.texts(.lines, Splits.random(of: bytes, &random)).map {
                $0.map { $0.hasSuffix("\r") ? String($0.unicodeScalars.dropLast()) : $0 }
            }
            #expect(texts.count == modelTexts.count, "\(bytes)")
        }
    }

    @Test func aTruncatedInputGivesAPrefix() throws {
        var random = SplitMix64(seed: 8)
        for _ in 0..<50 {
            let bytes = Splits.input(Self.linePieces, upTo: 60, &random)
            let whole = try Self.lines([Data(bytes)])
            for end in 0...bytes.count {
                // The last line of a truncated input may be cut.
                #expect(whole.starts(with: try Self.lines([Data(bytes[..<end])]).dropLast()))
            }
        }
    }

    @Test func onlyLFAndCRLFEndLines() throws {
        #expect(try Self.lines([Data("a\rb\u{2028}c\u{85}\r\n\n\rd".utf8)]) == ["a\rb\u{2028}c\u{85}", "", "\rd"])
        #expect(try Self.lines([Data("a\n".utf8)]) == ["a"])
        #expect(try Self.lines([]) == [])
        #expect(try Self.lines([Data("a\n\r".utf8)]) == ["a", "\r"])
    }

    @Test func sequencesAreReadByRS() throws {
        let cases: [(String, [String?])] = [
            ("\u{1E}{}\n\u{1E}[1]\n", ["{}\n", "[1]\n"]),
            ("\u{1E}{\n \"a\": [\n1]}\n\u{1E}2\n", ["{\n \"a\": [\n1]}\n", "2\n"]),
            ("\u{1E}{\"a\n}\u{1E}1\n", [nil, "1\n"]),
            ("\u{1E}12\u{1E}34\n", [nil, "34\n"]),
            ("\u{1E}{}", [nil]),
            ("{}\n\u{1E}1\n", [nil, "1\n"]),
            ("\u{1E}\u{1E} \n\u{1E}1\n", ["1\n"]),
            ("\u{1E}\n1\n", ["1\n"]),
            ("\u{1E}1\n2\n\u{1E}3\n", ["1\n", nil, "3\n"]),
            ("\u{1E}\"\\\"{\"\n", ["\"\\\"{\"\n"]),
            ("\u{1E}}\n", ["}\n"]),
            ("", []),
        ]
        for (text, expected) in cases {
            #expect(try Self.texts(.sequence, [Data(text.utf8)]) == expected, "\(text.debugDescription)")
        }
    }

    @Test func aLongLineIsRefusedBeforeItsEnd() throws {
        for (text, isRefused) in [("12345\n", false), ("12345\r\n", false), ("123456\n", true), ("123456", true)] {
            var error: PulseError?
            do { _ = try Self.lines([Data(text.utf8)], limit: 5) } catch let failure { error = failure as? PulseError }
            #expect((error?.kind == .responseTooLarge) == isRefused, "\(text.debugDescription)")
        }
        for format in [JSONTextSplitter.Format.lines, .sequence] {
            var splitter = JSONTextSplitter(format, maxLength: 5)
            splitter.append(Data("\u{1E}1234567".utf8))
            let error = #expect(throws: PulseError.self) { try splitter.next() }
            #expect(error?.kind == .responseTooLarge)
        }
    }

    #if DEBUG
    @Test(arguments: [1, 7, 4_096])
    func anEndlessLineCostsThreeLooksPerByte(chunkSize: Int) throws {
        let limit = 64 << 10
        var fed = 0
        let steps = StepCount.taken {
            var lines = LineSplitter(maxLength: limit, skipsByteOrderMark: false)
            while fed < 1 << 20 {
                lines.append(Data(repeating: 0x61, count: chunkSize))
                fed += chunkSize
                do { _ = try lines.next() } catch { return }
            }
        }
        #expect(steps <= 3 * fed && fed <= limit + 1 + chunkSize, "\(steps) steps for \(fed) bytes")
    }
    #endif
}
