// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseTesting
import TestSupport
import Testing

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
@Suite(.tags(.schedule), .throttled)
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
