// SPDX-License-Identifier: MIT

extension Call {
    /// Suspends until `monitor` reports a network path, for at least `shortest` and at most `longest` seconds. Throws
    /// `CancellationError` when the call is cancelled.
    func waitForConnectivity(
        _ monitor: any ConnectivityMonitor, atLeast shortest: TimeInterval, atMost longest: TimeInterval
    ) async throws {
        let clock = environment.clock
        let start = clock.uptime
        let task = Task { await monitor.waitForPath(atMost: longest, clock) }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        try Task.checkCancellation()
        let rest = min(shortest, longest) - (clock.uptime - start)
        if rest > 0 { try await clock.sleep(rest, for: .backoff) }
    }
}

extension ConnectivityMonitor {
    /// Waits for a status with a network path, or until that many seconds have passed or the task is cancelled. A
    /// monitor may be wrong: only a connection attempt shows whether there is a network.
    package func waitForPath(atMost seconds: TimeInterval, _ clock: any PulseClock) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await showsPath() }
            group.addTask {
                try? await clock.sleep(seconds, for: .connectivity)
                return true
            }
            // Once the monitor's updates have ended, only the time limit counts.
            while let isOver = await group.next(), !isOver {}
            group.cancelAll()
        }
    }

    /// Waits for a status with a network path; false if the updates end without such a status.
    private func showsPath() async -> Bool {
        for await status in updates where status.path != .unsatisfied {
            return true
        }
        return false
    }
}
