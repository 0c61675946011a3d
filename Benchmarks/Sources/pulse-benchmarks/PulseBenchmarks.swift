// SPDX-License-Identifier: MIT

import PulseKit
import Reporting

/// Measures the framework's own cost, prints it, and exits with code 1 if a limit is exceeded.
///
/// `--short` runs a fiftieth of it with margins that only a gross regression exceeds, for busy machines. `--only NAME`
/// runs the calls of one line 300,000 times and prints nothing, for a profiler.
@main
struct PulseBenchmarks {
    private let isShort: Bool
    private var report = Report()

    static func main() async throws {
        let arguments = CommandLine.arguments
        let isShort = arguments.contains("--short")
        let name = arguments.firstIndex(of: "--only").flatMap { arguments.dropFirst($0 + 1).first }
        // Off the main actor, since every step would have to hop to and from it.
        let holds = try await Task.detached {
            var benchmarks = PulseBenchmarks(isShort: isShort)
            if let name { return try await benchmarks.runOnly(name) }
            return try await benchmarks.run()
        }.value
        if !holds { exit(1) }
    }

    private init(isShort: Bool) {
        self.isShort = isShort
    }

    /// Returns whether every limit holds.
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
                Promise(
                    "bytes grown over 100,000 calls", .atMost, Promise.growth, measured: growth,
                    margin: isShort ? 4 : 0))
        }
        promises += try await pluginPromises(beyond: calls[0])
        report.verdicts(promises)
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    /// Returns whether there is such a line.
    private func runOnly(_ name: String) async throws -> Bool {
        let all =
            try [Workload.calls("bare call")] + Plugins.parts() + Plugins.subjects().map(\.call) + Plugins.others()
        guard let measurement = all.first(where: { $0.name == name }) else { return false }
        try await measurement.run(300_000)
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
                "ns for each plugin", .atMost, Promise.plugin, measured: (ten - bare) / 10,
                margin: isShort ? 4 : Promise.noise),
            Promise(
                "ns for each plugin without hooks", .atMost, Promise.plugin, measured: (tenIdle - bare) / 10,
                margin: isShort ? 4 : Promise.noise),
        ]
    }

    /// Measures the plugins, with a bare call among them, and returns their limits.
    private mutating func pluginPromises(beyond bareCall: Measurement) async throws -> [Promise] {
        let subjects = try Plugins.subjects()
        let parts = [bareCall] + (try Plugins.parts())
        let all = parts + subjects.compactMap(\.work) + subjects.map(\.call) + (try Plugins.others())
        let costs = try await all.costs(rounds: isShort ? 10 : 600, times: 100)
        report.heading("Plugins, each by itself")
        for (measurement, cost) in zip(all, costs) { report.row(measurement.name, cost) }

        let minima = costs.map(\.minimum)
        let (bare, barePost, random, uuid, signature) = (minima[0], minima[1], minima[2], minima[3], minima[4])
        var work = minima.dropFirst(parts.count)
        let calls = costs.dropFirst(parts.count + subjects.compactMap(\.work).count)
        let each = zip(subjects, calls).map { subject, cost in
            let unavoidable =
                (subject.method == .get ? bare : barePost) + (subject.work == nil ? 0 : work.removeFirst())
                + Double(subject.randomNumbers) * random + Double(subject.uuids) * uuid
                + Double(subject.signatures) * signature
            return Promise(
                "ns for \(subject.call.name)", .atMost, Promise.pluginOfItsOwn, measured: cost.minimum - unavoidable,
                margin: isShort ? 10 : Promise.noise)
        }
        guard let chain = costs.last else { return each }
        return each + [
            Promise(
                "ns for a line of log", .atMost, Promise.logLine, measured: minima[minima.count - 2] - bare,
                margin: isShort ? 10 : Promise.noise),
            Promise(
                "ns for the recommended chain", .atMost, Promise.chain, measured: chain.minimum - bare,
                margin: isShort ? 10 : Promise.noise),
        ]
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
