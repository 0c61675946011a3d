// SPDX-License-Identifier: MIT

import Dispatch

/// Where tests run that compute for long: all on one thread of their own.
///
/// All tests of a run begin at once, on as many threads as there are processors. Those that compute for seconds would hold
/// these, one after the other, while a client of another test waits for its server until its timeout has passed.
@globalActor
public actor HeavyWork {
    public static let shared = HeavyWork()

    private let executor = Executor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private final class Executor: SerialExecutor {
        private let queue = DispatchQueue(label: "com.pulse.tests.heavy-work")

        #if canImport(Darwin)
        // `ExecutorJob` is newer than the systems that the tests run on.
        func enqueue(_ job: UnownedJob) {
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }

        func asUnownedSerialExecutor() -> UnownedSerialExecutor {
            UnownedSerialExecutor(ordinary: self)
        }
        #else
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
        #endif
    }
}
