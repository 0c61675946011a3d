// SPDX-License-Identifier: MIT

import PulseCore

/// Memory for the bytes of a stream. A block is reused once the owner of its bytes releases them: fresh pages would
/// cost more than the copy into them.
final class ByteBlocks: Sendable {
    /// One block of memory. It belongs to a pipe or a connection, under its lock, until its bytes are handed out.
    final class Block: @unchecked Sendable {
        // Unchecked: it has one owner at a time, as described above.

        /// Small pieces are merged up to this size: each chunk costs the reader a thread switch.
        static let size = 256 << 10

        fileprivate let start = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        private(set) var count = 0

        deinit {
            start.deallocate()
        }

        var isFull: Bool { count == Self.size }

        /// Appends as many bytes as fit and returns their count.
        func append(_ bytes: UnsafeRawBufferPointer) -> Int {
            let length = min(bytes.count, Self.size - count)
            guard length > 0, let source = bytes.baseAddress else { return 0 }
            (start + count).copyMemory(from: source, byteCount: length)
            count += length
            return length
        }

        /// The free space after the bytes.
        var room: UnsafeMutableRawBufferPointer {
            UnsafeMutableRawBufferPointer(start: start + count, count: Self.size - count)
        }

        /// Counts bytes that were written into ``room``.
        func add(_ length: Int) {
            count += length
        }

        /// A copy of the bytes if they are few: a reader that keeps many short chunks must not retain a block for each.
        func takeCopy() -> Data? {
            guard count <= Self.size / 4 else { return nil }
            defer { count = 0 }
            return Data(bytes: start, count: count)
        }

        func clear() {
            count = 0
        }
    }

    /// The number of idle blocks kept for reuse; more are freed.
    private static let idleLimit = 4

    private let idle = Locked<[Block]>([])

    func take() -> Block {
        idle.withLock { $0.popLast() } ?? Block()
    }

    /// The block's bytes, without a copy.
    func data(of block: Block) -> Data {
        Data(
            bytesNoCopy: block.start, count: block.count,
            deallocator: .custom { [self] _, _ in recycle(block) })
    }

    func recycle(_ block: Block) {
        block.clear()
        idle.withLock { if $0.count < Self.idleLimit { $0.append(block) } }
    }
}
