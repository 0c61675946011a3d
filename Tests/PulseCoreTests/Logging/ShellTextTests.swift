// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulseCore

#if !canImport(UIKit)
@Suite(.throttled)
struct ShellTextTests {
    private static let alphabet = Array(
        "aZ9'\"\\$`!#&;|<>(){}[]*?~=%-@ \t\n\r\u{0}\u{1B}\u{3}\u{16}\u{7F}\u{E9}\u{85}\u{2028}\u{202E}\u{1F600}".utf8)

    /// Half of the samples consist of characters that are special to shells, half of any bytes; every byte occurs.
    private static func samples(_ count: Int, seed: UInt64) -> [[UInt8]] {
        var random = SplitMix64(seed: seed)
        let chosen = (0..<count).map { index in
            (0..<Int.random(in: 0...24, using: &random)).map { _ in
                index % 2 == 0
                    ? alphabet[Int.random(in: alphabet.indices, using: &random)]
                    : UInt8.random(in: 0...255, using: &random)
            }
        }
        // A combining mark, a variation selector or a joiner forms one character with the preceding one.
        let combined = ["'", "\\", "%", "-", "\"", "$"].flatMap { first in
            ["\u{301}", "\u{FE0F}", "\u{200D}"].map { Array("\(first)\($0); exit 1 #".utf8) }
        }
        return chosen + (0...255).map { [$0] } + combined
            + [Array("\n\n".utf8), Array("a\n".utf8), Array("-n".utf8)]
    }

    @Test(arguments: Shell.all, [1, 2] as [UInt64])
    @HeavyWork func aShellReadsAWordByteForByte(shell: String, seed: UInt64) async throws {
        let samples = Self.samples(150, seed: seed)
        // All in one script, so that one shell is enough; a NUL ends each word.
        let script = samples.map { "printf '%s\\000' \(ShellText.word($0))\n" }.joined()
        let output = try await Shell.output(of: script, in: shell)
        let words = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        #expect(words.count == samples.count)
        for (sample, word) in zip(samples, words) {
            #expect(Array(word) == Array(sample.prefix { $0 != 0 }), "seed \(seed): \(sample)")
        }
    }

    @Test(arguments: Shell.all, [1, 2] as [UInt64])
    @HeavyWork func aPrintfFormatWritesItsBytes(shell: String, seed: UInt64) async throws {
        let samples = Self.samples(150, seed: seed)
        let script = samples.map { "printf \(ShellText.printfFormat($0))\nprintf '%s' '|next|'\n" }.joined()
        let output = try await Shell.output(of: script, in: shell)
        let expected = samples.reduce(into: Data()) { $0 += $1 + Array("|next|".utf8) }
        #expect(output == expected, "seed \(seed)")
    }

    @Test @HeavyWork func aWordHasNoControlCharacters() {
        for sample in Self.samples(500, seed: 3) {
            let texts = [ShellText.word(sample.filter { $0 != 0x0A }), ShellText.printfFormat(sample)]
            for scalar in texts.joined().unicodeScalars {
                #expect(!scalar.isUnsafeInLog, "\(sample)")
            }
        }
    }

    @Test @HeavyWork func printableTextIsNotEscaped() {
        #expect(ShellText.word("".utf8) == "''")
        #expect(ShellText.word("it's".utf8) == #"'it'\''s'"#)
        #expect(ShellText.word("a\tb".utf8) == #"'a'"$(printf '\011')"'b'"#)
        #expect(ShellText.printfFormat("50%\n".utf8) == #"'50%%\012'"#)
    }

    @Test(arguments: ["'", "a", "\u{1}", "'\u{1}", "\u{E9}'"])
    func writingAWordTakesLinearTime(unit: String) {
        func steps(_ count: Int) -> Int {
            var bytes = CountedBytes()
            ShellText.write(String(repeating: unit, count: count).utf8, to: &bytes)
            return bytes.steps
        }
        #expect(steps(8_000) < 9 * steps(4_000) / 4)
    }
}
#endif
