// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import PulseCore

/// The memory of a body of known length, which becomes its bytes without a copy.
final class BodyBuffer: @unchecked Sendable {
    // Unchecked: used under the lock of its connection.

    /// The most bytes to receive under the lock at a time.
    private static let turn = 64 << 10
    /// The maximum initial memory for a declared body. It grows as bytes arrive.
    private static let trusted = 1 << 20

    private let total: Int
    private var count: Int
    private var memory: UnsafeMutableRawPointer?
    private var capacity: Int

    /// Nil if out of memory.
    ///
    /// - Parameters:
    ///   - begun: the bytes received so far, fewer than all.
    ///   - count: the number of all bytes.
    init?(_ begun: Data, count: Int) {
        (total, self.count) = (count, begun.count)
        capacity = min(count, max(begun.count, Self.trusted))
        guard let memory = malloc(capacity) else { return nil }
        begun.copyBytes(to: memory.assumingMemoryBound(to: UInt8.self), count: begun.count)
        self.memory = memory
    }

    deinit {
        free(memory)
    }

    /// The free space for the next bytes, which is not empty; nil if out of memory.
    func room() -> UnsafeMutableRawBufferPointer? {
        if count == capacity {
            let wanted = min(total, 2 * capacity)
            guard let larger = realloc(memory, wanted) else { return nil }
            (memory, capacity) = (larger, wanted)
        }
        guard let memory else { return nil }
        return UnsafeMutableRawBufferPointer(start: memory + count, count: min(capacity - count, Self.turn))
    }

    /// Counts bytes that were written into ``room()``. Returns the body once it is complete.
    func add(_ length: Int) -> Data? {
        count += length
        guard count == total, let memory = memory.take() else { return nil }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }
}
#endif
