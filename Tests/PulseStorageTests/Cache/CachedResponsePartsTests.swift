// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseStorage

@Suite(.throttled)
struct CachedResponsePartsTests {
    @Test func rangesAscendWithGapsAndEndWithinTheLength() {
        #expect(CachedResponse.Parts(ranges: [0..<2, 3..<4], length: 4) != nil)
        #expect(CachedResponse.Parts(ranges: [0..<2, 3..<4], length: nil) != nil)
        for ranges in [[], [0..<0], [0..<2, 2..<4], [3..<4, 0..<2], [0..<3, 2..<4], [-1..<2], [0..<5]] {
            #expect(CachedResponse.Parts(ranges: ranges, length: 4) == nil, "\(ranges)")
        }
        let many = (0...CachedResponse.Parts.maxCount).map { $0 * 2..<$0 * 2 + 1 }
        #expect(CachedResponse.Parts(ranges: many, length: nil) == nil)
        #expect(CachedResponse.Parts(ranges: many.dropLast(), length: nil) != nil)
    }

    /// Compared with sets of offsets.
    @Test func rangesBehaveLikeASetOfOffsets() throws {
        let random = SeededRandomness(seed: 34)
        func number(_ limit: UInt64) -> Int { Int(random.next() % limit) }
        func range() -> Range<Int> {
            let start = number(30)
            return start..<(start + 1 + number(8))
        }
        for step in 0..<2_000 {
            let first = range()
            var parts = try #require(CachedResponse.Parts(ranges: [first], length: nil))
            var held = Set(first)
            for _ in 0..<number(6) {
                let next = range()
                parts = try #require(parts.joined(with: next, length: number(3) == 0 ? 40 : nil))
                held.formUnion(next)
            }
            let what: Comment = "seed \(random.seed), step \(step)"
            #expect(Set(parts.ranges.joined()) == held && parts.count == held.count, what)
            let (asked, sorted) = (range(), held.sorted())
            let position = parts.position(of: asked)
            #expect((position != nil) == held.isSuperset(of: asked), what)
            if let position { #expect(Array(sorted[position]) == Array(asked), what) }
            let offset = number(40)
            #expect(parts.count(below: offset) == held.count(where: { $0 < offset }), what)
            let missing = parts.missing
            #expect(missing.start == (0...40).first { !held.contains($0) }, what)
            let last = parts.length.map { (0..<$0).last { !held.contains($0) }.map { $0 + 1 } ?? missing.start }
            #expect(missing.end == last, what)
        }
    }

    @Test func theBytesOfARangeAreASliceOfTheBody() async throws {
        try await TestFolder.run { folder in
            // Larger than one chunk, and not a multiple of it.
            let whole = Data((0..<(DiskBody.chunkSize * 2 + 77)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
            let disk = DiskCacheStorage(directory: folder.url)
            let head = CachedResponse.Head.test()
            _ = try await disk.store(CachedResponse(head: head, body: CachedResponse.Body(whole)), for: .test("/a"))
            let stored = try #require(await disk.responses(for: .test("/a")).first?.body)
            let edge = DiskBody.chunkSize
            for body in [CachedResponse.Body(whole), stored] {
                for range in [0..<1, 0..<edge, (edge - 1)..<(edge + 1), edge..<whole.count, 5..<5, 0..<whole.count] {
                    let slice = body.slice(range)
                    #expect(slice.count == range.count)
                    let data = try await slice.data()
                    #expect(data == whole[range] && data.startIndex == 0)
                    #expect(try await slice.stream().collect(upTo: .max) == whole[range])
                }
                #expect(body.slice((whole.count - 2)..<(.max)).count == 2)
            }
        }
    }

    /// The damage is outside the range, but nothing in the file can be trusted.
    @Test func aSliceOfADamagedFileIsAnError() async throws {
        try await TestFolder.run { folder in
            let whole = Data(repeating: 7, count: DiskBody.chunkSize * 3)
            let disk = DiskCacheStorage(directory: folder.url)
            _ = try await disk.store(CachedResponse(head: .test(), body: CachedResponse.Body(whole)), for: .test("/a"))
            let body = try #require(await disk.responses(for: .test("/a")).first?.body)
            let opened = try await body.slice(0..<10).stream()
            let file = try #require(folder.files.first)
            let handle = try FileHandle(forWritingTo: file)
            try handle.seek(toOffset: UInt64(whole.count - 1))
            handle.write(Data([8]))
            try handle.close()
            // Also if the damage happens between the first check and the read.
            await #expect(throws: (any Error).self) { try await opened.collect(upTo: .max) }
            await #expect(throws: (any Error).self) { try await body.slice(0..<10).stream() }
            await #expect(throws: (any Error).self) { try await body.slice(0..<10).data() }
        }
    }
}
