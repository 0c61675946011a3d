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
        let file = files.appendingPathComponent("large")
        let (down, other) = (files.appendingPathComponent("down"), files.appendingPathComponent("curl-down"))
        let digest = try CurlCommand.sha256(of: file)
        return try streams()
            + alternating([
                (TransferResult.download, .own(.download(large, to: down))),
                (TransferResult.curlDownload, .curl { try CurlCommand.download(of: large, to: other) }),
                (TransferResult.reportedDownload, .own(.download(large, to: down, isReported: true))),
            ])
            + alternating([
                (TransferResult.checkedDownload, .own(.download(large, to: down, sha256: digest))),
                (
                    TransferResult.curlCheckedDownload,
                    .curl { try CurlCommand.download(of: large, to: other, isHashed: true) }
                ),
            ])
            + alternating([
                (TransferResult.upload, .own(.upload(file, to: server.appendingPathComponent("up/large")))),
                (
                    TransferResult.curlUpload,
                    .curl { try CurlCommand.upload(of: file, to: server.appendingPathComponent("up/curl-large")) }
                ),
            ])
    }

    private enum Work {
        case own(Assignment)
        case curl(() throws -> Figure)
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

    /// To or from files. They alternate; ours are in processes of their own, so that their memory is their own.
    private func alternating(_ works: [(name: String, work: Work)]) throws -> [TransferResult] {
        let contestants = try works.map { item -> Contestant? in
            guard case .own = item.work else { return nil }
            let contestant = try lineup.start(.pulse)
            try warmUp(contestant)
            return contestant
        }
        var figures = [[Figure]](repeating: [], count: works.count)
        for _ in 0..<rounds {
            for (index, item) in works.enumerated() {
                switch item.work {
                case .own(let assignment):
                    if let contestant = contestants[index] {
                        figures[index].append(try contestant.perform(assignment))
                    }
                case .curl(let body): figures[index].append(try body())
                }
            }
        }
        try contestants.forEach { try $0?.leave() }
        return zip(works, figures).map { TransferResult($0.name, $1, counted: $1[...]) }
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
    static let reportedDownload = "PulseKit, download with progress"
    static let checkedDownload = "PulseKit, download with a digest"
    static let curlCheckedDownload = "curl -o, sync and sha256sum"
    static let curlUpload = "curl -T"
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
