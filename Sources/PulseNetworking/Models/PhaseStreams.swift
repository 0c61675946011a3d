// SPDX-License-Identifier: MIT

import PulseCore

/// The streams of a model's phases. Each stream buffers its unread phases, and a reset drops them.
@MainActor
final class PhaseStreams<Phase: Sendable> {
    private struct Reader {
        weak var buffer: PhaseBuffer<Phase>?
    }

    private var readers: [Reader] = []

    deinit {
        for reader in readers { reader.buffer?.finish() }
    }

    /// A stream of the given phase, then every later one.
    func updates(from phase: Phase) -> AsyncStream<Phase> {
        let buffer = PhaseBuffer(phase)
        readers.removeAll { $0.buffer == nil }
        readers.append(Reader(buffer: buffer))
        return AsyncStream(unfolding: { await buffer.next() })
    }

    func send(_ phase: Phase) {
        for reader in readers { reader.buffer?.append(phase) }
    }

    /// Drops the unread phases. A stream that has lost some gets the replacement instead, if there is one.
    func drop(replacement: Phase?) {
        for reader in readers { reader.buffer?.drop(replacement: replacement) }
    }
}

/// The unread phases of a stream.
private final class PhaseBuffer<Phase: Sendable>: Sendable {
    private struct State {
        var phases: [Phase]
        var isFinished = false
        /// The waiting readers. Before one resumes, another may take the phase, or a reset may drop it.
        var readers: [Promise<Void>] = []
    }

    private let state: Locked<State>

    init(_ first: Phase) {
        state = Locked(State(phases: [first]))
    }

    /// Waits for the next phase. Nil at the end, and if the task is cancelled.
    func next() async -> Phase? {
        while !Task.isCancelled {
            let reply = Promise<Void>()
            let isReady = state.withLock { state in
                let isReady = !state.phases.isEmpty || state.isFinished
                if !isReady { state.readers.append(reply) }
                return isReady
            }
            guard isReady else {
                await reply.value { reply.fulfill(()) }
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
        for reader in readers { reader.fulfill(()) }
    }
}
