// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// What an application does with streams, beside the same by hand over other clients: pieces down and up, lines, and the
/// time to the first event of a stream, in cleartext and over TLS.
struct ReadComparison {
    /// The addresses, by scheme.
    let servers: [String: URL]
    let files: URL
    let lineup: Lineup
    let isShort: Bool

    func run() throws -> [ReadResult] {
        try servers.sorted { $0.key < $1.key }.flatMap { scheme, server in
            let contestants = try lineup.contestants(isSecure: scheme == "https")
            defer { contestants.forEach { try? $0.leave() } }
            let seconds = isShort ? 0.05 : 0.2
            let work: [(ReadResult.Work, Assignment)] = [
                (.down, .stream(server.appendingPathComponent("lines"))),
                (
                    .up,
                    .upload(files.appendingPathComponent("lines"), to: server.appendingPathComponent("up/\(scheme)"))
                ),
                (.line, .lines(server.appendingPathComponent("lines"))),
                (.endingStream, .firstEvents(server.appendingPathComponent("event"), seconds: seconds)),
                (.openStream, .firstEvents(server.appendingPathComponent("feed"), seconds: seconds)),
            ]
            return try work.flatMap { work, assignment in
                // The first round opens the connections, and loads the file into memory.
                for contestant in contestants { _ = try contestant.perform(assignment) }
                var figures = [[Figure]](repeating: [], count: contestants.count)
                for _ in 0..<(isShort ? 2 : 15) {
                    for (index, contestant) in contestants.enumerated() {
                        figures[index].append(try contestant.perform(assignment))
                    }
                }
                return zip(contestants, figures).map { ReadResult(scheme, work, $0.name, $1) }
            }
        }
    }
}

/// The cost of one contender's reading of streams, one element after the other.
struct ReadResult: Codable {
    enum Work: String, Codable {
        case down = "a MiB of a stream"
        case up = "a MiB of a file that is sent"
        case line = "a line of 100 bytes"
        case endingStream = "to the first event of a response that ends there"
        case openStream = "to the first event of a response that goes on"

        /// How many of what the figures count.
        fileprivate var unit: Double { self == .down || self == .up ? 1_048_576 : 1 }
    }

    let scheme: String
    let work: Work
    let name: String
    /// Microseconds of wall time and of processor time for each, in its best round.
    let best: Double
    let processor: Double

    init(_ scheme: String, _ work: Work, _ name: String, _ figures: [Figure]) {
        self.scheme = scheme
        self.work = work
        self.name = name
        best = figures.map { $0.seconds * 1e6 / Double($0.count) * work.unit }.min() ?? .infinity
        processor = figures.map { $0.processorSeconds * 1e6 / Double($0.count) * work.unit }.min() ?? .infinity
    }
}
