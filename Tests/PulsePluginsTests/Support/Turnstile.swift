// SPDX-License-Identifier: MIT

import PulseCore

/// Where a test's wire holds requests until the test lets them go.
final class Turnstile: Sendable {
    private struct State {
        var isOpen = false
        var arrivals: [String] = []
        var waiting: [(id: Int, name: String, continuation: CheckedContinuation<Void, any Error>)] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    /// Who came, in order.
    var arrivals: [String] { state.withLock { $0.arrivals } }

    /// How many stand here now.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Waits to be let go. Throws `CancellationError`.
    func pass(_ name: String) async throws {
        let id = state.withLock { state in
            state.arrivals.append(name)
            return state.arrivals.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = Task.isCancelled
                let (goesOn, watchers) = state.withLock { state in
                    let goesOn = state.isOpen || isCancelled
                    if !goesOn { state.waiting.append((id, name, continuation)) }
                    let met = state.watchers.filter { $0.count <= state.arrivals.count }
                    state.watchers.removeAll { $0.count <= state.arrivals.count }
                    return (goesOn, met)
                }
                watchers.forEach { $0.continuation.resume() }
                if isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else if goesOn {
                    continuation.resume()
                }
            }
        } onCancel: {
            take { $0.id == id }.forEach { $0.resume(throwing: CancellationError()) }
        }
    }

    /// Suspends until that many have come in all.
    func arrived(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                guard state.arrivals.count < count else { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }

    /// Lets those of that name go.
    func release(_ name: String) {
        take { $0.name == name }.forEach { $0.resume() }
    }

    /// Lets everybody go, and whoever comes later.
    func open() {
        state.withLock { $0.isOpen = true }
        take { _ in true }.forEach { $0.resume() }
    }

    private func take(
        where isMeant: ((id: Int, name: String, continuation: CheckedContinuation<Void, any Error>)) -> Bool
    ) -> [CheckedContinuation<Void, any Error>] {
        state.withLock { state in
            let taken = state.waiting.filter(isMeant)
            state.waiting.removeAll(where: isMeant)
            return taken.map(\.continuation)
        }
    }
}
