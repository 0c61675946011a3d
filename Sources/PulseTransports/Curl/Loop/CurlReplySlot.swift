// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// Where a sender waits for the loop's reply.
///
/// The reply goes through the lock and not through the continuation. If a continuation is resumed before its task has
/// suspended, the runtime synchronizes with an atomic that the thread sanitizer does not see. The lock makes the loop's
/// writes visible to the sender.
struct CurlReplySlot: Sendable {
    typealias Reply = Result<CurlTransfer.Reply, any Error>
    /// Checked: the `resume` of an unsafe one is inlined here, and the sanitizer sees it read the sender's frame.
    typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var waiter: Waiter?
        var reply: Reply?
    }

    private let state = Locked(State())

    /// Registers the waiting sender.
    func wait(_ waiter: Waiter) {
        state.withLock { $0.waiter = waiter }
    }

    /// Stores the reply, if it is the first, and returns the waiter to resume; nil without a waiter.
    func store(_ reply: Reply) -> Waiter? {
        state.withLock { state in
            guard let waiter = state.waiter else { return nil }
            (state.waiter, state.reply) = (nil, reply)
            return waiter
        }
    }

    /// The reply, once, for the resumed sender.
    func take() -> Reply {
        state.withLock { state in
            defer { state.reply = nil }
            return state.reply ?? .failure(CancellationError())
        }
    }
}
#endif
