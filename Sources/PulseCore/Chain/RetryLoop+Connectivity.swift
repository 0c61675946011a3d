// SPDX-License-Identifier: MIT

/// Waiting for a connection: only for a call that opts in, only after it failed for lack of a connection, and only
/// while the monitor reports none. The policy does not count the attempt after such a wait: nothing was sent before it,
/// so it adds no load.
extension RetryLoop {
    /// The monitor to wait for after a failure; nil if the call does not wait.
    func monitor(after failure: PulseError, in context: PluginContext) -> (any ConnectivityMonitor)? {
        guard failure.kind == .noConnection, context.call.options.waitsForConnectivity == true,
            let monitor = context.call.environment.connectivity, monitor.current.path == .unsatisfied
        else { return nil }
        return monitor
    }

    /// Waits until another attempt is worthwhile; false if the deadline expires first. Throws `CancellationError`.
    ///
    /// It waits a minute at most, since a monitor may be wrong. It waits at least a second, then two, four and so on: a
    /// monitor that keeps reporting a path where there is none would cause a busy loop.
    func hasWaited(for monitor: any ConnectivityMonitor, waits: Int, in context: PluginContext) async throws -> Bool {
        let call = context.call
        let longest = min(Self.longestWait, (call.deadline ?? .infinity) - call.environment.clock.uptime)
        guard longest > 0 else { return false }
        let shortest = min(Self.longestWait, TimeInterval(1 << min(waits, 10)))
        do {
            try await call.waitForConnectivity(monitor, atLeast: shortest, atMost: longest)
        } catch  where call.isExpired {
            return false
        }
        // Read again: calls that share the work may have joined meanwhile, with later deadlines.
        return call.environment.clock.uptime < call.deadline ?? .infinity
    }

    private static let longestWait: TimeInterval = 60
}
