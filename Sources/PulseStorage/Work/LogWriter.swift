// SPDX-License-Identifier: MIT

#if !canImport(os)
import Dispatch
import PulseCore

/// Writes blocks of text to a descriptor, in their order and none within another, and never lets its callers wait for who
/// reads it.
///
/// What the reader has room for is written in place, so that it is there even if the process ends at once. The rest waits for
/// a thread of its own, so much of it and no more: what comes then is dropped, and a line in its place tells how many blocks
/// it was. Where nobody reads any more everything is lost, and the process is not: `SIGPIPE` reaches nobody.
package final class LogWriter: Sendable {
    /// Both logs of a client go there, and their lines must not mix.
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

    /// - Parameter limit: of bytes that may wait.
    package init(_ descriptor: Int32, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Writes a block, and a line feed behind it. Returns at once.
    package func write(_ block: String) {
        let bytes = Array(block.utf8) + [UInt8(ascii: "\n")]
        let mustDrain = state.withLock { state in
            guard !state.isDraining else {
                enqueue(bytes, &state)
                return false
            }
            // Under the lock, which waits for no reader: the next block must not come into the midst of this one.
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

    /// - Parameter isBegun: its beginning is written: it must not be dropped.
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
