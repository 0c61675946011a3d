// SPDX-License-Identifier: MIT

import PulseCore
import PulseTransports

/// One of two connected ends of a connection without a wire.
///
/// What an end has sent before it closes or resets the connection still reaches the other end.
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

    /// Two ends.
    ///
    /// - Parameter capacity: the bytes that each direction holds until they are read.
    package static func pair(capacity: Int = 64 << 10) -> (client: MemoryConnection, server: MemoryConnection) {
        let (up, down) = (MemoryPipe(capacity: capacity), MemoryPipe(capacity: capacity))
        return (MemoryConnection(incoming: down, outgoing: up), MemoryConnection(incoming: up, outgoing: down))
    }

    package var remoteAddress: String? { nil }

    package func read() async throws -> Data? {
        try Task.checkCancellation()
        return try await incoming.read()
    }

    /// The same as ``read()`` for a task that may be cancelled: it gets what has arrived, and waits for nothing.
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

    /// The same as ``write(_:)`` for a task that may be cancelled: it waits for room nevertheless.
    func writeWhole(_ bytes: Data) async throws {
        try await outgoing.write(bytes, heedsCancellation: false)
    }

    package func finishWriting() {
        outgoing.finish()
    }

    package func close() {
        close(resetting: false)
    }

    /// Closes this end, so that reads of the other fail after the bytes that it has not read.
    func reset() {
        close(resetting: true)
    }

    private func close(resetting: Bool) {
        // First what the peer writes to: the end of the other direction cancels its task.
        incoming.closeReader()
        outgoing.closeWriter(resetting: resetting)
    }

    /// Runs `body` once, when the other end has ended its direction or this end is closed; at once if so.
    func onPeerEnd(_ body: @escaping @Sendable () -> Void) {
        incoming.onEnd(body)
    }
}
