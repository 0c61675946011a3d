// SPDX-License-Identifier: MIT

#if !canImport(os)
import Dispatch
import PulseCore

/// A writer of blocks of text to a descriptor, in order and never mixed. Its callers never wait for the reader.
///
/// What the reader has room for is written in place, so that it is there even if the process ends at once. The rest
/// waits for a thread of its own, up to a limit: further blocks are dropped, and a line in their place tells how many.
/// If nobody reads any more, everything is lost, but the process goes on: `SIGPIPE` is held back.
package final class LogWriter: Sendable {
    /// The writer to standard error, shared since the lines of a client's two logs must not mix.
    package static let standardError = LogWriter(2)

    private struct State {
        var pending: [[UInt8]] = []
        var pendingBytes = 0
        var dropped = 0
        var isDraining = false

        mutating func append(_ bytes: [UInt8]) {
            pending.append(bytes)
            pendingBytes += bytes.count
        }

        /// The line that stands for what was dropped, if anything was since the last one.
        mutating func takeNotice() -> [UInt8]? {
            guard dropped > 0 else { return nil }
            defer { dropped = 0 }
            let count = LogText.count(dropped, "block")
            return Array("[PulseKit] \(count) of the log dropped: its reader is too slow\n".utf8)
        }
    }

    private let descriptor: Int32
    private let limit: Int
    private let queue = DispatchQueue(label: "com.pulse.log")
    private let state = Locked(State())

    /// - Parameter limit: the bytes that may wait.
    package init(_ descriptor: Int32, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Writes a block and a line feed. Returns at once.
    package func write(_ block: String) {
        let bytes = Array(block.utf8) + [UInt8(ascii: "\n")]
        let mustDrain = state.withLock { state in
            guard !state.isDraining else {
                enqueue(bytes, &state)
                return false
            }
            // Under the lock, which waits for no reader: the next block must not come into the middle of this one.
            let written = WritableDescriptor(descriptor).write(bytes, from: 0, waits: false)
            guard written < bytes.count else { return false }
            enqueue(Array(bytes[written...]), &state, isBegun: true)
            state.isDraining = true
            return true
        }
        if mustDrain { queue.async { self.drain() } }
    }

    /// Suspends until what has been written so far has gone, or is lost.
    package func flush() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    /// - Parameter isBegun: whether its beginning is written: then it must not be dropped.
    private func enqueue(_ bytes: [UInt8], _ state: inout State, isBegun: Bool = false) {
        guard isBegun || state.pendingBytes + bytes.count <= limit else {
            state.dropped += 1
            return
        }
        if let notice = state.takeNotice() { state.append(notice) }
        state.append(bytes)
    }

    private func drain() {
        while let bytes = next() {
            _ = WritableDescriptor(descriptor).write(bytes, from: 0, waits: true)
        }
    }

    private func next() -> [UInt8]? {
        state.withLock { state in
            guard state.pending.isEmpty else {
                let bytes = state.pending.removeFirst()
                state.pendingBytes -= bytes.count
                return bytes
            }
            if let notice = state.takeNotice() { return notice }
            state.isDraining = false
            return nil
        }
    }
}
#endif
