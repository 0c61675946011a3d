// SPDX-License-Identifier: MIT

import PulseCore

/// The progress of a file that is uploaded in parts. The wire reports the progress of each body. A body that is resent,
/// or a part that begins before the reported progress, is the next attempt.
final class UploadMeter: BodyMeter {
    private struct State {
        var attempt = 1
        /// Where the current part begins in the file.
        var offset: Int64 = 0
        var size: Int64 = 0
        /// Whether the wire has begun to send the part.
        var isBegun = false
        /// The most bytes reported in this attempt; nil for none yet.
        var told: Int64?

        mutating func startAgain() {
            attempt += 1
            told = nil
        }
    }

    private let meter: TransferMeter
    private let state = Locked(State())

    init(_ meter: TransferMeter) {
        self.meter = meter
    }

    /// Begins a part: the bytes before the offset have arrived, and the others are sent next.
    func begin(at offset: Int64, of size: Int64) async {
        let attempt = state.withLock { state in
            if let told = state.told, told > offset || size != state.size { state.startAgain() }
            (state.offset, state.size, state.isBegun) = (offset, size, false)
            return state.attempt
        }
        await meter.begin(attempt: attempt)
        note(offset, in: attempt)
    }

    func beginBody() async -> @Sendable (TransferProgress) -> Void {
        let (attempt, offset) = state.withLock { state in
            if state.isBegun { state.startAgain() }
            state.isBegun = true
            return (state.attempt, state.offset)
        }
        await meter.begin(attempt: attempt)
        note(offset, in: attempt)
        return { [self] progress in note(offset + progress.completed, in: attempt) }
    }

    func end() async {
        await meter.end()
    }

    private func note(_ completed: Int64, in attempt: Int) {
        // The transport of an attempt that has ended may still report.
        let size = state.withLock { state -> Int64? in
            guard state.attempt == attempt else { return nil }
            state.told = max(state.told ?? 0, completed)
            return state.size
        }
        if let size { meter.note(completed, of: size, in: attempt) }
    }
}
