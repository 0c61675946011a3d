// SPDX-License-Identifier: MIT

/// Waiting for a connection: only for a call that asks for it, only after it failed for lack of one, and only while the
/// monitor reports none. The attempt after such a wait does not count for the policy: nothing was sent before it, so it
/// adds no load.
extension RetryLoop {
    /// The monitor to wait on after that failure, or nil if the call does not wait.
    func monitor(after failure: PulseError, in context: PluginContext) -> (any ConnectivityMonitor)? {
        guard failure.kind == .noConnection, context.call.options.waitsForConnectivity == true,
            let monitor = context.call.environment.connectivity, monitor.current.path == .unsatisfied
        else { return nil }
        return monitor
    }

    /// Waits until another attempt is worth it; false if the deadline comes first. Throws `CancellationError`.
    ///
    /// It waits a minute at most, since a monitor may be wrong. It waits at least a second, then two, four and so on,
    /// since a monitor that reports a way again and again where there is none would make a busy loop.
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
        // Asked again: calls that share the work may have joined since, which wait longer.
        return call.environment.clock.uptime < call.deadline ?? .infinity
    }

    private static let longestWait: TimeInterval = 60
}
