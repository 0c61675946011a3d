// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// The commands that the loop is to carry out next, and the requests that it is to send.
final class CurlCommandQueue: Sendable {
    enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(UInt64)
        case resume(UInt64)

        /// The transfer that it starts.
        var started: UInt64? {
            if case .start(let transfer) = self { transfer.id } else { nil }
        }
    }

    /// What happens to a command.
    enum Fate {
        /// The loop is closed, or the command's sender was cancelled.
        case refused
        /// Somebody must carry it out: the thread sleeps, unless somebody else drives.
        case waits
        /// The same, and there is little else to do.
        case waitsAlone
        /// The thread is awake and will look.
        case noticed
    }

    private struct State {
        var commands: [Command] = []
        /// The connections for whose exchanges the thread is to send.
        var sends: [HTTP1Connection] = []
        /// Whether the thread waits, or is about to, and has not been woken.
        var isAsleep = false
        /// The transfers under way when somebody last looked.
        var underWay = 0
        var isClosed = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// With so few transfers under way, starting one at once is worth more than what the thread saves by taking several
    /// together.
    private static let few = 4

    private let state = Locked(State())

    var isEmpty: Bool {
        state.withLock { $0.commands.isEmpty }
    }

    /// Whether there is no command for the thread, and it is not to end.
    var isIdle: Bool {
        state.withLock { $0.commands.isEmpty && !$0.isClosed }
    }

    /// Posts a command; tells what happens to it.
    ///
    /// - Parameter isCancelled: asked under the lock, since a cancellation that came before has found nothing to
    ///   cancel.
    func post(_ command: Command, unless isCancelled: () -> Bool = { false }) -> Fate {
        state.withLock { state in
            guard !state.isClosed, !isCancelled() else { return .refused }
            state.commands.append(command)
            guard state.isAsleep else { return .noticed }
            return state.underWay + state.commands.count <= Self.few ? .waitsAlone : .waits
        }
    }

    /// Has the thread send for the exchange of a connection; true for the caller that is to wake it.
    func post(_ sent: HTTP1Connection) -> Bool {
        state.withLock { state in
            state.sends.append(sent)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }

    /// True for the caller that is to wake the thread.
    func mustWake() -> Bool {
        state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }

    /// Refuses what comes from now on.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// The commands that have come in, and whether no more will.
    func collect(underWay: Int) -> (commands: [Command], isClosed: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            state.underWay = underWay + state.commands.count
            return (state.commands, state.isClosed)
        }
    }

    // MARK: The thread

    /// The connections for whose exchanges it is to send.
    func sends() -> [HTTP1Connection] {
        state.withLock { state in
            defer { state.sends = [] }
            return state.sends
        }
    }

    /// True if there is nothing to do but wait: from now on somebody must wake the thread for what comes.
    func mayFallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty && state.sends.isEmpty && !state.isClosed
            return state.isAsleep
        }
    }

    func wakeUp() {
        state.withLock { $0.isAsleep = false }
    }

    // MARK: The end of the loop

    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    func ended() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }
}
#endif
