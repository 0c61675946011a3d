// SPDX-License-Identifier: MIT

import PulseCore

/// Holds requests until the test responds to them.
final class HeldWire: Sendable {
    private struct State {
        var doors: [CheckedContinuation<PulseResponse, any Error>?] = []
        var cancelled: [Int] = []
        var watchers: [(isMet: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func takeMet() -> [CheckedContinuation<Void, Never>] {
            let met = watchers.filter { $0.isMet(self) }.map(\.continuation)
            let copy = self
            watchers.removeAll { $0.isMet(copy) }
            return met
        }
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.doors.count } }
    var cancelled: [Int] { state.withLock { $0.cancelled } }

    func respond(to request: URLRequest) async throws -> PulseResponse {
        let number = Locked(-1)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                change { state in
                    number.withLock { $0 = state.doors.count }
                    let isCancelled = Task.isCancelled
                    if isCancelled { state.cancelled.append(state.doors.count) }
                    state.doors.append(isCancelled ? nil : continuation)
                    return isCancelled ? (continuation, .failure(CancellationError())) : nil
                }
            }
        } onCancel: {
            let number = number.withLock { $0 }
            guard number >= 0 else { return }
            change { state in
                guard let door = state.doors[number] else { return nil }
                state.doors[number] = nil
                state.cancelled.append(number)
                return (door, .failure(CancellationError()))
            }
        }
    }

    func release(_ number: Int, _ result: Result<PulseResponse, any Error>) {
        change { state in
            guard state.doors.indices.contains(number), let door = state.doors[number] else { return nil }
            state.doors[number] = nil
            return (door, result)
        }
    }

    func arrivals(_ count: Int) async { await wait { $0.doors.count >= count } }

    func cancellations(_ count: Int) async { await wait { $0.cancelled.count >= count } }

    /// Also ends when the test is cancelled.
    private func wait(_ isMet: @escaping @Sendable (State) -> Bool) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isMetNow = state.withLock { state in
                    let isMetNow = isMet(state) || Task.isCancelled
                    if !isMetNow { state.watchers.append((isMet, continuation)) }
                    return isMetNow
                }
                if isMetNow { continuation.resume() }
            }
        } onCancel: {
            let watchers = state.withLock { state in
                defer { state.watchers = [] }
                return state.watchers
            }
            watchers.forEach { $0.continuation.resume() }
        }
    }

    private func change(
        _ body: (inout State) -> (CheckedContinuation<PulseResponse, any Error>, Result<PulseResponse, any Error>)?
    ) {
        let (resumption, met) = state.withLock { state in
            let resumption = body(&state)
            return (resumption, state.takeMet())
        }
        if let (door, result) = resumption { door.resume(with: result) }
        met.forEach { $0.resume() }
    }
}
