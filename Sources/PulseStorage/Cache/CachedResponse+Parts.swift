// SPDX-License-Identifier: MIT

extension CachedResponse {
    /// The ranges of a representation in a partial entry (RFC 9111, section 3.3). The body of such an entry consists of
    /// their bytes, one range after the other.
    public struct Parts: Sendable, Hashable {
        /// The largest number of ranges in one entry.
        package static let maxCount = 256

        /// Ascending offsets from the start of the representation. No range is empty or touches the next.
        public let ranges: [Range<Int>]
        /// The length of the whole representation in bytes; nil if the server did not send it.
        public let length: Int?

        /// Creates parts from ranges. Nil if there are none or too many; if a range is empty, or does not start after
        /// the end of the one before it; or if one ends after `length`.
        public init?(ranges: [Range<Int>], length: Int?) {
            guard let first = ranges.first, let last = ranges.last, first.lowerBound >= 0,
                ranges.count <= Self.maxCount, !ranges.contains(where: \.isEmpty),
                zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound < $1.lowerBound }),
                last.upperBound <= length ?? .max
            else { return nil }
            self.ranges = ranges
            self.length = length
        }

        /// The number of bytes in all ranges.
        public var count: Int { ranges.reduce(0) { $0 + $1.count } }

        /// Whether the ranges cover the whole representation.
        package var isWhole: Bool { ranges == [0..<(length ?? 0)] }

        /// The position of a range within the entry's body; nil unless the entry has all of the range.
        package func position(of range: Range<Int>) -> Range<Int>? {
            guard ranges.contains(where: { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound })
            else {
                return nil
            }
            let start = count(below: range.lowerBound)
            return start..<(start + range.count)
        }

        /// The number of stored bytes before an offset. Since ranges ascend, they are the beginning of the entry's
        /// body.
        package func count(below offset: Int) -> Int {
            ranges.reduce(0) { $0 + max(0, min($1.upperBound, offset) - $1.lowerBound) }
        }

        /// The smallest range that covers all missing bytes; without an end if the length is unknown.
        package var missing: (start: Int, end: Int?) {
            let start = ranges[0].lowerBound > 0 ? 0 : ranges[0].upperBound
            guard let length else { return (start, nil) }
            let last = ranges[ranges.count - 1]
            return (start, last.upperBound < length ? length : last.lowerBound)
        }

        /// The parts with one more range of the same version; nil if there would be too many.
        package func joined(with range: Range<Int>, length: Int?) -> Parts? {
            var joined: [Range<Int>] = []
            for next in (ranges + [range]).sorted(by: { $0.lowerBound < $1.lowerBound }) {
                if let last = joined.last, next.lowerBound <= last.upperBound {
                    joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
                } else {
                    joined.append(next)
                }
            }
            return Parts(ranges: joined, length: self.length ?? length)
        }
    }
}
