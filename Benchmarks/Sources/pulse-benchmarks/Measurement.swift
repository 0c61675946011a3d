// SPDX-License-Identifier: MIT

import CAllocations
import PulseKit

/// Something to be measured, which runs that many times in a loop of its own.
struct Measurement: Sendable {
    let name: String
    let run: @Sendable (_ times: Int) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (_ times: Int) async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// Blocks that one run asks the allocator for; nil where that cannot be counted.
    func allocations(times: Int) async throws -> Double? {
        guard callocations_are_counted() else { return nil }
        try await run(times)
        callocations_start()
        try await run(times)
        return Double(callocations_stop()) / Double(times)
    }
}

/// Takes a result, so that the optimizer cannot leave out the work behind it.
@inline(never)
func keep<Value>(_ value: Value) {}

/// What one run costs.
struct Cost: Sendable {
    /// Nanoseconds in the best round: what the code takes when nothing disturbs it. Every promise is about this one.
    var minimum: Double
    /// Nanoseconds in the middle one of all rounds: the farther from the best, the busier was the machine.
    var median: Double
    var allocations: Double?

    static func + (left: Cost, right: Cost) -> Cost {
        let allocations = left.allocations.flatMap { count in right.allocations.map { count + $0 } }
        return Cost(
            minimum: left.minimum + right.minimum, median: left.median + right.median, allocations: allocations)
    }
}

extension [Measurement] {
    /// Times all in turn, round after round, so that a busy moment of the machine meets them alike. The rounds are short,
    /// so that many of them fit between two other programs' turns.
    func costs(rounds: Int, times: Int) async throws -> [Cost] {
        var samples = [[Double]](repeating: [], count: count)
        let clock = SystemClock()
        for _ in 0..<rounds {
            for (index, measurement) in enumerated() {
                let start = clock.uptime
                try await measurement.run(times)
                samples[index].append((clock.uptime - start) * 1e9 / Double(times))
            }
        }
        var costs: [Cost] = []
        for (measurement, samples) in zip(self, samples) {
            let sorted = samples.sorted()
            costs.append(
                Cost(
                    minimum: sorted[0], median: sorted[sorted.count / 2],
                    allocations: try await measurement.allocations(times: 1_000)))
        }
        return costs
    }
}
