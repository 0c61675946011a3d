// SPDX-License-Identifier: MIT

import PulseCore

/// A connection that lets tasks avoid thread switches.
package protocol EagerConnection: DuplexConnection {
    /// Starts writing. Returns whether the system has accepted all bytes; if not, call ``finishStarted()`` next, from
    /// any task. Throws as ``write(_:)`` does.
    func startWriting(_ bytes: Data) throws -> Bool
    /// Returns when the system has accepted all bytes of ``startWriting(_:)``. Throws as ``write(_:)`` does.
    func finishStarted() async throws
    /// Runs work that reads, if possible on the thread on which the bytes arrive. The work must neither block nor
    /// compute for long.
    func readingNearby(_ work: @Sendable () async -> Void) async
    /// Runs work that writes. If the connection has its own thread, the work runs there after the pending events. It
    /// must neither block nor compute for long.
    func writingNearby(_ work: @escaping @Sendable () -> Void)
}

extension EagerConnection {
    package func writingNearby(_ work: @escaping @Sendable () -> Void) { work() }
}
