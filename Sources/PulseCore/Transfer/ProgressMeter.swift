// SPDX-License-Identifier: MIT

/// Throttles the progress that a transport notes during one attempt to the reports that a listener receives.
///
/// There are at most ten reports a second. The first value is reported immediately, and so is one that completes a
/// known total: the server may then take its time to respond. The last value is reported by ``end()`` at the latest.
/// `completed` never falls and never exceeds `total`, and no value is repeated. Each report has the number of the
/// attempt and the recent rate.
///
/// Values may be noted on any thread, and concurrently. Reports are made in order, one at a time, on one of these
/// threads, without a lock.
/// threads, without a lock.
package final class ProgressMeter: Sendable {
    /// Seconds between two reports. A sum of a clock's steps may differ from their total by some bits.
    fileprivate static let interval: TimeInterval = 0.1 - 1e-9

    /// Seconds over which the rate is measured.
    fileprivate static let rateTime: TimeInterval = 5

    fileprivate struct State {
        let attempt: Int
        var latest: TransferProgress?
        var reported: TransferProgress?
        var reportedAt = -TimeInterval.infinity
        /// The reports within ``ProgressMeter/rateTime``, and the last one before it.
        var samples: ArraySlice<(time: TimeInterval, completed: Int64)> = []
        /// Whether a thread is calling the listener. It also makes the reports that become due in the meantime.
        var isReporting = false
        var isEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The next step of the thread that changed the state, outside the lock.
    fileprivate enum Action {
        case report(TransferProgress)
        case resume([CheckedContinuation<Void, Never>])
    }

    private let clock: any PulseClock
    private let report: @Sendable (TransferProgress) -> Void
    private let state: Locked<State>

    /// - Parameter attempt: the number of the attempt, counted from 1.
    /// - Parameter report: may be slow, but must not wait for the end of the transfer.
    package init(
        clock: any PulseClock, attempt: Int = 1, report: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.clock = clock
        self.report = report
        state = Locked(State(attempt: attempt))
    }

    /// Notes the progress of the transfer. Ignored after its end.
    package func note(_ progress: TransferProgress) {
        update { $0.note(progress) }
    }

    /// Reports the last value, unless it has been reported, and waits until the listener has returned. Nothing is
    /// reported afterwards.
    package func end() async {
        await withCheckedContinuation { continuation in
            update { state in
                state.isEnded = true
                state.waiters.append(continuation)
            }
        }
    }

    /// Reports the last value as ``end()`` does, but does not wait for another thread that is calling the listener.
    package func endWithoutWaiting() {
        update { $0.isEnded = true }
    }

    private func update(_ change: (inout State) -> Void) {
        var now = clock.uptime
        var action = state.withLock { state in
            change(&state)
            return state.nextAction(at: now)
        }
        while case .report(let progress) = action {
            report(progress)
            now = clock.uptime
            action = state.withLock { state in
                state.isReporting = false
                return state.nextAction(at: now)
            }
        }
        if case .resume(let waiters) = action { waiters.forEach { $0.resume() } }
    }
}

extension ProgressMeter.State {
    fileprivate mutating func note(_ progress: TransferProgress) {
        guard !isEnded else { return }
        let reached = latest?.completed ?? 0
        // Only the first total counts: one that grows with each value would be complete with each value.
        let total = latest?.total ?? progress.total.map { max($0, reached) }
        latest = TransferProgress(completed: min(max(progress.completed, reached), total ?? .max), total: total)
    }

    fileprivate mutating func nextAction(at now: TimeInterval) -> ProgressMeter.Action {
        guard !isReporting else { return .resume([]) }
        if let latest, latest != reported, isEnded || latest.completed == latest.total || isDue(at: now) {
            (reported, reportedAt, isReporting) = (latest, now, true)
            samples.append((now, latest.completed))
            while samples.count > 2, samples[samples.startIndex + 1].time <= now - ProgressMeter.rateTime {
                samples.removeFirst()
            }
            return .report(
                TransferProgress(
                    completed: latest.completed, total: latest.total, attempt: attempt, bytesPerSecond: rate))
        }
        guard isEnded else { return .resume([]) }
        defer { waiters = [] }
        return .resume(waiters)
    }

    private var rate: Double? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let seconds = last.time - first.time
        return seconds < ProgressMeter.interval ? nil : Double(last.completed - first.completed) / seconds
    }

    private func isDue(at now: TimeInterval) -> Bool { now - reportedAt >= ProgressMeter.interval }
}
