// SPDX-License-Identifier: MIT

#if os(Linux)
import CPulsePlatform
import Dispatch
import PulseCore

/// Runs tasks on the thread that resumes them: a thread switch takes longer than reading a small message. The row of
/// `Benchmarks/sockets` with one message at a time shows it.
extension SocketLoop.Core: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (wasAsleep, hasLeft) = state.withLock { state -> (Bool, Bool) in
            guard !state.hasLeft else { return (false, true) }
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return (state.isAsleep, false)
        }
        if wasAsleep { pulse_poller_wake(poller) }
        // A task must end even after the thread has.
        if hasLeft { DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
    }

    /// Runs the jobs queued so far. Jobs that they add run in the next turn, after other connections.
    func runJobs() {
        let jobs = state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
#endif
