// SPDX-License-Identifier: MIT

internal import Dispatch
import PulseCore

/// A few threads for blocking work, one job at a time on each. A free thread takes the next job in order, so that a
/// long job delays only itself.
///
/// The pool uses serial queues, which have their own threads. On Linux, the system's concurrent queues share their
/// threads with all of Swift's tasks: two long computations there stop every task on a machine with two cores.
///
/// Jobs on the files of a directory run in a lane. System calls cannot be interrupted, so a disk that hangs, such as a
/// dead network volume, blocks the threads of its jobs. A lane gets its first thread immediately, even beyond the
/// pool's size, up to a limit. It gets another thread only after one of its jobs has ended.
package struct BlockingThreadPool: Sendable {
    package typealias Work = @Sendable () -> Void

    /// The threads for computations.
    static let shared = BlockingThreadPool(count: max(2, ProcessInfo.processInfo.activeProcessorCount))
    /// The threads for short jobs that mostly wait for a disk. They do not queue behind computations.
    package static let files = BlockingThreadPool(count: 4)
    /// The seconds that a cancelled caller waits for a job that should not be abandoned without need. A disk that spins
    /// up, or is busy with others, takes less.
    static let gracePeriod: TimeInterval = 5
    /// The number of threads that the first jobs of lanes may use beyond the pool's size.
    static let extraThreads = 16

    private struct Lane: Hashable {
        /// Empty for jobs that use no files.
        var directory = ""
        /// The maximum number of threads before a job of the lane has ended.
        var width = Int.max
    }

    private struct Line {
        var width: Int
        var runningCount = 0
        var waiting: ArraySlice<Work> = []
    }

    private struct Start {
        let work: Work
        let thread: DispatchQueue
        let lane: Lane
    }

    private struct State {
        let count: Int
        var idle: [DispatchQueue]
        var runningCount = 0
        /// The lanes that have jobs.
        var lines: [Lane: Line] = [:]

        private func mayStart(_ line: Line) -> Bool {
            guard !line.waiting.isEmpty else { return false }
            if line.runningCount == 0 { return runningCount < count + BlockingThreadPool.extraThreads }
            return line.runningCount < line.width && runningCount < count
        }

        /// Takes the next job of a lane and a thread for it, if it may run now.
        mutating func next(in lane: Lane) -> Start? {
            guard let line = lines[lane], mayStart(line) else { return nil }
            return start(in: lane)
        }

        private mutating func start(in lane: Lane) -> Start? {
            guard let work = lines[lane]?.waiting.popFirst() else { return nil }
            // A slice keeps the storage of removed elements.
            if lines[lane]?.waiting.isEmpty == true { lines[lane]?.waiting = [] }
            lines[lane]?.runningCount += 1
            runningCount += 1
            return Start(work: work, thread: idle.popLast() ?? DispatchQueue(label: "com.pulse.work"), lane: lane)
        }

        /// Ends a job. Returns the next one that may run: of a lane without a thread, of the same lane, or of any.
        mutating func end(_ job: Start) -> Start? {
            runningCount -= 1
            if idle.count < count { idle.append(job.thread) }
            lines[job.lane]?.runningCount -= 1
            if let width = lines[job.lane]?.width, width < count { lines[job.lane]?.width += 1 }
            if let line = lines[job.lane], line.runningCount == 0, line.waiting.isEmpty { lines[job.lane] = nil }
            // A lane that waits for its first thread has precedence.
            let starved = lines.first { $0.value.runningCount == 0 && $0.key != job.lane && mayStart($0.value) }
            if let starved { return start(in: starved.key) }
            return next(in: job.lane) ?? lines.first { mayStart($0.value) }.flatMap { start(in: $0.key) }
        }
    }

    private let state: Locked<State>
    private let lane: Lane

    package init(count: Int) {
        let threads = (0..<max(1, count)).map { DispatchQueue(label: "com.pulse.work-\($0)") }
        // The last idle thread is taken first: a few warm threads are better than many.
        self.init(Locked(State(count: threads.count, idle: threads.reversed())), Lane())
    }

    private init(_ state: Locked<State>, _ lane: Lane) {
        self.state = state
        self.lane = lane
    }

    /// A lane of these threads, for the files of a directory.
    ///
    /// - Parameter width: the maximum number of threads before one of these jobs has ended.
    func lane(of directory: String, width: Int = 1) -> BlockingThreadPool {
        BlockingThreadPool(state, Lane(directory: directory, width: width))
    }

    /// The threads for short jobs on the files of a directory. If its disk hangs, those of other directories continue.
    package static func files(in directory: String) -> BlockingThreadPool { files.lane(of: directory) }

    /// The threads for long jobs, such as waiting until bytes are on the medium. Short jobs of the same directory do
    /// not queue behind them.
    package static func longJobs(in directory: String) -> BlockingThreadPool {
        // No path has this character.
        files.lane(of: directory + "\0")
    }

    /// The threads for short jobs on a file, which are those of its directory.
    package static func files(of file: URL) -> BlockingThreadPool {
        files(in: file.deletingLastPathComponent().path)
    }

    package func begin(_ work: @escaping Work) {
        let start = state.withLock { state in
            state.lines[lane, default: Line(width: lane.width)].waiting.append(work)
            return state.next(in: lane)
        }
        if let start { launch(start) }
    }

    private func launch(_ job: Start) {
        job.thread.async { [self] in
            job.work()
            var next = state.withLock { $0.end(job) }
            // The lane may have become wider.
            while let job = next {
                launch(job)
                next = state.withLock { $0.next(in: job.lane) }
            }
        }
    }

    // MARK: Results

    /// Runs a job and passes its value to `receive`.
    ///
    /// The thread releases the job first: a file whose last reference the receiver drops is then closed immediately.
    package func begin<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, then receive: @escaping @Sendable (Value) -> Void
    ) {
        let job = Locked<(@Sendable () -> Value)?>(body)
        begin {
            if let value = Self.result(of: job) { receive(value) }
        }
    }

    /// Runs a job, even if its caller is cancelled.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withFencedContinuation { resume in begin(body, then: resume) }
    }

    /// Runs a job whose caller may stop waiting before its end.
    ///
    /// - Parameter ifCancelled: whether a cancelled caller ends the wait, with `CancellationError`. The job still runs.
    /// - Parameter register: receives an action that ends the wait with an error, before the job begins.
    package func abandonable<Value: Sendable>(
        ifCancelled: Bool = true, register: (@escaping @Sendable (any Error) -> Void) -> Void = { _ in },
        _ body: @escaping @Sendable () -> Value
    ) async throws -> Value {
        try await Self.awaitValue(ifCancelled: ifCancelled, register: register) { resume in begin(body, then: resume) }
    }

    /// Runs a job without effects. A cancelled caller does not wait for its end, and a job that has not begun is
    /// dropped.
    package func read<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let job = Locked<(@Sendable () throws -> Value)?>(body)
        return try await withTaskCancellationHandler {
            try await abandonable { () -> Result<Value, any Error> in
                guard let body = job.withLock({ $0.take() }) else { return .failure(CancellationError()) }
                return Result(catching: body)
            }.get()
        } onCancel: {
            _ = job.withLock { $0.take() }
        }
    }

    /// Runs a job that may fail, even if its caller is cancelled. A cancelled caller waits for the grace period, and
    /// then throws `CancellationError`: the disk hangs. The job must retain what it uses.
    package func abandonableAfterGrace<Value: Sendable>(
        _ clock: any PulseClock, _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = try await Self.waitWithGrace(clock) { resume in
            begin({ Result(catching: body) }, then: resume)
        }
        return try result.get()
    }

    /// Waits for a value, after a cancellation only for the grace period.
    package static func waitWithGrace<Value: Sendable>(
        _ clock: any PulseClock, start: @Sendable (_ resume: @escaping @Sendable (Value) -> Void) -> Void
    ) async throws -> Value {
        let abandon = Locked<(@Sendable (any Error) -> Void)?>(nil)
        let limit = Locked<Task<Void, Never>?>(nil)
        defer { limit.withLock { $0 }?.cancel() }
        return try await withTaskCancellationHandler {
            try await awaitValue(
                ifCancelled: false, register: { action in abandon.withLock { $0 = action } }, start: start)
        } onCancel: {
            let task = Task.detached {
                guard (try? await clock.sleep(gracePeriod, for: .timeout)) != nil else { return }
                let action = abandon.withLock { $0 }
                action?(CancellationError())
            }
            limit.withLock { $0 = task }
        }
    }

    /// Waits for a value that a thread passes on. The wait may end earlier.
    private static func awaitValue<Value: Sendable>(
        ifCancelled: Bool, register: (@escaping @Sendable (any Error) -> Void) -> Void,
        start: @Sendable (_ resume: @escaping @Sendable (Value) -> Void) -> Void
    ) async throws -> Value {
        let waiter = BlockingWork.Waiter<Value>()
        register { waiter.take()?.resume(throwing: $0) }
        let value = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if !waiter.wait(continuation) { continuation.resume(throwing: CancellationError()) }
                start { value in waiter.take()?.resume(returning: value) }
            }
        } onCancel: {
            if ifCancelled { waiter.take()?.resume(throwing: CancellationError()) }
        }
        // The lock is the fence, as in `withFencedContinuation`.
        _ = waiter.take()
        return value
    }

    /// Runs a job that may fail.
    package func result<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await run { Result(catching: body) }.get()
    }

    /// Takes the job from its only holder, so that it is released on return, and runs it.
    private static func result<Value>(of job: Locked<(@Sendable () -> Value)?>) -> Value? {
        let body = job.withLock { $0.take() }
        return body?()
    }
}
