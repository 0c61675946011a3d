// SPDX-License-Identifier: MIT

import PulseCore

/// The progress of one call that transfers a body in several requests.
final class TransferMeter: Sendable {
    private let call: Call
    private let listener: (@Sendable (TransferProgress) -> Void)?
    private let current = Locked<(meter: ProgressMeter, attempt: Int)?>(nil)

    init(_ call: Call, _ listener: (@Sendable (TransferProgress) -> Void)?) {
        self.call = call
        self.listener = listener
    }

    func begin(attempt: Int) async {
        let before = current.withLock { $0 }
        guard before?.attempt != attempt else { return }
        await before?.meter.end()
        let meter = ProgressMeter(clock: call.environment.clock, attempt: attempt) { [call, listener] progress in
            listener?(progress)
            call.emit(.transferProgress(call.summary, completed: progress.completed, total: progress.total))
        }
        current.withLock { $0 = (meter, attempt) }
    }

    /// - Parameter attempt: the attempt that the bytes belong to; nil for the current one. Past ones are ignored.
    func note(_ completed: Int64, of total: Int64?, in attempt: Int? = nil) {
        let meter = current.withLock { current in
            attempt == nil || attempt == current?.attempt ? current?.meter : nil
        }
        meter?.note(TransferProgress(completed: completed, total: total))
    }

    func end() async {
        await current.withLock { $0?.meter }?.end()
    }
}
