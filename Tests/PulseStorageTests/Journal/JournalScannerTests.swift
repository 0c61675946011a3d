// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct JournalScannerTests {
    private static func lines(_ records: [JournalRecord]) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records { try record.write(to: &bytes) }
        return bytes
    }

    private static func scan(_ bytes: [UInt8], base: Int = 0) -> JournalScanner {
        bytes.withUnsafeBytes { JournalScanner($0, base: base) }
    }

    private static let records = [
        JournalRecord.sample(1, tag: nil), .sample(2, tag: ""), .sample(3, tag: "-"), .sample(4, tag: "a b%\n\u{7F}ü"),
        .sample(5, payload: ""), JournalRecord("a", UUID(number: 6), payload: Data("17".utf8)),
        .sample(7, payload: String(repeating: "x", count: 300)),
    ]

    /// The standard check values of CRC-32, as zlib has them, however the bytes are split.
    @Test(
        arguments: [("", 0), ("123456789", 0xCBF4_3926), ("a", 0xE8B7_BE43), ("abc", 0x3524_41C2)] as [(String, UInt32)]
    )
    func theChecksumMatchesZlib(text: String, value: UInt32) {
        let bytes = Array(text.utf8)
        for count in 0...bytes.count {
            var checksum = Checksum()
            bytes[..<count].withUnsafeBytes { checksum.update($0) }
            bytes[count...].withUnsafeBytes { checksum.update($0) }
            #expect(checksum.value == value)
        }
        #expect(bytes.withUnsafeBytes { Checksum.of($0) } == value)
    }

    @Test @HeavyWork func aLineIsCRCOperationIDTagExpiryLengthAndPayload() throws {
        let line = String(decoding: try Self.lines([.sample(1)]), as: UTF8.self)
        #expect(line.hasSuffix(#" E 01020304050647088000000000000001 tag 1001 7 {"n":1}"# + "\n"))
        #expect(line.prefix(8).allSatisfy { $0.isHexDigit })
    }

    @Test @HeavyWork func readsWhatWasWritten() throws {
        let scanner = Self.scan(try Self.lines(Self.records))
        #expect(scanner.items.map(\.id) == Self.records.map(\.id))
        #expect(scanner.items.map(\.tag) == Self.records.map(\.tag))
        #expect(scanner.items.map(\.expiry) == Self.records.map(\.expiry))
        #expect(scanner.items.map(\.note.count) == [0, 0, 0, 0, 0, 2, 0])
        #expect(scanner.damaged.isEmpty && scanner.tornCount == 0 && !scanner.lacksBreak)
    }

    @Test @HeavyWork func aTailOfZerosIsNotARecord() throws {
        let bytes = try Self.lines(Self.records)
        let scanner = Self.scan(bytes + [UInt8](repeating: 0, count: 1000))
        #expect(scanner.items.count == Self.records.count)
        #expect(scanner.end == bytes.count)
        #expect(scanner.damaged.isEmpty && scanner.tornCount == 0)
    }

    @Test @HeavyWork func findsEveryWholeRecordOfATruncatedLog() throws {
        let bytes = try Self.lines(Self.records)
        let ends = Self.scan(bytes).items.map { $0.location.offset + $0.location.length }
        for length in 0...bytes.count {
            for zeros in [0, 64] {
                let scanner = Self.scan(Array(bytes[..<length]) + [UInt8](repeating: 0, count: zeros))
                #expect(scanner.items.count == ends.count { $0 <= length }, "\(length)")
                #expect(scanner.damaged.isEmpty)
                #expect(scanner.end + scanner.tornCount == length)
            }
        }
    }

    @Test @HeavyWork func findsAllOtherRecordsIfAnyByteIsChanged() throws {
        let bytes = try Self.lines(Self.records)
        let ranges = Self.scan(bytes).items.map { $0.location.offset...$0.location.offset + $0.location.length }
        for index in bytes.indices {
            for change in [bytes[index] ^ 1, bytes[index] ^ 0x80, UInt8(ascii: "\n"), 0, UInt8(ascii: "9")]
            where change != bytes[index] {
                var changed = bytes
                changed[index] = change
                let scanner = Self.scan(changed)
                let hit = ranges.firstIndex { $0.contains(index) }
                let isBreak = hit.map { ranges[$0].upperBound == index } ?? false
                let kept = scanner.items.map(\.id)
                let expected = Self.records.indices.filter { $0 != hit || isBreak }.map { Self.records[$0].id }
                #expect(kept == expected, "byte \(index) as \(change)")
                let isAtEnd = isBreak && hit == ranges.count - 1
                #expect(!scanner.damaged.isEmpty || scanner.tornCount > 0 || isAtEnd, "byte \(index) as \(change)")
            }
        }
    }

    @Test @HeavyWork func neverTrapsOnAnyBytes() throws {
        let random = SeededRandomness(seed: 7)
        let good = try Self.lines(Self.records)
        for round in 0..<3000 {
            var bytes = good
            for _ in 0...(round % 9) {
                let index = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.remove(at: index)
                default: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
                }
            }
            let scanner = Self.scan(bytes)
            #expect(scanner.end + scanner.tornCount <= bytes.count)
        }
    }

    @Test(arguments: ["a\nb", "\n"])
    @HeavyWork func aPayloadWithALineBreakIsRefused(payload: String) {
        #expect(throws: JournalFailure.notOneLine) { try Self.lines([.sample(1, payload: payload)]) }
    }

    @Test @HeavyWork func aTagThatIsTooLongIsRefused() {
        let tag = String(repeating: " ", count: 2000)
        #expect(throws: JournalFailure.tagTooLong) { try Self.lines([.sample(1, tag: tag)]) }
    }

    @Test @HeavyWork func detectsEveryKindOfHeaderDamage() {
        let line = JournalHeader.line
        func find(_ bytes: [UInt8]) -> JournalHeader.Finding { bytes.withUnsafeBytes { JournalHeader.find(in: $0) } }
        #expect(find(line + Array("rest".utf8)) == .intact(end: line.count))
        for length in 0..<line.count - 1 { #expect(find(Array(line[..<length])) == .torn) }
        #expect(find(JournalHeader.line(version: 2)) == .newer(2))
        for index in line.indices {
            var changed = line + Array("record\n".utf8)
            changed[index] ^= 3
            #expect(find(changed) == .damaged(end: line.count), "\(index)")
        }
    }

    @Test @HeavyWork func linesAreWrittenWithoutRepeatedCopies() throws {
        let record = JournalRecord.sample(1)
        var bytes: [UInt8] = []
        var copies = 0
        for _ in 0..<4_000 {
            let capacity = bytes.capacity
            try record.write(to: &bytes)
            // Each growth copies all bytes.
            if bytes.capacity != capacity { copies += 1 }
        }
        #expect(copies < 40)
    }

    #if DEBUG
    /// Each line claims everything after it as its payload, or each record follows the last one without a line break.
    @Test(arguments: [true, false])
    @HeavyWork func aCraftedFileTakesLinearTime(isDamaged: Bool) throws {
        func steps(_ count: Int) throws -> Int {
            var bytes: [UInt8] = []
            for index in 0..<count {
                if isDamaged {
                    let id = "01020304050647088000000000000001"
                    bytes += "00000000 E \(id) - 0 \((count - index - 1) * 60) {}\n".utf8
                } else {
                    try JournalRecord.sample(1).write(to: &bytes)
                    bytes[bytes.count - 1] = UInt8(ascii: "x")
                }
            }
            return StepCount.taken { #expect(Self.scan(bytes).items.count == (isDamaged ? 0 : count)) }
        }
        #expect(try steps(800) < 9 * steps(400) / 4)
    }
    #endif
}
