// SPDX-License-Identifier: MIT

import PulseCore

/// Lets at most so many requests to one origin start at a time; the rest wait in their order.
///
/// Waiting here and not inside `URLSession` keeps it out of the idle timeout, which `URLSession` counts from the moment
/// a task is resumed.
struct HostSlots: Sendable {
    private struct Line {
        var active = 0
        /// The waiters' numbers in their order; a number without a continuation has left.
        var queue: [UInt64] = []
        var head = 0
        var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]

        mutating func popFirst() -> CheckedContinuation<Void, any Error>? {
            while head < queue.count {
                defer { head += 1 }
                if let next = waiting.removeValue(forKey: queue[head]) { return next }
            }
            queue = []
            head = 0
            return nil
        }
    }

    private struct State {
        var lines: [Origin: Line] = [:]
        var nextID: UInt64 = 0
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    /// Waits for a slot. Throws `CancellationError` if the task is cancelled meanwhile; then it holds none.
    func acquire(_ origin: Origin) async throws {
        let id: UInt64? = state.withLock { state in
            if state.lines[origin, default: Line()].active < limit {
                state.lines[origin, default: Line()].active += 1
                return nil
            }
            state.nextID += 1
            return state.nextID
        }
        guard let id else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    // Cancellation that came before the continuation found nothing to resume.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    // A slot may have become free between the two locks, with nobody there to take it.
                    if state.lines[origin, default: Line()].active < limit {
                        state.lines[origin, default: Line()].active += 1
                        return .success(())
                    }
                    state.lines[origin]?.queue.append(id)
                    state.lines[origin]?.waiting[id] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.lines[origin]?.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// How many wait for a slot now.
    func waiterCount(_ origin: Origin) -> Int {
        state.withLock { $0.lines[origin]?.waiting.count ?? 0 }
    }

    /// Gives the slot to the first who waits.
    func release(_ origin: Origin) {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            if let next = state.lines[origin]?.popFirst() { return next }
            state.lines[origin]?.active -= 1
            if state.lines[origin]?.active == 0 { state.lines[origin] = nil }
            return nil
        }
        next?.resume()
    }
}
