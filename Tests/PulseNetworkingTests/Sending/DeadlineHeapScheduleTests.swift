// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseNetworking

/// The expired deadlines, in order.
final class Expiries: Sendable {
    private let ids = Locked<[Int]>([])

    func add(_ id: Int) { ids.withLock { $0.append(id) } }

    func take() -> [Int] {
        ids.withLock { ids in
            defer { ids = [] }
            return ids
        }
    }

    /// Waits until there are that many: expiries may be delivered late.
    func take(_ count: Int) async -> [Int] {
        var all = take()
        while all.count < count, !Task.isCancelled {
            await Task.yield()
            all += take()
        }
        return all
    }
}

/// A seeded random schedule against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled, .timeLimit(.minutes(15)))
struct DeadlineHeapScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

    @Test func theHeapAgreesWithAPlainModelOverARandomSchedule() async {
        let random = SeededRandomness(seed: 42)
        let clock = SteppedClock()
        let heap = DeadlineHeap(clock: clock)
        let expiries = Expiries()
        var model: [Int: (deadline: TimeInterval, alarm: DeadlineHeap.Alarm)] = [:]
        for step in 0..<Self.steps {
            var due: [Int: TimeInterval] = [:]
            switch random.next() % 8 {
            case 0...3:
                let deadline = clock.uptime + TimeInterval(random.next() % 18) / 4 - 0.25
                let alarm = heap.add(deadline) { expiries.add(step) }
                if deadline > clock.uptime { model[step] = (deadline, alarm) } else { due[step] = deadline }
            case 4...5 where !model.isEmpty:
                let id = model.keys.sorted()[Int(random.next() % UInt64(model.count))]
                if let (_, alarm) = model.removeValue(forKey: id) { heap.remove(alarm) }
            default:
                guard let first = model.values.map(\.deadline).min() else { continue }
                await clock.advance(by: TimeInterval(random.next() % 8) / 4, onceSomebodySleepsUntil: first)
                due = model.mapValues(\.deadline).filter { $0.value <= clock.uptime }
                due.keys.forEach { model[$0] = nil }
            }
            var expired = expiries.take()
            while expired.count < due.count, !Task.isCancelled {
                await Task.yield()
                expired += expiries.take()
            }
            #expect(expired.sorted() == due.keys.sorted(), "seed \(random.seed), step \(step)")
            let deadlines = expired.compactMap { due[$0] }
            #expect(deadlines == deadlines.sorted(), "seed \(random.seed), step \(step)")
        }
        heap.shutdown()
    }
}

/// A clock that advances in one step, but only once all expected sleepers sleep. A task that has read the time and is
/// about to sleep would otherwise sleep too long.
private final class SteppedClock: PulseClock {
    private struct State {
        var uptime: TimeInterval = 0
        var sleepers: [Int: (due: TimeInterval, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextID = 0
    }

    private let state = Locked(State())

    var now: Date { Date(timeIntervalSince1970: uptime) }
    var uptime: TimeInterval { state.withLock { $0.uptime } }

    func advance(by seconds: TimeInterval, onceSomebodySleepsUntil deadline: TimeInterval) async {
        while !Task.isCancelled, !state.withLock({ $0.sleepers.values.contains { $0.due <= deadline } }) {
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

    func sleep(_ seconds: TimeInterval) async throws {
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
