// SPDX-License-Identifier: MIT

import Dispatch

/// A global actor for tests that compute for long: all run on a single thread.
///
/// All tests of a run start at once, on as many threads as there are processors. Tests that compute for seconds would
/// block these threads, while a client of another test waits for its server until it times out.
@globalActor
public actor HeavyWork {
    public static let shared = HeavyWork()

    private let executor = Executor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private final class Executor: SerialExecutor {
        private let queue = DispatchQueue(label: "com.pulse.tests.heavy-work")

        #if canImport(Darwin)
        // `ExecutorJob` requires newer systems than the tests run on.
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
