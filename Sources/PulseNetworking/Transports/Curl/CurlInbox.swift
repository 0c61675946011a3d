// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore

/// What the loop is to do next.
final class CurlInbox: Sendable {
    enum Command: Sendable {
        case start(CurlTransfer)
        case cancel(UInt64)
        case resume(UInt64)

        /// The transfer that it starts.
        var started: UInt64? {
            if case .start(let transfer) = self { transfer.id } else { nil }
        }
    }

    /// What becomes of a command.
    enum Fate {
        /// The loop is closed, or its sender cancelled.
        case refused
        /// Somebody must see to it: the thread sleeps, if it is not driven by somebody else.
        case waits
        /// The same, and there is little else to do.
        case waitsAlone
        /// The thread is awake and will look.
        case noticed
    }

    private struct State {
        var commands: [Command] = []
        /// The thread waits, or is about to, and has not been woken.
        var isAsleep = false
        /// The transfers under way when somebody last looked.
        var underWay = 0
        var isClosed = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// So few transfers under way that each is worth more than what the thread saves by taking several at a time.
    private static let few = 4

    private let state = Locked(State())

    var isEmpty: Bool {
        state.withLock { $0.commands.isEmpty }
    }

    /// - Parameter isCancelled: asked under the lock, since a cancellation that came before has found nothing to cancel.
    func post(_ command: Command, unless isCancelled: () -> Bool = { false }) -> Fate {
        state.withLock { state in
            guard !state.isClosed, !isCancelled() else { return .refused }
            state.commands.append(command)
            guard state.isAsleep else { return .noticed }
            return state.underWay + state.commands.count <= Self.few ? .waitsAlone : .waits
        }
    }

    /// True for the one who is to wake the thread.
    func mustWake() -> Bool {
        state.withLock { state in
            defer { state.isAsleep = false }
            return state.isAsleep
        }
    }

    /// What comes from now on is refused.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// What has come in, and whether nothing more will.
    func collect(underWay: Int) -> (commands: [Command], isClosed: Bool) {
        state.withLock { state in
            defer { state.commands = [] }
            state.underWay = underWay + state.commands.count
            return (state.commands, state.isClosed)
        }
    }

    // MARK: The thread

    /// True if there is nothing to do but to wait: from now on somebody must see to what comes.
    func mayFallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty && !state.isClosed
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
