// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// Small requests, one, 32 and 256 in flight.
///
/// The contenders alternate in short rounds, so that a busy moment of the machine affects them alike.
struct RequestComparison {
    static let levels = [1, 32, 256]

    let server: URL
    let lineup: Lineup
    let isShort: Bool

    func run() throws -> [RequestResult] {
        let contestants = try lineup.requests()
        let results = try Self.levels.flatMap { try run($0, contestants) }
        try contestants.forEach { try $0.leave() }
        return results
    }

    private func run(_ inFlight: Int, _ contestants: [Contestant]) throws -> [RequestResult] {
        let assignment = Assignment.requests(
            server.appendingPathComponent("user"), inFlight: inFlight, seconds: isShort ? 0.05 : 0.2)
        // The first round opens the connections.
        for contestant in contestants { _ = try contestant.perform(assignment) }
        var figures = [[Figure]](repeating: [], count: contestants.count)
        for _ in 0..<(isShort ? 3 : 30) {
            for (index, contestant) in contestants.enumerated() {
                figures[index].append(try contestant.perform(assignment))
            }
        }
        return zip(contestants, figures).map { RequestResult($0.name, inFlight, $1) }
    }
}

/// The cost of one contender's requests, with that many in flight.
struct RequestResult: Codable {
    let name: String
    let inFlight: Int
    /// Microseconds of wall time per request, in the best and in the median round.
    let best: Double
    let median: Double
    /// Microseconds of processor time per request, in the median round.
    let processor: Double
    /// The peak of resident MiB so far.
    let peak: Double

    var perSecond: Double { 1e6 / best }

    init(_ name: String, _ inFlight: Int, _ figures: [Figure]) {
        self.name = name
        self.inFlight = inFlight
        let times = figures.map { $0.seconds * 1e6 / Double($0.count) }.sorted()
        let processorTimes = figures.map { $0.processorSeconds * 1e6 / Double($0.count) }.sorted()
        best = times[0]
        median = times[times.count / 2]
        processor = processorTimes[processorTimes.count / 2]
        peak = Double(figures.map(\.memoryPeak).max() ?? 0) / Double(1 << 20)
    }
}
