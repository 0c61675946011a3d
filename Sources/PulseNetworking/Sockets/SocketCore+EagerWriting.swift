// SPDX-License-Identifier: MIT

import PulseCore
import PulseTransports

extension SocketCore {
    /// Writes a batch in the sending task. Two task switches would take longer than a small message: see the row with
    /// 64 in flight of `Benchmarks/sockets`.
    ///
    /// - Parameter writer: the waiting writing task. It writes the bytes that the system has no room for.
    package func write(insteadOf writer: Waiter) {
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
            // The cooperative pool has few threads: every 64th time, the writing task takes the batch.
            guard link.eagerCount % 64 != 63 else { return nil }
            return state.takeBatch(at: time).map { ($0, connection) }
        }
    }
}
