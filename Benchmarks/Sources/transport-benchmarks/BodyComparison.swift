// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// Bodies of three sizes in cleartext and over TLS, beside AsyncHTTPClient and Go's net/http with HTTP/1.1 and HTTP/2.
///
/// PulseKit's default configuration speaks HTTP/1.1 in cleartext and HTTP/2 over TLS, where it is measured with HTTP/1.1
/// too.
struct BodyComparison {
    static let sizes = [(path: "user", size: 47), ("16k", 16 << 10), ("1m", 1 << 20)]
    static let levels = [1, 32, 256]

    /// The addresses, by scheme.
    let servers: [String: URL]
    let lineup: Lineup
    let isShort: Bool

    func run() throws -> [BodyResult] {
        try servers.sorted { $0.key < $1.key }.flatMap { scheme, server in
            let contestants = try lineup.contestants(isSecure: scheme == "https")
            defer { contestants.forEach { try? $0.leave() } }
            return try Self.sizes.flatMap { path, size in
                try Self.levels.flatMap { inFlight in
                    try results(contestants, scheme, server.appendingPathComponent(path), size, inFlight)
                }
            }
        }
    }

    private func results(
        _ contestants: [Contestant], _ scheme: String, _ url: URL, _ size: Int, _ inFlight: Int
    ) throws -> [BodyResult] {
        let assignment = Assignment.bodies(url, size: size, inFlight: inFlight, seconds: isShort ? 0.05 : 0.2)
        // The first round opens the connections.
        for contestant in contestants { _ = try contestant.perform(assignment) }
        var figures = [[Figure]](repeating: [], count: contestants.count)
        for _ in 0..<(isShort ? 2 : 15) {
            for (index, contestant) in contestants.enumerated() {
                figures[index].append(try contestant.perform(assignment))
            }
        }
        return zip(contestants, figures).map { contestant, figures in
            BodyResult(
                name: contestant.name, scheme: scheme, size: size, inFlight: inFlight,
                best: figures.map { $0.seconds * 1e6 / Double($0.count) }.min() ?? .infinity,
                processor: figures.map { $0.processorSeconds * 1e6 / Double($0.count) }.min() ?? .infinity)
        }
    }
}

/// The cost of one contender's requests for bodies of one size.
struct BodyResult: Codable {
    let name: String
    let scheme: String
    /// Bytes.
    let size: Int
    let inFlight: Int
    /// Microseconds of wall time and of processor time per request, each in its best round.
    let best: Double
    let processor: Double
}
