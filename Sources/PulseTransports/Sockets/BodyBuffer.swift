// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// The memory of a body of known length, which becomes its bytes without a copy.
final class BodyBuffer: @unchecked Sendable {
    // Unchecked: used under the lock of its connection.

    /// The most bytes to receive under the lock at a time.
    private static let turn = 64 << 10
    /// The memory for an announced body of which nothing has come. More is added as it comes.
    private static let trusted = 1 << 20

    private let total: Int
    private var count: Int
    private var memory: UnsafeMutableRawPointer?
    private var capacity: Int

    /// Nil without memory.
    ///
    /// - Parameters:
    ///   - begun: the bytes that have come, fewer than all.
    ///   - count: of all bytes.
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

    /// The room for the next bytes, which is not empty; nil without memory.
    func room() -> UnsafeMutableRawBufferPointer? {
        if count == capacity {
            let wanted = min(total, 2 * capacity)
            guard let larger = realloc(memory, wanted) else { return nil }
            (memory, capacity) = (larger, wanted)
        }
        guard let memory else { return nil }
        return UnsafeMutableRawBufferPointer(start: memory + count, count: min(capacity - count, Self.turn))
    }

    /// Counts bytes that were written into the room. Returns all once they have come.
    func add(_ length: Int) -> Data? {
        count += length
        guard count == total, let memory = memory.take() else { return nil }
        return Data(bytesNoCopy: memory, count: count, deallocator: .free)
    }
}
#endif
