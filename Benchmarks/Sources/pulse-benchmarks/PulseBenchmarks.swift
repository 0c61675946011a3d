// SPDX-License-Identifier: MIT

import PulseKit
import Reporting

/// Measures the framework's own cost, prints it, and exits with code 1 if a limit is exceeded.
///
/// `--short` runs a fiftieth of it with margins that only a gross regression exceeds, for busy machines. `--only NAME`
/// runs the calls of one line and prints nothing, for a profiler: 300,000 of them, or as many as `--times COUNT` says.
/// `--plugins` prints the names of the plugins, each followed by a tab and the name of its essential work, for
/// `Benchmarks/instructions`.
@main
struct PulseBenchmarks {
    private let isShort: Bool
    private var report = Report()

    static func main() {
        // Off the main actor, since every step would have to hop to and from it. The main thread waits: an asynchronous
        // `main` ends it, which valgrind does not survive.
        Task.detached {
            do {
                exit(try await perform() ? 0 : 1)
            } catch {
                print(error)
                exit(1)
            }
        }
        while true { sleep(.max) }
    }

    private static func perform() async throws -> Bool {
        var benchmarks = PulseBenchmarks(isShort: CommandLine.arguments.contains("--short"))
        if let name = option("--only") {
            return try await benchmarks.runOnly(name, times: option("--times").flatMap { Int($0) } ?? 300_000)
        }
        guard CommandLine.arguments.contains("--plugins") else { return try await benchmarks.run() }
        for subject in try Plugins.subjects() { print(subject.call.name, subject.essential.name, separator: "\t") }
        return true
    }

    private static func option(_ name: String) -> String? {
        CommandLine.arguments.firstIndex(of: name).flatMap { CommandLine.arguments.dropFirst($0 + 1).first }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
    }

    /// Returns whether every limit holds.
    private mutating func run() async throws -> Bool {
        let parts = try Unavoidable.measurements()
        let calls = try Self.calls()
        let operations = try GraphQLWorkload.measurements()
        let costs = try await (parts + calls + operations).costs(rounds: isShort ? 30 : 1_500, times: 100)
        let (partCosts, callCosts) = (costs[..<parts.count], costs[parts.count...].prefix(calls.count))
        let operationCosts = Array(costs.suffix(operations.count))
        let sum = partCosts.reduce(Cost(minimum: 0, median: 0, allocations: 0), +)

        report.heading("Unavoidable parts")
        for (part, cost) in zip(parts, partCosts) { report.row(part.name, cost) }
        report.row("sum", sum)
        report.heading("client.request over MockTransport")
        for (call, cost) in zip(calls, callCosts) { report.row(call.name, cost) }
        for (operation, cost) in zip(operations, operationCosts) { report.row(operation.name, cost) }

        var promises = Self.promises(sum: sum, calls: Array(callCosts), isShort: isShort)
        if let promise = GraphQLWorkload.promise(operationCosts) { promises.append(promise) }
        if let growth = try await memoryGrowth(of: calls[0]) {
            promises.append(
                Promise(
                    "bytes grown over 100,000 calls", .atMost, Promise.growth, measured: growth,
                    margin: isShort ? 4 : 0))
        }
        promises += try await pluginPromises(beyond: calls[0])
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    private static func calls() throws -> [Measurement] {
        [
            try Workload.calls("bare call"),
            try Workload.calls("with 1 plugin", plugins: [PassThrough()]),
            try Workload.calls("with 5 plugins", plugins: Array(repeating: PassThrough(), count: 5)),
            try Workload.calls("with 10 plugins", plugins: Array(repeating: PassThrough(), count: 10)),
            try Workload.calls("with 10 plugins without hooks", plugins: Array(repeating: Idle(), count: 10)),
        ]
    }

    /// Returns whether there is such a line.
    private func runOnly(_ name: String, times: Int) async throws -> Bool {
        let subjects = try Plugins.subjects()
        let all =
            [Measurement("unavoidable parts", of: try Unavoidable.measurements())] + (try Self.calls())
            + (try GraphQLWorkload.measurements()) + subjects.map(\.essential) + subjects.map(\.call)
            + (try Plugins.others())
        guard let measurement = all.first(where: { $0.name == name }) else { return false }
        try await measurement.run(times)
        return true
    }

    private static func promises(sum: Cost, calls: [Cost], isShort: Bool) -> [Promise] {
        let bare = calls[0].minimum
        let (ten, tenIdle) = (calls[calls.count - 2].minimum, calls[calls.count - 1].minimum)
        return [
            Promise(
                "bare call / sum of its parts", .atMost, Promise.ratio, measured: bare / sum.minimum,
                margin: isShort ? 2 : Promise.noise),
            Promise(
                "one more plugin / bare call", .atMost, Promise.plugin, measured: (ten - bare) / 10 / bare,
                margin: isShort ? 4 : Promise.noise),
            Promise(
                "one more plugin without hooks / bare call", .atMost, Promise.plugin,
                measured: (tenIdle - bare) / 10 / bare,
                margin: isShort ? 4 : Promise.noise),
        ]
    }

    /// Measures the plugins, with a bare call among them, and returns their limits.
    private mutating func pluginPromises(beyond bareCall: Measurement) async throws -> [Promise] {
        let subjects = try Plugins.subjects()
        let calls = subjects.map(\.call) + (try Plugins.others())
        let limits = subjects.map(\.limit) + [Promise.logLine, Promise.chain]
        let all = [bareCall] + subjects.map(\.essential) + calls
        let costs = try await all.costs(rounds: isShort ? 10 : 600, times: 100)
        report.heading("Plugins, each by itself")
        // A call without plugins is the essential work of several.
        var shown: Set<String> = []
        for (measurement, cost) in zip(all, costs) where shown.insert(measurement.name).inserted {
            report.row(measurement.name, cost)
        }

        let bare = costs[0]
        let (with, without) = (costs.suffix(calls.count), costs[1...subjects.count] + [bare, bare])
        return zip(zip(calls, limits), zip(with, without)).map { call, cost in
            Promise(
                "bare calls for \(call.0.name)", .atMost, call.1,
                measured: (cost.0.minimum - cost.1.minimum) / bare.minimum, margin: isShort ? 10 : Promise.noise)
        }
    }

    /// Bytes by which the process grows over 100,000 calls, after a warm-up of as many.
    private func memoryGrowth(of calls: Measurement) async throws -> Double? {
        try await calls.run(isShort ? 10_000 : 100_000)
        let before = ResidentMemory.size
        try await calls.run(100_000)
        let after = ResidentMemory.size
        return before.flatMap { before in after.map { Double($0 - before) } }
    }
}
