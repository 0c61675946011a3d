// SPDX-License-Identifier: MIT

extension ConnectivityMonitor {
    /// Waits until the status changes: `let status = await monitor.waitForChange(timeout: 30)`.
    ///
    /// Returns the new status, immediately if it already differs; nil after the timeout, or if the task is cancelled or
    /// the monitor ends. Changes in between may be missed: compare the result with the status that you need.
    ///
    /// - Parameter status: the known status; nil, the default, for the ``current`` one.
    /// - Parameter timeout: the maximum wait in seconds by that clock. No limit by default; 0 or less does not wait.
    @discardableResult
    public func waitForChange(
        from status: ConnectivityStatus? = nil, timeout: TimeInterval = .infinity, clock: any PulseClock = .system
    ) async -> ConnectivityStatus? {
        let now = current
        let known = status ?? now
        guard now == known else { return now }
        guard timeout > 0 else { return nil }
        return await withTaskGroup(of: ConnectivityStatus?.self) { group in
            group.addTask {
                for await status in self.updates where status != known { return status }
                return nil
            }
            if timeout < .infinity {
                group.addTask {
                    try? await clock.sleep(timeout, for: .timeout)
                    return nil
                }
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    /// Waits until the status changes, for that duration at most: `waitForChange(timeout: .seconds(30))`.
    @available(iOS 16, macOS 13, tvOS 16, watchOS 9, *)  // newer: Duration
    @discardableResult
    public func waitForChange(
        from status: ConnectivityStatus? = nil, timeout: Duration, clock: any PulseClock = .system
    ) async -> ConnectivityStatus? {
        await waitForChange(from: status, timeout: TimeInterval(timeout), clock: clock)
    }
}
