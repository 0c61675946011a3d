// SPDX-License-Identifier: MIT

import PulseCore

/// A checksum that detects damaged bodies, at several bytes per cycle. Not for secrets.
///
/// Every step is a bijection of both its input and the previous state. So a change within one group of eight bytes
/// always changes the value. Any other change does so unless it was crafted.
struct CacheChecksum: Sendable {
    private static let multiplier: UInt64 = 0xD6E8_FEB8_6659_FD93
    private static let blockSize = 32

    private var lanes: (UInt64, UInt64, UInt64, UInt64) = (1, 2, 3, 4)
    /// The bytes that do not fill a block yet.
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    init() {
        pending.reserveCapacity(Self.blockSize)
    }

    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var checksum = CacheChecksum()
        checksum.update(bytes)
        return checksum.value
    }

    /// Adds bytes. The value does not depend on how they are split.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var start = 0
        if !pending.isEmpty {
            start = min(Self.blockSize - pending.count, bytes.count)
            pending += bytes[..<start]
            guard pending.count == Self.blockSize else { return }
            var mixed = lanes
            pending.withUnsafeBytes { Self.mix(&mixed, $0, 0) }
            lanes = mixed
            pending.removeAll(keepingCapacity: true)
        }
        var mixed = lanes
        while start + Self.blockSize <= bytes.count {
            Self.mix(&mixed, bytes, start)
            start += Self.blockSize
        }
        lanes = mixed
        pending += bytes[start...]
    }

    var value: UInt64 {
        var value = count
        var mixed = lanes
        if !pending.isEmpty {
            let block = pending + [UInt8](repeating: 0, count: Self.blockSize - pending.count)
            block.withUnsafeBytes { Self.mix(&mixed, $0, 0) }
        }
        for lane in [mixed.0, mixed.1, mixed.2, mixed.3] { value = Self.step(value, lane) }
        return value ^ value >> 32
    }

    // Inlined, with the two below, for "a hit on disk adds" in Docs/Benchmarks.md.
    @inline(__always)
    private static func mix(
        _ lanes: inout (UInt64, UInt64, UInt64, UInt64), _ bytes: UnsafeRawBufferPointer, _ start: Int
    ) {
        lanes.0 = step(lanes.0, word(bytes, start))
        lanes.1 = step(lanes.1, word(bytes, start + 8))
        lanes.2 = step(lanes.2, word(bytes, start + 16))
        lanes.3 = step(lanes.3, word(bytes, start + 24))
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func step(_ value: UInt64, _ word: UInt64) -> UInt64 {
        let product = (value ^ word) &* multiplier
        return product ^ product >> 29
    }
}
