// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Where a sender waits for the reply that the loop leaves there.
///
/// The reply goes by the lock and not by the continuation. A continuation that is resumed before its task has suspended is
/// passed on within the runtime by an atomic that the thread sanitizer does not see: with the lock it sees that all that the
/// loop has written before is the sender's to read.
struct CurlHandover: Sendable {
    typealias Reply = Result<CurlTransfer.Reply, any Error>
    /// Checked, for an unsafe one's `resume` is inlined into our code, whose look into the sender's frame the sanitizer sees.
    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var waiter: Waiter?
        var reply: Reply?
    }

    private let state = Locked(State())

    /// The sender waits from now on.
    func wait(_ waiter: Waiter) {
        state.withLock { $0.waiter = waiter }
    }

    /// Leaves the reply, if it is the first, and gives who is to be resumed then; nil if nobody waits any more.
    func leave(_ reply: Reply) -> Waiter? {
        state.withLock { state in
            guard let waiter = state.waiter else { return nil }
            (state.waiter, state.reply) = (nil, reply)
            return waiter
        }
    }

    /// The reply, once, for the sender that was resumed.
    func take() -> Reply {
        state.withLock { state in
            defer { state.reply = nil }
            return state.reply ?? .failure(CancellationError())
        }
    }
}
#endif
