// SPDX-License-Identifier: MIT

import PulseCore

/// A connection for tasks that avoid switches of threads.
package protocol EagerConnection: DuplexConnection {
    /// Begins to write. Returns whether the system has taken all bytes; if not, ``finishStarted()`` is called next, by
    /// any task. Throws as ``write(_:)``.
    func startWriting(_ bytes: Data) throws -> Bool
    /// Returns when the system has taken all bytes of ``startWriting(_:)``. Throws as ``write(_:)``.
    func finishStarted() async throws
    /// Runs work that reads, without a switch of threads from where the bytes arrive, if that is possible. It must
    /// neither block nor compute for long.
    func readingNearby(_ work: @Sendable () async -> Void) async
    /// Runs work that writes on the connection's own thread, once that has handled what has come, if there is one. It
    /// must neither block nor compute for long.
    func writingNearby(_ work: @escaping @Sendable () -> Void)
}

extension EagerConnection {
    package func writingNearby(_ work: @escaping @Sendable () -> Void) { work() }
}
