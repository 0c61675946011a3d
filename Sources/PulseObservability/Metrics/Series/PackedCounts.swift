// SPDX-License-Identifier: MIT

/// Counts in a row that each take as many bytes as the largest needs: in a slice of ten seconds most are small, and
/// each route keeps some thirty slices.
struct PackedCounts: Sendable {
    private var bytes: [UInt8] = []
    /// A count takes 1, 2, 4 or 8 bytes: this power of two.
    private var shift = 0

    init(count: Int = 0) {
        bytes = [UInt8](repeating: 0, count: count)
    }

    var count: Int { bytes.count >> shift }

    subscript(place: Int) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            switch shift {
            case 0: UInt64(bytes[place])
            case 1: UInt64(bytes.count(place, of: UInt16.self))
            case 2: UInt64(bytes.count(place, of: UInt32.self))
            default: bytes.count(place, of: UInt64.self)
            }
        }
    }

    mutating func increment(_ place: Int) {
        let sum = self[place] + 1
        if shift < 3, sum >> UInt64(8 << shift) > 0 { widen(to: shift + 1) }
        bytes.withUnsafeMutableBytes { bytes in
            switch shift {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: sum)
            case 1: bytes.setCount(UInt16(truncatingIfNeeded: sum), at: place)
            case 2: bytes.setCount(UInt32(truncatingIfNeeded: sum), at: place)
            default: bytes.setCount(sum, at: place)
            }
        }
    }

    /// Adds each count of the other to the one that is `offset` places further here.
    ///
    /// - Parameter total: what no sum of two counts is greater than.
    mutating func add(_ other: PackedCounts, at offset: Int, total: Int) {
        widen(to: max(shift, total > UInt32.max ? 3 : 2))
        let isWide = shift == 3
        bytes.withUnsafeMutableBytes { sums in
            other.bytes.withUnsafeBytes { counts in
                switch other.shift {
                case 0: sums.add(counts, UInt8.self, at: offset, isWide: isWide)
                case 1: sums.add(counts, UInt16.self, at: offset, isWide: isWide)
                case 2: sums.add(counts, UInt32.self, at: offset, isWide: isWide)
                default: sums.add(counts, UInt64.self, at: offset, isWide: isWide)
                }
            }
        }
    }

    /// Makes room for more counts before and behind these.
    mutating func grow(front: Int, back: Int) {
        // Anew, of the very size: an array that grows in place takes up to twice what it holds.
        var grown = [UInt8]()
        grown.reserveCapacity((front + back) << shift + bytes.count)
        grown.append(contentsOf: repeatElement(0, count: front << shift))
        grown.append(contentsOf: bytes)
        grown.append(contentsOf: repeatElement(0, count: back << shift))
        bytes = grown
    }

    private mutating func widen(to wider: Int) {
        guard wider > shift else { return }
        let narrow = self
        bytes = [UInt8](repeating: 0, count: narrow.count << wider)
        shift = wider
        bytes.withUnsafeMutableBytes { bytes in
            for place in 0..<narrow.count {
                switch wider {
                case 1: bytes.setCount(UInt16(truncatingIfNeeded: narrow[place]), at: place)
                case 2: bytes.setCount(UInt32(truncatingIfNeeded: narrow[place]), at: place)
                default: bytes.setCount(narrow[place], at: place)
                }
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate func count<Count: FixedWidthInteger & BitwiseCopyable>(_ place: Int, of type: Count.Type) -> Count {
        precondition((place + 1) * MemoryLayout<Count>.size <= count)
        return loadUnaligned(fromByteOffset: place * MemoryLayout<Count>.size, as: type)
    }
}

extension UnsafeMutableRawBufferPointer {
    @inline(__always)
    fileprivate func setCount<Count: FixedWidthInteger & BitwiseCopyable>(_ value: Count, at place: Int) {
        precondition((place + 1) * MemoryLayout<Count>.size <= count)
        storeBytes(of: value, toByteOffset: place * MemoryLayout<Count>.size, as: Count.self)
    }

    @inline(__always)
    fileprivate func add<Count: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ counts: UnsafeRawBufferPointer, _ type: Count.Type, at offset: Int, isWide: Bool
    ) {
        if isWide {
            add(counts, type, at: offset, to: UInt64.self)
        } else {
            add(counts, type, at: offset, to: UInt32.self)
        }
    }

    /// One loop without a decision in it: a snapshot adds up a million counts.
    @inline(__always)
    private func add<
        Count: FixedWidthInteger & UnsignedInteger & BitwiseCopyable,
        Sum: FixedWidthInteger & UnsignedInteger & BitwiseCopyable
    >(
        _ counts: UnsafeRawBufferPointer, _: Count.Type, at offset: Int, to: Sum.Type
    ) {
        let number = counts.count / MemoryLayout<Count>.size
        precondition(offset >= 0 && (offset + number) * MemoryLayout<Sum>.size <= count)
        guard let counts = counts.baseAddress, let sums = baseAddress else { return }
        for place in 0..<number {
            let count = counts.loadUnaligned(fromByteOffset: place * MemoryLayout<Count>.size, as: Count.self)
            let at = (offset + place) * MemoryLayout<Sum>.size
            let sum = sums.loadUnaligned(fromByteOffset: at, as: Sum.self)
            sums.storeBytes(of: sum &+ Sum(truncatingIfNeeded: count), toByteOffset: at, as: Sum.self)
        }
    }
}
