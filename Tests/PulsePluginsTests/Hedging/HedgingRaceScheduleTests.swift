// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulsePlugins

/// A seeded random schedule of copies, ends and cancellations against a plain model; `PULSE_STEPS` sets its length.
@Suite(.tags(.schedule), .throttled)
struct HedgingRaceScheduleTests {
    private typealias Quality = HedgingPlugin.Quality

    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000
    private static let qualities: [Quality] = [.cancelled, .unsent, .failed, .badResponse, .good]

    /// The history of one race, in order.
    private struct Model {
        let limit: Int
        var started = 0
        var underWay: [Int] = []
        var ended: [(number: Int, quality: Quality)] = []
        var winner: Int?
        var isCancelled = false

        mutating func start() -> Int? {
            guard winner == nil, !isCancelled, started < limit else { return nil }
            started += 1
            underWay.append(started)
            return started
        }

        mutating func finish(_ number: Int, _ quality: Quality) -> Int? {
            underWay.removeAll { $0 == number }
            guard winner == nil else { return nil }
            ended.append((number, quality))
            guard quality == .good || underWay.isEmpty else { return nil }
            let best = ended.map(\.quality).max()
            winner = ended.first { $0.quality == best }?.number
            return winner
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithAPlainModelForRandomSchedules(seed: UInt64) {
        let random = SeededRandomness(seed: seed)
        func pick(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
        var (race, model) = (HedgingPlugin.Race(limit: 3), Model(limit: 3))
        var races = 0
        for step in 0..<Self.steps {
            let label = Comment(rawValue: "seed \(seed), step \(step)")
            switch pick(8) {
            case 0...2:
                #expect(race.start() == model.start(), label)
            case 3...6:
                guard !model.underWay.isEmpty else { continue }
                let number = model.underWay[pick(model.underWay.count)]
                let quality = Self.qualities[pick(5)]
                #expect(race.finish(number, quality) == model.finish(number, quality), label)
            default:
                guard pick(5) == 0 else { continue }
                race.cancel()
                model.isCancelled = true
            }
            #expect(race.running == model.underWay.count, label)
            #expect(race.isDecided == (model.winner != nil || model.isCancelled), label)
            if race.isDecided, model.underWay.isEmpty {
                let limit = 1 + pick(5)
                (race, model) = (HedgingPlugin.Race(limit: limit), Model(limit: limit))
                races += 1
            }
        }
        #expect(races > Self.steps / 100)
    }
}
