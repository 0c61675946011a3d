// SPDX-License-Identifier: MIT

import PulseKit

/// Measures the framework's own cost, prints it, and ends with code 1 if a promise is broken.
///
/// `--short` runs a fiftieth of it with margins that only a blunder exceeds, for machines where nothing can be measured.
@main
struct PulseBenchmarks {
    private let isShort: Bool
    private var report = Report()

    static func main() async throws {
        let isShort = CommandLine.arguments.contains("--short")
        // Off the main actor, to and from which every step would have to hop.
        let holds = try await Task.detached {
            var benchmarks = PulseBenchmarks(isShort: isShort)
            return try await benchmarks.run()
        }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
    }

    /// Gives whether every promise holds.
    private mutating func run() async throws -> Bool {
        let parts = try Unavoidable.measurements()
        let calls = [
            try Workload.calls("bare call"),
            try Workload.calls("with 1 plugin", plugins: [PassThrough()]),
            try Workload.calls("with 5 plugins", plugins: Array(repeating: PassThrough(), count: 5)),
            try Workload.calls("with 10 plugins", plugins: Array(repeating: PassThrough(), count: 10)),
            try Workload.calls("with 10 plugins without hooks", plugins: Array(repeating: Idle(), count: 10)),
        ]
        let costs = try await (parts + calls).costs(rounds: isShort ? 30 : 1_500, times: 100)
        let (partCosts, callCosts) = (costs[..<parts.count], costs[parts.count...])
        let sum = partCosts.reduce(Cost(minimum: 0, median: 0, allocations: 0), +)

        report.heading("Unavoidable parts")
        for (part, cost) in zip(parts, partCosts) { report.row(part.name, cost) }
        report.row("sum", sum)
        report.heading("client.request over MockTransport")
        for (call, cost) in zip(calls, callCosts) { report.row(call.name, cost) }

        var promises = Self.promises(sum: sum, calls: Array(callCosts), isShort: isShort)
        if let growth = try await memoryGrowth(of: calls[0]) {
            promises.append(
                Promise(text: "bytes grown over 100,000 calls", limit: Promise.growth, measured: growth, margin: 0))
        }
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    private static func promises(sum: Cost, calls: [Cost], isShort: Bool) -> [Promise] {
        let bare = calls[0].minimum
        let (ten, tenIdle) = (calls[calls.count - 2].minimum, calls[calls.count - 1].minimum)
        return [
            Promise(
                text: "bare call / sum of its parts", limit: Promise.ratio, measured: bare / sum.minimum,
                margin: isShort ? 2 : 0.1),
            Promise(
                text: "ns for each plugin", limit: Promise.plugin, measured: (ten - bare) / 10,
                margin: isShort ? 4 : 0.1),
            Promise(
                text: "ns for each plugin without hooks", limit: Promise.plugin, measured: (tenIdle - bare) / 10,
                margin: isShort ? 4 : 0.1),
        ]
    }

    /// Bytes by which the process grows over 100,000 calls, after as many that warm it up.
    private func memoryGrowth(of calls: Measurement) async throws -> Double? {
        try await calls.run(isShort ? 10_000 : 100_000)
        let before = ResidentMemory.size
        try await calls.run(100_000)
        let after = ResidentMemory.size
        return before.flatMap { before in after.map { Double($0 - before) } }
    }
}
