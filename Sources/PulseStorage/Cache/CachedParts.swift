// SPDX-License-Identifier: MIT

/// The ranges of a representation that a partial entry has (RFC 9111, section 3.3). The body of such an entry is their
/// bytes, one range after the other.
public struct CachedParts: Sendable, Hashable {
    /// The most ranges that one entry has.
    package static let maximumCount = 256

    /// Ascending offsets from the start of the representation, never empty, with a gap between each two.
    public let ranges: [Range<Int>]
    /// The length of the whole representation in bytes; nil if the server has not told it.
    public let length: Int?

    /// Makes parts of ranges; nil if there are none or too many, if one is empty, touches the one before it or comes
    /// before it, or if one ends behind `length`.
    public init?(ranges: [Range<Int>], length: Int?) {
        guard let first = ranges.first, let last = ranges.last, first.lowerBound >= 0,
            ranges.count <= Self.maximumCount, !ranges.contains(where: \.isEmpty),
            zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound }),
            last.upperBound <= length ?? .max
        else { return nil }
        self.ranges = ranges
        self.length = length
    }

    /// The bytes of all ranges.
    public var count: Int { ranges.reduce(0) { $0 + $1.count } }

    /// Whether nothing is missing.
    package var isWhole: Bool { ranges == [0..<(length ?? 0)] }

    /// The place of a range within the entry's body; nil unless all of it is there.
    package func place(of range: Range<Int>) -> Range<Int>? {
        guard ranges.contains(where: { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }) else {
            return nil
        }
        let start = count(below: range.lowerBound)
        return start..<(start + range.count)
    }

    /// The bytes that lie before an offset: since ranges ascend, they are the beginning of the entry's body.
    package func count(below offset: Int) -> Int {
        ranges.reduce(0) { $0 + max(0, min($1.upperBound, offset) - $1.lowerBound) }
    }

    /// The smallest range with everything that is missing; without an end if the length is not known.
    package var missing: (start: Int, end: Int?) {
        let start = ranges[0].lowerBound > 0 ? 0 : ranges[0].upperBound
        guard let length else { return (start, nil) }
        let last = ranges[ranges.count - 1]
        return (start, last.upperBound < length ? length : last.lowerBound)
    }

    /// The parts with one more range of the same version; nil if there would be too many.
    package func joined(with range: Range<Int>, length: Int?) -> CachedParts? {
        var joined: [Range<Int>] = []
        for next in (ranges + [range]).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last, next.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
            } else {
                joined.append(next)
            }
        }
        return CachedParts(ranges: joined, length: self.length ?? length)
    }
}
