// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct CacheChecksumTests {
    private static func value(_ bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { CacheChecksum.of($0) } }

    @Test func theChecksumDoesNotDependOnHowTheBytesAreSplit() {
        let random = SeededRandomness(seed: 1)
        for length in [0, 1, 7, 8, 31, 32, 33, 64, 100, 1_000] {
            let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            for _ in 0..<20 {
                var checksum = CacheChecksum()
                var start = 0
                while start < length {
                    let end = min(length, start + Int(random.next() % 50))
                    bytes[start..<end].withUnsafeBytes { checksum.update($0) }
                    start = end
                }
                #expect(checksum.value == Self.value(bytes), "length \(length)")
            }
        }
    }

    @Test func theChecksumDiffersForEveryChangedByteAndEveryLength() {
        let bytes = [UInt8](repeating: 0, count: 70)
        var seen: Set<UInt64> = [Self.value(bytes)]
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                #expect(seen.insert(Self.value(changed)).inserted)
            }
        }
        for length in 0..<70 { #expect(seen.insert(Self.value(Array(bytes.prefix(length)))).inserted) }
    }

    @Test func diskNamesAreReadAsTheyAreWritten() throws {
        let name = try #require(DiskName(.test("/a", partition: "p", digest: "d")))
        var slot = 0
        let read = DiskName(partition: name.partition, file: Array(name.file(7).utf8), slot: &slot)
        #expect(read == name && slot == 7)
        for text in ["", "-", "a-b-c", name.file(8), name.file(7).uppercased(), name.file(7) + "0", "." + name.file(7)]
        {
            #expect(DiskName(partition: name.partition, file: Array(text.utf8), slot: &slot) == nil, "\(text)")
        }
    }
}
