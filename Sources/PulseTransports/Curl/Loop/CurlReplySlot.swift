// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Where a sender waits for the reply that the loop leaves there.
///
/// The reply goes through the lock and not through the continuation. The runtime hands over a continuation that is
/// resumed before its task has suspended by an atomic that the thread sanitizer does not see. Through the lock it sees
/// that the sender may read all that the loop has written.
struct CurlReplySlot: Sendable {
    typealias Reply = Result<CurlTransfer.Reply, any Error>
    /// Checked: an unsafe one's `resume` is inlined here, and the sanitizer sees it read the sender's frame.
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

    /// Leaves the reply, if it is the first, and gives the waiter to resume then; nil if nobody waits any more.
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
