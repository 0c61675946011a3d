// SPDX-License-Identifier: MIT

extension Call {
    /// Suspends until `monitor` shows a way to the network, for at least `shortest` and at most `longest` seconds: a
    /// monitor may be wrong, and only an attempt to connect tells. Throws `CancellationError` when the call is
    /// cancelled.
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
                // A monitor whose updates end knows nothing more: then only the time counts.
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
    /// Waits for a status with a way to the network; false if the updates end without one.
    fileprivate func showsAWay() async -> Bool {
        for await status in updates where status.path != .unsatisfied {
            return true
        }
        return false
    }
}
