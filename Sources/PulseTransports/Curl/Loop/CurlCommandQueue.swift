// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The commands of all threads for a loop, and whether the loop's thread sleeps.
struct CurlCommandQueue: Sendable {
    enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(UInt64)
        case resume(UInt64)
    }

    /// What the poster of a command must do.
    enum Duty {
        /// The loop is closed, or the command's sender was cancelled.
        case fail
        /// The thread sleeps, and few transfers are under way: the poster processes the command.
        case drive
        /// The thread sleeps.
        case wake
        /// The thread is awake and will process the command.
        case nothing
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

    /// Posts a command. Returns what its sender must do.
    ///
    /// - Parameter mayDrive: whether the sender can process it itself.
    /// - Parameter isCancelled: evaluated under the lock, because an earlier cancellation has found nothing to cancel.
    func post(_ command: Command, mayDrive: Bool = false, unless isCancelled: () -> Bool = { false }) -> Duty {
        state.withLock { state in
            guard !state.isClosed, !isCancelled() else { return .fail }
            state.commands.append(command)
            guard state.isAsleep else { return .nothing }
            if mayDrive, state.underWay + state.commands.count <= Self.few { return .drive }
            state.isAsleep = false
            return .wake
        }
    }

    /// Fails all later commands.
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

    /// Lets the thread wait. Meanwhile, if there is nothing to do, posters must wake it.
    ///
    /// - Parameter body: gets whether it may block.
    func whileAsleep(_ body: (Bool) -> Void) {
        body(
            state.withLock { state in
                state.isAsleep = state.commands.isEmpty && !state.isClosed
                return state.isAsleep
            })
        state.withLock { $0.isAsleep = false }
    }
}
#endif
