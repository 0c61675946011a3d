// SPDX-License-Identifier: MIT

import PulseCore

/// A file of records, one a line, to which any number of tasks and processes append. A record is on the disk before
/// whoever appended it goes on; appends that come together share one sync. Safe from any thread.
///
/// The file is opened at the first use. It survives a crash at any moment: a line that was not finished is cut off, a
/// damaged one is set aside in a file beside it. Beside the log also lies the lock that its users take for each change.
///
/// The work is done on a queue of its own, so that no thread of Swift's pool waits for a disk; but where the disk was
/// quick the last time, and nobody else is at work, an append is done in place.
package final class AppendLog: RecordLog {
    private enum Job: Sendable {
        case append(Submission)
        case perform(@Sendable (LogFile) -> Void)
    }

    private struct Submission: Sendable {
        let lines: LogLines
        let admission: (@Sendable () throws -> [LogRecord])?
        let continuation: CheckedContinuation<Void, any Error>

        /// The lines to be written for it.
        func admitted() throws -> LogLines {
            guard let records = try admission?(), !records.isEmpty else { return lines }
            var all = try LogLines(records)
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
        /// The log was closed.
        case none
        /// The worker under way will do it.
        case queued
        /// Nobody works: the caller that submitted it has to begin.
        case first(lastCommit: TimeInterval)
    }

    /// The bytes that may be appended in place at most.
    private static let shortLength = 16 << 10

    private let queue = DispatchQueue(label: "com.pulse.append-log")
    private let state = Locked(State())
    private let patience: TimeInterval
    // Unchecked: used only by the worker, of whom there is one at a time, see ``State/isWorking``.
    private nonisolated(unsafe) let file: LogFile

    /// - Parameter apply: told of every change, in the log's order, one at a time, before the append that caused it
    ///   returns. Must be short, and call nothing of the log.
    package init(_ url: URL, disk: Disk = .system, apply: @escaping @Sendable (LogChange) -> Void) {
        patience = disk.patience
        file = LogFile(url, disk: disk, apply: apply)
    }

    package var size: Int { state.withLock { $0.size } }

    /// Jobs that no worker has begun.
    var waitingCount: Int { state.withLock { $0.jobs.count } }

    var isWorking: Bool { state.withLock { $0.isWorking } }

    package func append(_ records: [LogRecord], admission: (@Sendable () throws -> [LogRecord])?) async throws {
        let lines: LogLines
        do {
            lines = try LogLines(records)
        } catch {
            throw PulseError(wrapping: error)
        }
        try await withCheckedThrowingContinuation { continuation in
            let submission = Submission(lines: lines, admission: admission, continuation: continuation)
            switch submit(.append(submission)) {
            case .none: continuation.resume(throwing: PulseError.cancelled)
            case .queued: break
            case .first(let lastCommit):
                // Without lines the admission gives them all: perhaps as many as the log holds.
                let isShort = !lines.bytes.isEmpty && lines.bytes.count <= Self.shortLength
                if isShort, lastCommit < patience, file.lockIfFree() { workOnce() } else { workLater() }
            }
        }
    }

    package func read(_ locate: @escaping @Sendable () -> LogLocation?) async throws -> LogRecord? {
        try await perform { file in
            try locate().flatMap { try file.record(at: $0) }
        }
    }

    package func refresh(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await perform { file in
            try file.exclusively { try body() }
        }
    }

    package func compact(_ contents: @escaping @Sendable () -> [LogContent]?) async throws {
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

    private func perform<Value: Sendable>(_ body: @escaping @Sendable (LogFile) throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isAccepted = submitForLater(
                .perform { [self] file in
                    let result = Result { try body(file) }.mapError { PulseError(wrapping: $0) }
                    // First, since the caller that waited may ask for it next.
                    updateSize()
                    continuation.resume(with: result)
                })
            if !isAccepted { continuation.resume(throwing: PulseError.cancelled) }
        }
    }

    // MARK: The queue

    private func submit(_ job: Job, last: Bool = false) -> Acceptance {
        state.withLock { state in
            guard !state.isClosed else { return .none }
            state.isClosed = last
            state.jobs.append(job)
            defer { state.isWorking = true }
            return state.isWorking ? .queued : .first(lastCommit: state.lastCommit)
        }
    }

    /// False after ``close()``.
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
        repeat { workOff(takeJobs()) } while mustGoOn()
    }

    /// Does the appends that have come together. Work that would take the lock again or for longer is left to the
    /// queue, with what comes meanwhile.
    private func workOnce() {
        workOff(takeJobs(atMost: { if case .append = $0 { true } else { false } }))
        if mustGoOn() { workLater() }
    }

    private func workOff(_ jobs: [Job]) {
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

    /// Takes the jobs up to the first that is not wanted.
    private func takeJobs(atMost isWanted: (Job) -> Bool = { _ in true }) -> [Job] {
        state.withLock { state in
            let end = state.jobs.firstIndex { !isWanted($0) } ?? state.jobs.count
            let taken = Array(state.jobs[..<end])
            state.jobs.removeFirst(end)
            return taken
        }
    }

    /// False when there is nothing left: the next caller has to begin.
    private func mustGoOn() -> Bool {
        state.withLock { state in
            state.isWorking = !state.jobs.isEmpty
            return state.isWorking
        }
    }

    /// Writes the jobs that have come together, with one sync.
    private func commit(_ batch: inout [Submission]) {
        guard !batch.isEmpty else { return }
        var outcomes = [Result<Void, any Error>?](repeating: nil, count: batch.count)
        let start = SystemClock().uptime
        do {
            try file.exclusively {
                var lines = try LogLines()
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
