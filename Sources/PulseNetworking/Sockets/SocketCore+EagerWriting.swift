// SPDX-License-Identifier: MIT

import PulseCore
import PulseTransports

extension SocketCore {
    /// Writes a batch in a task that sends. Two switches of tasks would take longer than a small message; the row of
    /// `Benchmarks/sockets` with 64 in flight shows them.
    ///
    /// - Parameter writer: the writing task, which waits. It takes over what the system has no room for.
    func write(insteadOf writer: Waiter) {
        guard let (next, connection) = takeEagerBatch() else { return writer.resume() }
        var batch = next
        guard encode(&batch) else { return writer.resume() }
        do {
            guard try batch.bytes.isEmpty || connection.startWriting(batch.bytes) else {
                state.withLock { $0.link?.begin(batch) }
                return writer.resume()
            }
        } catch {
            couldNotWrite(PulseError(wrapping: error))
            return writer.resume()
        }
        if wrote(batch) { connection.finishWriting() }
        if !park(writer) { writer.resume() }
    }

    /// The next batch, if this task may write it.
    private func takeEagerBatch() -> (SocketOutbox.Batch, any EagerConnection)? {
        let time = now
        return state.withLock { state in
            guard let link = state.link, let connection = link.eager, !link.isOver, !state.outbox.hasClosed else {
                return nil
            }
            state.link?.eagerCount += 1
            // The cooperative pool has few threads: now and then the sending task waits for the writing one.
            guard link.eagerCount % 64 != 63 else { return nil }
            return state.takeBatch(at: time).map { ($0, connection) }
        }
    }
}
