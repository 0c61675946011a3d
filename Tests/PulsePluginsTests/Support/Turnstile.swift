// SPDX-License-Identifier: MIT

import PulseCore

/// Holds the requests of a test's wire until the test releases them.
final class Turnstile: Sendable {
    private struct State {
        var isOpen = false
        var arrivals: [String] = []
        var waiting: [(id: Int, name: String, continuation: CheckedContinuation<Void, any Error>)] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    /// The arrivals, in order.
    var arrivals: [String] { state.withLock { $0.arrivals } }

    /// How many are held now.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Waits for the release. Throws `CancellationError`.
    func pass(_ name: String) async throws {
        let id = state.withLock { state in
            state.arrivals.append(name)
            return state.arrivals.count
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (isCancelled, goesOn, watchers) = state.withLock { state in
                    // Within the lock: a later cancellation finds the one that waits.
                    let isCancelled = Task.isCancelled
                    let goesOn = state.isOpen || isCancelled
                    if !goesOn { state.waiting.append((id, name, continuation)) }
                    let met = state.watchers.filter { $0.count <= state.arrivals.count }
                    state.watchers.removeAll { $0.count <= state.arrivals.count }
                    return (isCancelled, goesOn, met)
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

    /// Suspends until this many have arrived in total.
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

    /// Releases the requests with this name.
    func release(_ name: String) {
        take { $0.name == name }.forEach { $0.resume() }
    }

    /// Releases all requests, including later ones.
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
