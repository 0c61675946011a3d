// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// One large body: read chunk by chunk, beside `curl`; and to and from a file.
struct TransferComparison {
    let server: URL
    let files: URL
    let lineup: Lineup
    let isShort: Bool

    private var large: URL { server.appendingPathComponent("large") }
    private var rounds: Int { isShort ? 2 : 5 }

    func run() throws -> [TransferResult] {
        try streams() + downloads() + [
            transfer(
                TransferResult.upload,
                .upload(files.appendingPathComponent("large"), to: server.appendingPathComponent("up/large")))
        ]
    }

    /// They alternate, and the first round does not count: it loads the file into memory.
    private func streams() throws -> [TransferResult] {
        let contestants =
            [try lineup.start(.pulse), try lineup.start(.transportAlone)]
            + (lineup.peer == nil ? [] : [try lineup.start(.shared)])
        try contestants.forEach(warmUp)
        var figures = [[Figure]](repeating: [], count: contestants.count + 1)
        for _ in 0...rounds {
            for (index, contestant) in contestants.enumerated() {
                figures[index].append(try contestant.perform(.stream(large)))
            }
            figures[contestants.count].append(try CurlCommand.figure(of: large))
        }
        try contestants.forEach { try $0.leave() }
        return zip(contestants.map { $0.name + TransferResult.streamed } + [TransferResult.curl], figures).map {
            TransferResult($0, $1, counted: $1.dropFirst())
        }
    }

    /// To files, and on the disk. They alternate.
    private func downloads() throws -> [TransferResult] {
        let contestant = try lineup.start(.pulse)
        try warmUp(contestant)
        var (own, curl) = ([Figure](), [Figure]())
        for _ in 0..<rounds {
            own.append(try contestant.perform(.download(large, to: files.appendingPathComponent("down"))))
            curl.append(try CurlCommand.download(of: large, to: files.appendingPathComponent("curl-down")))
        }
        try contestant.leave()
        return [(TransferResult.download, own), (TransferResult.curlDownload, curl)].map {
            TransferResult($0, $1, counted: $1[...])
        }
    }

    /// In a process of its own, so that its memory is its own.
    private func transfer(_ name: String, _ assignment: Assignment) throws -> TransferResult {
        let contestant = try lineup.start(.pulse)
        try warmUp(contestant)
        let figures = try (0..<rounds).map { _ in try contestant.perform(assignment) }
        try contestant.leave()
        return TransferResult(name, figures, counted: figures[...])
    }

    /// Memory that the first requests load permanently does not count for the transfer.
    private func warmUp(_ contestant: Contestant) throws {
        _ = try contestant.perform(.requests(server.appendingPathComponent("user"), inFlight: 1, seconds: 0.1))
    }
}

/// The cost of one large body.
struct TransferResult: Codable {
    static let curl = "curl -o /dev/null"
    static let pulseStream = Lineup.Own.pulse.rawValue + streamed
    static let transportStream = Lineup.Own.transportAlone.rawValue + streamed
    static let download = "PulseKit, download to a file"
    static let curlDownload = "curl -o, and sync"
    static let upload = "PulseKit, upload of a file"
    static let streamed = ", stream"

    let name: String
    /// MiB per second, in the best and in the median round.
    let best: Double
    let median: Double
    /// Seconds of processor time per GiB, in the median round.
    let processor: Double
    /// The peak of resident MiB beyond the size before the first round; nil for `curl`.
    let extra: Double?

    init(_ name: String, _ figures: [Figure], counted: ArraySlice<Figure>) {
        self.name = name
        let speeds = counted.map { Double($0.count) / $0.seconds / Double(1 << 20) }.sorted(by: >)
        best = speeds[0]
        median = speeds[speeds.count / 2]
        let processorTimes = counted.map { $0.processorSeconds * Double(1 << 30) / Double($0.count) }.sorted()
        processor = processorTimes[processorTimes.count / 2]
        let peak = figures.map(\.memoryPeak).max() ?? 0
        extra = peak == 0 ? nil : Double(peak - figures[0].memoryBefore) / Double(1 << 20)
    }
}
