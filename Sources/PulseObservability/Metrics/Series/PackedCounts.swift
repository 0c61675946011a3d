// SPDX-License-Identifier: MIT

/// An array of counts that each take as many bytes as the largest needs. In a slice of ten seconds most counts are
/// small, and each route has some thirty slices.
struct PackedCounts: Sendable {
    private var bytes: [UInt8] = []
    /// The width of a count is 1, 2, 4 or 8 bytes: two to this power.
    private var shift = 0

    init(count: Int = 0) {
        bytes = [UInt8](repeating: 0, count: count)
    }

    var count: Int { bytes.count >> shift }

    subscript(index: Int) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            switch shift {
            case 0: UInt64(bytes[index])
            case 1: UInt64(bytes.count(index, of: UInt16.self))
            case 2: UInt64(bytes.count(index, of: UInt32.self))
            default: bytes.count(index, of: UInt64.self)
            }
        }
    }

    mutating func increment(_ index: Int) {
        let sum = self[index] + 1
        if shift < 3, sum >> UInt64(8 << shift) > 0 { widen(to: shift + 1) }
        bytes.withUnsafeMutableBytes { bytes in
            switch shift {
            case 0: bytes[index] = UInt8(truncatingIfNeeded: sum)
            case 1: bytes.setCount(UInt16(truncatingIfNeeded: sum), at: index)
            case 2: bytes.setCount(UInt32(truncatingIfNeeded: sum), at: index)
            default: bytes.setCount(sum, at: index)
            }
        }
    }

    /// Adds each count of the other to the count at its index plus `offset`.
    ///
    /// - Parameter total: an upper bound for every sum.
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

    /// Adds zero counts before and after these.
    mutating func grow(front: Int, back: Int) {
        // A new array of the exact size: an array that grows itself takes up to twice its contents.
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
            for index in 0..<narrow.count {
                switch wider {
                case 1: bytes.setCount(UInt16(truncatingIfNeeded: narrow[index]), at: index)
                case 2: bytes.setCount(UInt32(truncatingIfNeeded: narrow[index]), at: index)
                default: bytes.setCount(narrow[index], at: index)
                }
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    // Inlined, with those below, for "a snapshot of 100 routes" and "all events of a call" in Docs/Benchmarks.md.
    @inline(__always)
    fileprivate func count<Count: FixedWidthInteger & BitwiseCopyable>(_ index: Int, of type: Count.Type) -> Count {
        precondition((index + 1) * MemoryLayout<Count>.size <= count)
        return loadUnaligned(fromByteOffset: index * MemoryLayout<Count>.size, as: type)
    }
}

extension UnsafeMutableRawBufferPointer {
    @inline(__always)
    fileprivate func setCount<Count: FixedWidthInteger & BitwiseCopyable>(_ value: Count, at index: Int) {
        precondition((index + 1) * MemoryLayout<Count>.size <= count)
        storeBytes(of: value, toByteOffset: index * MemoryLayout<Count>.size, as: Count.self)
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

    /// A loop without branches: a snapshot adds up a million counts.
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
        for index in 0..<number {
            let count = counts.loadUnaligned(fromByteOffset: index * MemoryLayout<Count>.size, as: Count.self)
            let at = (offset + index) * MemoryLayout<Sum>.size
            let sum = sums.loadUnaligned(fromByteOffset: at, as: Sum.self)
            sums.storeBytes(of: sum &+ Sum(truncatingIfNeeded: count), toByteOffset: at, as: Sum.self)
        }
    }
}
