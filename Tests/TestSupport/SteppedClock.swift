// SPDX-License-Identifier: MIT

public import PulseCore

/// A clock that advances in one step, but only once all expected sleepers sleep. A task that has read the time and is
/// about to sleep would otherwise sleep too long.
public final class SteppedClock: PulseClock {
    private struct State {
        var uptime: TimeInterval = 0
        var sleepers: [Int: (due: TimeInterval, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextID = 0
    }

    private let state = Locked(State())

    public init() {}

    public var now: Date { Date(timeIntervalSince1970: uptime) }
    public var uptime: TimeInterval { state.withLock { $0.uptime } }

    /// - Parameter deadline: nil to wait for no sleeper.
    public func advance(by seconds: TimeInterval, onceSomebodySleepsUntil deadline: TimeInterval?) async {
        while let deadline, !Task.isCancelled, !state.withLock({ $0.sleepers.values.contains { $0.due <= deadline } }) {
            await Task.yield()
        }
        let woken = state.withLock { state in
            state.uptime += seconds
            let woken = state.sleepers.filter { [uptime = state.uptime] in $0.value.due <= uptime }
            woken.keys.forEach { state.sleepers[$0] = nil }
            return woken.values.map(\.continuation)
        }
        woken.forEach { $0.resume() }
    }

    public func sleep(_ seconds: TimeInterval) async throws {
        guard seconds > 0 else { return }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard !Task.isCancelled else { return true }
                    state.sleepers[id] = (state.uptime + seconds, continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
