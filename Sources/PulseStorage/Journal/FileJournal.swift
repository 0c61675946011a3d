// SPDX-License-Identifier: MIT

import PulseCore

/// A file of records, one per line, to which any number of tasks and processes append. An append returns once its
/// records are on the disk; concurrent appends share one sync. Safe from any thread.
///
/// The file is opened at the first use. It survives a crash at any moment: an unfinished line is truncated, a damaged
/// line is moved to a file beside the journal. A lock file beside the journal guards each change.
///
/// The work runs on a dispatch queue, so that no thread of Swift's cooperative pool waits for a disk. An append runs on
/// the caller's thread if the last commit was quick and no other work is in progress.
package final class FileJournal: Journal {
    private enum Job: Sendable {
        case append(Submission)
        case perform(@Sendable (JournalFile) -> Void)
    }

    private struct Submission: Sendable {
        let lines: JournalBatch
        let admission: (@Sendable () throws -> [JournalRecord])?
        let continuation: CheckedContinuation<Void, any Error>

        /// The lines to write for this submission.
        func admitted() throws -> JournalBatch {
            guard let records = try admission?(), !records.isEmpty else { return lines }
            var all = try JournalBatch(records)
            all += lines
            return all
        }
    }

    private struct State {
        var jobs: [Job] = []
        var isWorking = false
        var isClosed = false
        var size = 0
        /// The seconds that the last commit took.
        var lastCommit = TimeInterval.infinity
    }

    private enum Acceptance {
        /// The journal is closed.
        case none
        /// The running worker will process the job.
        case queued
        /// No worker is running: the caller must start one.
        case first(lastCommit: TimeInterval)
    }

    /// The largest append in bytes that may run on the caller's thread.
    private static let shortLength = 16 << 10

    private let queue = DispatchQueue(label: "com.pulse.journal")
    private let state = Locked(State())
    private let inPlaceLimit: TimeInterval
    // Unchecked: used only by the worker, and one worker runs at a time, see ``State/isWorking``.
    private nonisolated(unsafe) let file: JournalFile

    /// - Parameter apply: receives every change, in the journal's order, one at a time, before the append that caused
    ///   it returns. It must be short, and must not call the journal.
    package init(_ url: URL, disk: Disk = .system, apply: @escaping @Sendable (JournalChange) -> Void) {
        inPlaceLimit = disk.inPlaceLimit
        file = JournalFile(url, disk: disk, apply: apply)
    }

    package var size: Int { state.withLock { $0.size } }

    /// The number of jobs that no worker has started.
    var waitingCount: Int { state.withLock { $0.jobs.count } }

    var isWorking: Bool { state.withLock { $0.isWorking } }

    package func append(_ records: [JournalRecord], admission: (@Sendable () throws -> [JournalRecord])?) async throws {
        let lines: JournalBatch
        do {
            lines = try JournalBatch(records)
        } catch {
            throw PulseError(wrapping: error)
        }
        try await withCheckedThrowingContinuation { continuation in
            let submission = Submission(lines: lines, admission: admission, continuation: continuation)
            switch submit(.append(submission)) {
            case .none: continuation.resume(throwing: PulseError.cancelled)
            case .queued: break
            case .first(let lastCommit):
                // Without its own lines, the append consists of the admission's records, which may be as many as the
                // journal's.
                let isShort = !lines.bytes.isEmpty && lines.bytes.count <= Self.shortLength
                if isShort, lastCommit < inPlaceLimit, file.lockIfFree() { workOnce() } else { workLater() }
            }
        }
    }

    package func read(_ locate: @escaping @Sendable () -> JournalLocation?) async throws -> JournalRecord? {
        try await perform { file in
            try locate().flatMap { try file.record(at: $0) }
        }
    }

    package func refresh<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await perform { file in
            try file.exclusively { try body() }
        }
    }

    package func compact(_ contents: @escaping @Sendable () -> [JournalContent]?) async throws {
        try await perform { file in
            try file.exclusively {
                if let contents = contents() { try file.compact(contents) }
            }
        }
    }

    package func discardDamaged() async throws {
        try await perform { file in
            try file.exclusively { try file.discardDamaged() }
        }
    }

    package func close() async {
        await withCheckedContinuation { continuation in
            let isFirst = submitForLater(
                .perform { file in
                    file.close()
                    continuation.resume()
                }, last: true)
            if !isFirst { continuation.resume() }
        }
    }

    private func perform<Value: Sendable>(_ body: @escaping @Sendable (JournalFile) throws -> Value) async throws
        -> Value
    {
        try await withFencedContinuation { resume in
            let isAccepted = submitForLater(
                .perform { [self] file in
                    let result = Result { try body(file) }.mapError { PulseError(wrapping: $0) }
                    // Updated first, since the resumed caller may read the size next.
                    updateSize()
                    resume(result)
                })
            if !isAccepted { resume(.failure(.cancelled)) }
        }.get()
    }

    // MARK: Job queue

    private func submit(_ job: Job, last: Bool = false) -> Acceptance {
        state.withLock { state in
            guard !state.isClosed else { return .none }
            state.isClosed = last
            state.jobs.append(job)
            defer { state.isWorking = true }
            return state.isWorking ? .queued : .first(lastCommit: state.lastCommit)
        }
    }

    /// Returns false after ``close()``.
    private func submitForLater(_ job: Job, last: Bool = false) -> Bool {
        switch submit(job, last: last) {
        case .none: return false
        case .queued: break
        case .first: workLater()
        }
        return true
    }

    private func workLater() {
        queue.async { self.work() }
    }

    private func work() {
        repeat { process(takeJobs()) } while hasMoreJobs()
    }

    /// Processes the queued appends. Other jobs would take the lock again or hold it longer, so they stay queued.
    private func workOnce() {
        process(takeJobs(while: { if case .append = $0 { true } else { false } }))
        if hasMoreJobs() { workLater() }
    }

    private func process(_ jobs: [Job]) {
        var batch: [Submission] = []
        for job in jobs {
            switch job {
            case .append(let submission):
                batch.append(submission)
            case .perform(let body):
                commit(&batch)
                body(file)
            }
        }
        commit(&batch)
    }

    /// Takes the jobs up to the first one that does not match.
    private func takeJobs(while isWanted: (Job) -> Bool = { _ in true }) -> [Job] {
        state.withLock { state in
            let end = state.jobs.firstIndex { !isWanted($0) } ?? state.jobs.count
            let taken = Array(state.jobs[..<end])
            state.jobs.removeFirst(end)
            return taken
        }
    }

    /// Returns false when no job is left. The next caller must then start a worker.
    private func hasMoreJobs() -> Bool {
        state.withLock { state in
            state.isWorking = !state.jobs.isEmpty
            return state.isWorking
        }
    }

    /// Writes the batch with one sync.
    private func commit(_ batch: inout [Submission]) {
        guard !batch.isEmpty else { return }
        var outcomes = [Result<Void, any Error>?](repeating: nil, count: batch.count)
        let start = SystemClock().uptime
        do {
            try file.exclusively {
                var lines = try JournalBatch()
                for (index, submission) in batch.enumerated() {
                    do {
                        lines += try submission.admitted()
                    } catch {
                        outcomes[index] = .failure(PulseError(wrapping: error))
                    }
                }
                if !lines.bytes.isEmpty { try file.append(lines) }
            }
        } catch {
            let failure = PulseError(wrapping: error)
            outcomes = outcomes.map { $0 ?? .failure(failure) }
        }
        let time = SystemClock().uptime - start
        state.withLock { [end = file.end] state in
            (state.size, state.lastCommit) = (end, time)
        }
        for (submission, outcome) in zip(batch, outcomes) {
            submission.continuation.resume(with: outcome ?? .success(()))
        }
        batch = []
    }

    private func updateSize() {
        state.withLock { [end = file.end] in $0.size = end }
    }
}
