// SPDX-License-Identifier: MIT

public import PulseCore

extension MetricsSnapshot {
    /// A compact distribution of durations. Its quantiles are accurate to within 1 %.
    ///
    /// As in an HDR histogram, each power of two is divided into 64 equal buckets, from 1 µs to 1 h. Memory depends on
    /// the range of recorded durations: 64 bytes for each power of two between the shortest and the longest, and up to
    /// eight times that as the counts grow; 16 KiB at most. Durations outside the range count in the first and the last
    /// bucket; ``sum`` and ``maximum`` include them unchanged.
    public struct Histogram: Sendable {
        /// The shortest distinguishable duration, in seconds; a shorter one counts as this.
        public static let shortest: TimeInterval = 1e-6
        /// The longest distinguishable duration, in seconds; a longer one counts as this.
        public static let longest: TimeInterval = 3600

        private static let bucketsPerOctave = 64
        /// The last bucket, which contains 1 h.
        private static let lastBucket = bucket(of: longest)

        /// The first allocated bucket, which is the first of its power of two.
        private var start = 0
        /// The counts of all allocated buckets, in whole powers of two.
        private var counts = PackedCounts()

        /// The number of recorded durations.
        public private(set) var count = 0
        /// The sum of all durations, in seconds.
        public private(set) var sum: TimeInterval = 0
        /// The shortest recorded duration, in seconds; 0 if there is none.
        public private(set) var minimum: TimeInterval = 0
        /// The longest recorded duration, in seconds; 0 if there is none.
        public private(set) var maximum: TimeInterval = 0

        /// Creates a histogram without durations.
        package init() {}

        /// Records one duration, in seconds. A negative one and NaN count as 0, an infinite one as ``longest``: a
        /// broken clock must not lose a call.
        package mutating func record(_ seconds: TimeInterval) {
            let seconds = seconds > 0 ? (seconds.isFinite ? seconds : Self.longest) : 0
            minimum = count == 0 ? seconds : min(minimum, seconds)
            maximum = max(maximum, seconds)
            count += 1
            sum += seconds
            let bucket = Self.bucket(of: seconds)
            hold(bucket...bucket)
            counts.increment(bucket - start)
        }

        /// Adds the durations of another histogram, as if they had been recorded here.
        package mutating func merge(_ other: Histogram) {
            guard other.count > 0 else { return }
            guard count > 0 else { return self = other }
            minimum = min(minimum, other.minimum)
            maximum = max(maximum, other.maximum)
            count += other.count
            sum += other.sum
            hold(other.start...(other.start + other.counts.count - 1))
            counts.add(other.counts, at: other.start - start, total: count)
        }

        /// The mean duration in seconds; 0 if there is none.
        public var mean: TimeInterval {
            count == 0 ? 0 : sum / Double(count)
        }

        /// The duration that this share of all durations did not exceed, in seconds: 0.99 gives the 99th percentile
        /// (nearest rank). 0 if nothing was recorded. A share outside 0...1 is clamped.
        public func quantile(_ part: Double) -> TimeInterval {
            guard count > 0 else { return 0 }
            // No double below 1 rounds to more than `count`.
            let rank = part > 0 ? max(1, UInt64((min(part, 1) * Double(count)).rounded(.up))) : 1
            var seen: UInt64 = 0
            for index in 0..<counts.count {
                seen += counts[index]
                if seen >= rank { return value(of: start + index) }
            }
            return maximum
        }

        /// The number of durations of at most `seconds`, to within the width of a bucket. Durations beyond ``longest``
        /// share a bucket: all of them count or none. The result never decreases as `seconds` grows, nor as more is
        /// recorded.
        public func count(atMost seconds: TimeInterval) -> Int {
            // NaN fails this comparison.
            guard seconds >= 0 else { return 0 }
            var total: UInt64 = 0
            for index in 0..<counts.count {
                // By the bucket alone: the result must not depend on the longest duration.
                if Self.middle(of: start + index) > seconds { break }
                total += counts[index]
            }
            return Int(clamping: total)
        }

        // MARK: Buckets

        private static func bucket(of seconds: TimeInterval) -> Int {
            let units = seconds / shortest
            guard units >= 1 else { return 0 }
            // The exponent and the six bits after it: 64 buckets for each power of two.
            let bits = Int(truncatingIfNeeded: min(units, longest / shortest).bitPattern >> 46)
            return bits - Int(truncatingIfNeeded: Double(1).bitPattern >> 46)
        }

        /// The middle of a bucket. It differs from the bucket's durations by at most half the bucket's width, 0.8 %.
        private func value(of bucket: Int) -> TimeInterval {
            if bucket == Self.lastBucket, maximum > Self.longest { return maximum }
            return min(max(Self.middle(of: bucket), minimum), maximum)
        }

        private static func middle(of bucket: Int) -> TimeInterval {
            let (octave, step) = bucket.quotientAndRemainder(dividingBy: bucketsPerOctave)
            // One hour is in octave 31, and an Int may have 32 bits.
            return Double(UInt64(1) << octave) * (1 + (Double(step) + 0.5) / Double(bucketsPerOctave)) * shortest
        }

        private mutating func hold(_ buckets: ClosedRange<Int>) {
            guard buckets.lowerBound < start || buckets.upperBound >= start + counts.count else { return }
            let octave = Self.bucketsPerOctave
            let lowest = buckets.lowerBound / octave * octave
            let end = (buckets.upperBound / octave + 1) * octave
            if counts.count == 0 {
                start = lowest
                counts = PackedCounts(count: end - lowest)
                return
            }
            counts.grow(front: max(0, start - lowest), back: max(0, end - start - counts.count))
            start = min(start, lowest)
        }
    }
}
