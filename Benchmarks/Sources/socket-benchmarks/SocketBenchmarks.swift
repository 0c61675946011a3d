// SPDX-License-Identifier: MIT

import CAllocations
import Contending
import PulseKit
import Reporting

/// Compares WebSocket clients over the echo server that `Benchmarks/sockets` starts, prints the figures, and exits with
/// code 1 if a limit is exceeded.
///
/// `--short` runs a small part of it, with limits for allocations alone. `--nio PATH` names the executable of
/// `Benchmarks/Peers`, and `--python PATH` a Python with `websockets`; clients without one are omitted. The executable
/// starts itself with `--contender` for PulseKit.
@main
struct SocketBenchmarks {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let server: URL
    private let isShort = CommandLine.arguments.contains("--short")

    static func main() async throws {
        // The end of its output reveals a contender's crash.
        signal(SIGPIPE, SIG_IGN)
        guard let server = ProcessInfo.processInfo.environment["PULSE_ECHO"].flatMap({ URL(string: $0) }) else {
            throw Failure(description: "PULSE_ECHO is missing: start this by Benchmarks/sockets")
        }
        if CommandLine.arguments.contains("--contender") { return try Stage.perform(SocketContender(server: server)) }
        let holds = try await Task.detached { try await SocketBenchmarks(server: server).run() }.value
        if !holds { exit(1) }
    }

    private func run() async throws -> Bool {
        var report = Report()
        var promises: [Promise] = []
        let busyElsewhere = MachineLoad.busyElsewhere()
        for work in EchoWork.all {
            let allocations = try await allocations(work)
            let results = try results(work)
            report.heading(work.name, ["messages/s", "median", "best", "processor", "of PulseKit's rate"])
            for result in results {
                report.row(
                    result.name,
                    [
                        Report.decimal(1e6 / result.median, 0), Report.decimal(result.median, 1) + " µs",
                        Report.decimal(result.best, 1) + " µs", Report.decimal(result.processor, 1) + " µs",
                        Report.decimal(results[0].median / result.median, 2),
                    ])
            }
            if !isShort { promises += Self.promises(work, results) }
            if let allocations {
                promises.append(
                    Promise(
                        "\(work.name): allocations", .atMost, work.maxAllocations, measured: allocations, margin: 0)
                )
            }
        }
        report.verdicts(promises)
        if let busyElsewhere {
            report.row("processors busy elsewhere, before: \(Report.decimal(busyElsewhere * 100, 0)) %", [])
        }
        print(report.text)
        return promises.allSatisfy(\.holds)
    }

    private static func promises(_ work: EchoWork, _ results: [EchoResult]) -> [Promise] {
        work.limits.compactMap { name, limit in
            guard let result = results.first(where: { $0.name == name }) else { return nil }
            return Promise(
                "\(work.name): rate / that of \(name)", .atLeast, limit, measured: result.median / results[0].median,
                margin: 0.1)
        }
    }

    // MARK: Times

    private func results(_ work: EchoWork) throws -> [EchoResult] {
        let contestants = try Lineup(server: server).start()
        defer { contestants.forEach { try? $0.leave() } }
        let assignment = Assignment.echoes(
            server, size: work.size, window: work.window, seconds: isShort ? 0.05 : 0.2)
        // The first round opens the connections.
        for contestant in contestants { _ = try contestant.perform(assignment) }
        var figures = [[Figure]](repeating: [], count: contestants.count)
        for _ in 0..<(isShort ? 3 : 30) {
            for (index, contestant) in contestants.enumerated() {
                figures[index].append(try contestant.perform(assignment))
            }
        }
        return zip(contestants, figures).map { EchoResult($0.name, $1) }
    }

    // MARK: Allocations

    /// The blocks that a message allocates, sent and received; nil if they cannot be counted.
    private func allocations(_ work: EchoWork) async throws -> Double? {
        guard callocations_are_counted() else { return nil }
        let contender = SocketContender(server: server)
        let count = work.size > 1 << 16 ? 100 : 2000
        _ = try await contender.echoes(size: work.size, window: work.window) { $0 >= count }
        callocations_start()
        let echoes = try await contender.echoes(size: work.size, window: work.window) { $0 >= count }
        let blocks = callocations_stop()
        await contender.close()
        return Double(blocks) / Double(echoes)
    }
}
