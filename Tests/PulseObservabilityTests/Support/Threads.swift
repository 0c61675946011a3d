// SPDX-License-Identifier: MIT

import PulseCore

/// Dedicated threads: tasks share as many threads as there are cores, and a task that does not suspend occupies its
/// thread.
enum Threads {
    /// Runs the body on that many threads at once, and suspends until all are done.
    static func run(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) async {
        await withCheckedContinuation { continuation in
            let left = Locked(count)
            for index in 0..<count {
                Thread.detachNewThread {
                    body(index)
                    let isLast = left.withLock { left in
                        left -= 1
                        return left == 0
                    }
                    if isLast { continuation.resume() }
                }
            }
        }
    }
}
