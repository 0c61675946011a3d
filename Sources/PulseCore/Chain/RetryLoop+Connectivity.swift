// SPDX-License-Identifier: MIT

/// Waiting for a connection: only for a call that asks for it, only after it failed for want of one, and only while the
/// monitor says so. An attempt behind such a wait is none of the policy's: nothing was sent before it, so it adds no load.
extension RetryLoop {
    /// What is waited on after that failure, if anything is.
    func monitor(after failure: PulseError, in context: PluginContext) -> (any ConnectivityMonitor)? {
        guard failure.kind == .noConnection, context.call.options.waitsForConnectivity == true,
            let monitor = context.call.environment.connectivity, monitor.current.path == .unsatisfied
        else { return nil }
        return monitor
    }

    /// Waits until it is worth another try; false if the deadline comes first. Throws `CancellationError`.
    ///
    /// A minute at most, since a monitor may be wrong; and at least a second, then two, four … since one that reports a
    /// way again and again where there is none would make a busy loop.
    func hasWaited(for monitor: any ConnectivityMonitor, waits: Int, in context: PluginContext) async throws -> Bool {
        let call = context.call
        let deadline = call.deadline ?? .infinity
        let longest = min(Self.longestWait, deadline - call.environment.clock.uptime)
        guard longest > 0 else { return false }
        let shortest = min(Self.longestWait, TimeInterval(1 << min(waits, 10)))
        do {
            try await call.waitForConnectivity(monitor, atLeast: shortest, atMost: longest)
        } catch  where call.isStruck {
            return false
        }
        return call.environment.clock.uptime < deadline
    }

    private static let longestWait: TimeInterval = 60
}
