// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The commands and the requests that the loop processes next.
final class CurlCommandQueue: Sendable {
    enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(UInt64)
        case resume(UInt64)

        /// The transfer that this command starts.
        var started: UInt64? {
            if case .start(let transfer) = self { transfer.id } else { nil }
        }
    }

    /// What happens to a posted command.
    enum PostResult {
        /// The loop is closed, or the command's sender was cancelled.
        case refused
        /// The command is queued and the thread sleeps: the poster must process it, unless another thread drives.
        case queued
        /// The same, and few transfers are under way.
        case queuedAlone
        /// The thread is awake and will process it.
        case noticed
    }

    private struct State {
        var commands: [Command] = []
        /// Whether the thread waits, or is about to, and has not been woken.
        var isAsleep = false
        /// The number of transfers under way at the last check.
        var underWay = 0
        var isClosed = false
    }

    /// With at most this many transfers under way, starting one immediately is worth more than batching on the thread.
    private static let few = 4

    private let state = Locked(State())

    var isEmpty: Bool {
        state.withLock { $0.commands.isEmpty }
    }

    /// Posts a command and returns what happens to it.
    ///
    /// - Parameter isCancelled: evaluated under the lock, because an earlier cancellation has found nothing to cancel.
    func post(_ command: Command, unless isCancelled: () -> Bool = { false }) -> PostResult {
        state.withLock { state in
            guard !state.isClosed, !isCancelled() else { return .refused }
            state.commands.append(command)
            guard state.isAsleep else { return .noticed }
            return state.underWay + state.commands.count <= Self.few ? .queuedAlone : .queued
        }
    }

    /// True for the caller that must wake the thread.
    func mustWake() -> Bool {
        state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }

    /// Refuses all later commands.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// The queued commands, and whether the queue is closed.
    func collect(underWay: Int) -> (commands: [Command], isClosed: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            state.underWay = underWay + state.commands.count
            return (state.commands, state.isClosed)
        }
    }

    // MARK: Thread side

    /// True if the thread has nothing to do. From then on, posters must wake it.
    func mayBlock() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty && !state.isClosed
            return state.isAsleep
        }
    }

    func wakeUp() {
        state.withLock { $0.isAsleep = false }
    }
}
#endif
