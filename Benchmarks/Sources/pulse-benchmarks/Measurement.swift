// SPDX-License-Identifier: MIT

import CAllocations
import PulseKit

/// A piece of work to measure, which runs that many times in a loop of its own.
struct Measurement: Sendable {
    let name: String
    let run: @Sendable (_ times: Int) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (_ times: Int) async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// Several as one.
    init(_ name: String, of parts: [Measurement]) {
        self.init(name) { times in
            for part in parts { try await part.run(times) }
        }
    }

    /// Blocks that one run allocates; nil if that cannot be counted.
    func allocations(times: Int) async throws -> Double? {
        guard callocations_are_counted() else { return nil }
        try await run(times)
        callocations_start()
        try await run(times)
        return Double(callocations_stop()) / Double(times)
    }
}

/// Consumes a result, so that the optimizer cannot remove the work for it.
@inline(never)
func keep<Value>(_ value: Value) {}

/// The cost of one run.
struct Cost: Sendable {
    /// Nanoseconds in the best round: the undisturbed time of the code. Every limit applies to this one.
    var minimum: Double
    /// Nanoseconds in the median round: the farther from the best, the busier the machine.
    var median: Double
    var allocations: Double?

    static func + (left: Cost, right: Cost) -> Cost {
        let allocations = left.allocations.flatMap { count in right.allocations.map { count + $0 } }
        return Cost(
            minimum: left.minimum + right.minimum, median: left.median + right.median, allocations: allocations)
    }
}

extension [Measurement] {
    /// Measures all of them in alternating rounds, so that a busy moment of the machine affects them alike. The rounds
    /// are short, so that many fit between the time slices of other programs.
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
