// SPDX-License-Identifier: MIT

import PulseCore

/// Runs one request and its copies, each in a separate task, so that the losers can be cancelled.
final class HedgedRequest: Sendable {
    typealias Outcome = Result<PulseResponse, PulseError>

    private struct State: Sendable {
        var race: HedgingPlugin.Race
        /// The tasks of the requests in flight, and the task that starts the copies.
        var tasks: [Task<Void, any Error>] = []
        /// The best outcome so far.
        var best: Outcome?
        var continuation: CheckedContinuation<Outcome, Never>?

        /// The outcome that ended the race; nil while it runs.
        var outcome: Outcome? { race.isOver ? best : nil }
    }

    private let plugin: HedgingPlugin
    private let request: URLRequest
    private let context: PluginContext
    private let next: PluginChain
    private let latencies: Locked<RouteLatencies>
    private let delay: TimeInterval
    private let state: Locked<State>

    /// - Parameter context: must record sends.
    /// - Parameter delay: seconds before each copy.
    init(
        _ plugin: HedgingPlugin, _ request: URLRequest, for context: PluginContext, next: PluginChain,
        _ latencies: Locked<RouteLatencies>, copyingAfter delay: TimeInterval
    ) {
        self.plugin = plugin
        self.request = request
        self.context = context
        self.next = next
        self.latencies = latencies
        self.delay = delay
        state = Locked(State(race: HedgingPlugin.Race(limit: plugin.limit)))
    }

    /// Starts the request. Returns the outcome if it is available at once: then there is nothing to hedge. A cancelled
    /// task starts nothing.
    func begin() -> Outcome? {
        guard !Task.isCancelled, let task = start() else { return .failure(.cancelled) }
        return track(task)
    }

    /// Waits for the first good outcome of the started requests, or else for the best one. A cancellation cancels all
    /// requests; the call ends after they have ended.
    func outcome() async -> Outcome {
        await withTaskCancellationHandler {
            track(Task { try await self.startCopies() })
            return await withCheckedContinuation { continuation in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.continuation = continuation }
                    return state.outcome
                }
                if let outcome { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            let tasks = state.withLock { state in
                state.race.cancel()
                return state.tasks
            }
            tasks.forEach { $0.cancel() }
        }
    }

    // MARK: Copies

    /// Starts each copy a delay after the previous request was sent. A copy of an unsent request would only wait for
    /// the same token or permit.
    private func startCopies() async throws {
        repeat {
            var wait = delay
            repeat {
                try await context.clock.sleep(wait, for: .hedge)
                wait = timeLeft
            } while wait > 0
        } while startCopy()
    }

    /// Minimum number of seconds until the next copy is due.
    private var timeLeft: TimeInterval {
        guard let log = context.sendWatch, let last = log.last,
            log.count >= state.withLock({ $0.race.started })
        else { return delay }
        let left = last + delay - context.clock.uptime
        // Anything less is a rounding error of the clock.
        return left > 1e-6 ? left : 0
    }

    /// Starts a copy; returns whether another one may follow.
    private func startCopy() -> Bool {
        // An inner plugin may have changed the method.
        let isSafe = HTTPMethod(rawValue: context.call.sent?.httpMethod ?? "GET")?.isSafe ?? false
        guard mayStart, isSafe, latencies.withLock({ $0.takeCopy() }), let task = start() else { return false }
        track(task)
        return mayStart
    }

    private var mayStart: Bool {
        state.withLock { $0.race.mayStart }
    }

    private func start() -> Task<Void, any Error>? {
        guard let number = state.withLock({ $0.race.start() }) else { return nil }
        return Task.startingNow {
            let context = self.context.with(attempt: self.context.attempt)
            self.finish(number, await self.next.result(self.request, context: context))
        }
    }

    /// Registers a task to be cancelled when the race ends. Returns the outcome if it is already available.
    @discardableResult
    private func track(_ task: Task<Void, any Error>) -> Outcome? {
        let (isDecided, outcome) = state.withLock { state in
            if !state.race.isDecided { state.tasks.append(task) }
            return (state.race.isDecided, state.outcome)
        }
        if isDecided { task.cancel() }
        return outcome
    }

    private func finish(_ number: Int, _ outcome: Outcome) {
        let quality = HedgingPlugin.quality(of: outcome, in: context)
        var dropped: Outcome? = outcome
        var (tasks, continuation): ([Task<Void, any Error>], CheckedContinuation<Outcome, Never>?) = ([], nil)
        let winner = state.withLock { state -> Outcome? in
            let wasOver = state.race.isOver
            let isDecided = state.race.finish(number, quality) != nil
            if !wasOver, state.race.bestNumber == number { swap(&dropped, &state.best) }
            guard isDecided else { return nil }
            swap(&state.tasks, &tasks)
            swap(&state.continuation, &continuation)
            return state.best
        }
        if case .success(let response) = dropped { response.discard() }
        guard let winner else { return }
        if quality == .good { plugin.recordLatency(of: context, latencies) }
        tasks.forEach { $0.cancel() }
        continuation?.resume(returning: winner)
    }
}
