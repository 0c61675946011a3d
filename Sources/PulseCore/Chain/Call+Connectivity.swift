// SPDX-License-Identifier: MIT

extension Call {
    /// Suspends until `monitor` reports a network path, for at least `shortest` and at most `longest` seconds. A
    /// monitor may be wrong: only a connection attempt shows whether there is a network. Throws `CancellationError`
    /// when the call is cancelled.
    func waitForConnectivity(
        _ monitor: any ConnectivityMonitor, atLeast shortest: TimeInterval, atMost longest: TimeInterval
    ) async throws {
        let clock = environment.clock
        let start = clock.uptime
        let task = Task {
            await withTaskGroup(of: Bool.self) { group in
                group.addTask { await monitor.showsAWay() }
                group.addTask {
                    try? await clock.sleep(longest, for: .connectivity)
                    return true
                }
                // Once the monitor's updates have ended, only the time limit counts.
                while let isOver = await group.next(), !isOver {}
                group.cancelAll()
            }
        }
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
    /// Waits for a status with a network path; false if the updates end without such a status.
    fileprivate func showsAWay() async -> Bool {
        for await status in updates where status.path != .unsatisfied {
            return true
        }
        return false
    }
}
