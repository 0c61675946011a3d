// SPDX-License-Identifier: MIT

#if !canImport(os)
internal import Dispatch
import PulseCore

/// Writes blocks of text to a descriptor, in order and never interleaved. Its callers never wait for the reader.
///
/// Bytes that the reader has room for are written synchronously, so that they arrive even if the process ends at once.
/// The rest waits for a background queue, up to a limit: further blocks are dropped, and a line reports their number.
/// If the reader has closed its end, everything is lost, but the process continues: `SIGPIPE` is blocked.
package final class LogWriter: Sendable {
    /// The writer for standard error, shared so that the lines of a client's two logs do not interleave.
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

        /// The line that reports the blocks dropped since the last one, if any.
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

    /// - Parameter limit: the maximum number of pending bytes.
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
            // Under the lock, which does not wait for the reader: the next block must not interleave with this one.
            let written = WritableDescriptor(descriptor).write(bytes, from: 0, waits: false)
            guard written < bytes.count else { return false }
            enqueue(Array(bytes[written...]), &state, isBegun: true)
            state.isDraining = true
            return true
        }
        if mustDrain { queue.async { self.drain() } }
    }

    /// Suspends until everything written so far is sent or lost.
    package func flush() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    /// - Parameter isBegun: whether the start of the block was written: then the rest must not be dropped.
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
