// SPDX-License-Identifier: MIT

import PulseCore
import PulseTransports

/// One end of an in-memory connection.
///
/// Bytes sent before an end closes or resets the connection still reach the other end.
package final class MemoryConnection: EagerConnection {
    private let incoming: MemoryPipe
    private let outgoing: MemoryPipe

    private init(incoming: MemoryPipe, outgoing: MemoryPipe) {
        self.incoming = incoming
        self.outgoing = outgoing
    }

    deinit {
        close()
    }

    /// Creates two connected ends.
    ///
    /// - Parameter capacity: the maximum number of unread bytes in each direction.
    package static func pair(capacity: Int = 64 << 10) -> (client: MemoryConnection, server: MemoryConnection) {
        let (up, down) = (MemoryPipe(capacity: capacity), MemoryPipe(capacity: capacity))
        return (MemoryConnection(incoming: down, outgoing: up), MemoryConnection(incoming: up, outgoing: down))
    }

    package var remoteAddress: String? { nil }

    package func read() async throws -> Data? {
        try Task.checkCancellation()
        return try await incoming.read()
    }

    /// Like ``read()``, but a cancelled task gets the bytes that have arrived, without waiting.
    func readArrived() async throws -> Data? {
        try await incoming.read()
    }

    package func readingNearby(_ work: @Sendable () async -> Void) async {
        await work()
    }

    package func write(_ bytes: Data) async throws {
        try await closingIfCancelled { try await outgoing.write(bytes, heedsCancellation: true) }
    }

    package func startWriting(_ bytes: Data) throws -> Bool {
        try outgoing.startWriting(bytes)
    }

    package func finishStarted() async throws {
        try await closingIfCancelled { try await outgoing.finishStarted() }
    }

    private func closingIfCancelled(_ write: () async throws -> Void) async throws {
        do {
            try await write()
        } catch let error as CancellationError {
            close()
            throw error
        }
    }

    /// Like ``write(_:)``, but waits for space even in a cancelled task.
    func writeWhole(_ bytes: Data) async throws {
        try await outgoing.write(bytes, heedsCancellation: false)
    }

    package func finishWriting() {
        outgoing.finish()
    }

    package func close() {
        close(resetting: false)
    }

    /// Closes this end. The other end's reads fail once it has read the remaining bytes.
    func reset() {
        close(resetting: true)
    }

    private func close(resetting: Bool) {
        // The peer's outgoing direction first: the end of the other cancels the peer's task.
        incoming.closeReader()
        outgoing.closeWriter(resetting: resetting)
    }

    /// Runs `body` once when the other end has ended its direction or this end is closed; at once if that has happened.
    func onPeerEnd(_ body: @escaping @Sendable () -> Void) {
        incoming.onEnd(body)
    }
}
