// SPDX-License-Identifier: MIT

import PulseCore

/// The phases of a model for the streams that read them. Each keeps what it has not read, and a reset drops that.
@MainActor
final class PhaseStreams<Phase: Sendable> {
    private struct Reader {
        weak var buffer: PhaseBuffer<Phase>?
    }

    private var readers: [Reader] = []

    deinit {
        for reader in readers { reader.buffer?.finish() }
    }

    /// That phase, then every later one.
    func updates(from phase: Phase) -> AsyncStream<Phase> {
        let buffer = PhaseBuffer(phase)
        readers.removeAll { $0.buffer == nil }
        readers.append(Reader(buffer: buffer))
        return AsyncStream(unfolding: { await buffer.next() })
    }

    func send(_ phase: Phase) {
        for reader in readers { reader.buffer?.append(phase) }
    }

    /// Drops the phases that were not read. A stream that has lost some gets that one in their place.
    func drop(replacement: Phase?) {
        for reader in readers { reader.buffer?.drop(replacement: replacement) }
    }
}

/// The phases that a stream has not read.
private final class PhaseBuffer<Phase: Sendable>: Sendable {
    private struct State {
        var phases: [Phase]
        var isFinished = false
        /// Each waits for a phase. Before it runs, another may take the phase, or a reset drop it.
        var readers: [PendingReply<Void>] = []
    }

    private let state: Locked<State>

    init(_ first: Phase) {
        state = Locked(State(phases: [first]))
    }

    /// The next phase, once there is one; nil at the end and for a task that is cancelled.
    func next() async -> Phase? {
        while !Task.isCancelled {
            let reply = PendingReply<Void>()
            let isReady = state.withLock { state in
                let isReady = !state.phases.isEmpty || state.isFinished
                if !isReady { state.readers.append(reply) }
                return isReady
            }
            guard isReady else {
                await reply.value { reply.give(()) }
                continue
            }
            let (phase, isFinished) = state.withLock { state in
                (state.phases.isEmpty ? nil : state.phases.removeFirst(), state.isFinished)
            }
            if phase != nil || isFinished { return phase }
        }
        return nil
    }

    func append(_ phase: Phase) {
        wake { $0.phases.append(phase) }
    }

    func drop(replacement: Phase?) {
        state.withLock { state in
            guard !state.phases.isEmpty else { return }
            state.phases = replacement.map { [$0] } ?? []
        }
    }

    func finish() {
        wake { $0.isFinished = true }
    }

    private func wake(_ change: (inout State) -> Void) {
        let readers = state.withLock { state in
            change(&state)
            defer { state.readers = [] }
            return state.readers
        }
        for reader in readers { reader.give(()) }
    }
}
