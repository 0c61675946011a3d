// SPDX-License-Identifier: MIT

import Foundation
import Reporting

/// All figures of one run.
struct Results: Codable {
    var busyElsewhere: Double?
    var requests: [RequestResult] = []
    var bodies: [BodyResult] = []
    var transfers: [TransferResult] = []
    var reads: [ReadResult] = []
    var connections: SecureConnections?
    var promises: [Promise] = []

    /// The limits with their measurements, without those of peers that were not built.
    func judged() -> [Promise] {
        let pulse = Self.times(requests, Lineup.Own.pulse.rawValue)
        let session = Self.times(requests, Lineup.Own.urlSession.rawValue)
        // The faster one of the two.
        let peers = Self.times(requests, Lineup.Peer.small.map(\.rawValue))
        // The variation of ratios of best rounds from run to run: with one in flight the processors are partly idle.
        let (calm, full) = (0.05, 0.1)
        var promises: [Promise] = []
        func promise(_ text: String, _ bound: Promise.Bound, _ limit: Double, _ measured: Double?, margin: Double) {
            guard let measured else { return }
            promises.append(Promise(text, bound, limit, measured: measured, margin: margin))
        }
        func ratio(_ left: Double?, _ right: Double?) -> Double? {
            left.flatMap { left in right.map { left / $0 } }
        }
        promise("1 in flight: time / AsyncHTTPClient's", .atMost, 0.5, ratio(pulse[1], peers[1]), margin: calm)
        promise("1 in flight: time / URLSession's", .atMost, 0.25, ratio(pulse[1], session[1]), margin: calm)
        for level in [32, 256] {
            promise(
                "\(level) in flight: rate / AsyncHTTPClient's", .atLeast, 1.8, ratio(peers[level], pulse[level]),
                margin: full)
        }
        promise("32 in flight: rate / URLSession's", .atLeast, 10, ratio(session[32], pulse[32]), margin: full)
        promise("rate of 256 in flight / of 32", .atLeast, 0.9, ratio(pulse[32], pulse[256]), margin: full)
        let speeds = Dictionary(transfers.map { ($0.name, $0) }) { first, _ in first }
        promise(
            "stream: speed / curl's", .atLeast, 0.5,
            ratio(speeds[TransferResult.pulseStream]?.best, speeds[TransferResult.curl]?.best), margin: full)
        promise(
            "bytes: speed / the transport's own stream", .atLeast, 0.9,
            ratio(speeds[TransferResult.pulseStream]?.best, speeds[TransferResult.transportStream]?.best), margin: full)
        func reading(_ work: ReadResult.Work) -> Double? {
            let results = reads.filter { $0.scheme == "http" && $0.work == work }
            let own = results.first { $0.name == Lineup.Own.pulse.rawValue }
            return ratio(own?.best, results.first { $0.name == Lineup.Peer.http1.rawValue }?.best)
        }
        promise("lines: time / AsyncHTTPClient's with a loop", .atMost, 1, reading(.line), margin: calm)
        promise(
            "first event of an open stream: time / AsyncHTTPClient's", .atMost, 0.9, reading(.openStream), margin: calm)
        promise(
            "download: time / `curl -o` and `sync`", .atMost, 1.3,
            ratio(speeds[TransferResult.curlDownload]?.best, speeds[TransferResult.download]?.best), margin: full)
        promise(
            "download with a digest: time / the same and `sha256sum`", .atMost, 1.3,
            ratio(speeds[TransferResult.curlCheckedDownload]?.best, speeds[TransferResult.checkedDownload]?.best),
            margin: full)
        promise(
            "upload: time / `curl -T`", .atMost, 1.3,
            ratio(speeds[TransferResult.curlUpload]?.best, speeds[TransferResult.upload]?.best), margin: full)
        promise(
            "download with progress: processor time / without", .atMost, 1.02,
            ratio(speeds[TransferResult.reportedDownload]?.processor, speeds[TransferResult.download]?.processor),
            margin: full)
        promise("KiB of memory for an idle connection over TLS", .atMost, 48, connections?.kibibytes, margin: 0)
        promise(
            "handshake with the system's authorities: time / the first one's, which reads them", .atMost, 0.3,
            ratio(connections?.later, connections?.first), margin: calm)
        let (download, upload) = (speeds[TransferResult.download], speeds[TransferResult.upload])
        promise("MiB of memory for a download to a file", .atMost, 30, download?.extra, margin: 0)
        promise("MiB of memory for an upload of a file", .atMost, 30, upload?.extra, margin: 0)
        return promises
    }

    private static func times(_ results: [RequestResult], _ names: String...) -> [Int: Double] {
        times(results, names)
    }

    /// The best microseconds of any of these, by requests in flight.
    private static func times(_ results: [RequestResult], _ names: [String]) -> [Int: Double] {
        let chosen = results.filter { names.contains($0.name) }.map { ($0.inFlight, $0.best) }
        return Dictionary(chosen, uniquingKeysWith: min)
    }
}

extension Results {
    var report: String {
        var report = Report()
        for level in RequestComparison.levels {
            report.heading("\(level) in flight", ["requests/s", "best", "median", "processor", "peak memory"])
            for result in requests where result.inFlight == level {
                report.row(
                    result.name,
                    [
                        Report.decimal(result.perSecond, 0), Report.decimal(result.best, 1) + " µs",
                        Report.decimal(result.median, 1) + " µs", Report.decimal(result.processor, 1) + " µs",
                        Report.decimal(result.peak, 1) + " MiB",
                    ])
            }
        }
        report.heading("Bodies", ["requests/s", "best", "processor", "of PulseKit's time"])
        // By the version of HTTP: a ratio compares the same one.
        var own: [Bool: Double] = [:]
        func isOld(_ scheme: String, _ name: String) -> Bool { scheme == "http" || name.hasSuffix("HTTP/1.1") }
        for result in bodies {
            let isOld = isOld(result.scheme, result.name)
            if result.name.hasPrefix(Lineup.Own.pulse.rawValue) { own[isOld] = result.best }
            report.row(
                "\(result.scheme), \(result.size) bytes, \(result.inFlight) in flight: \(result.name)",
                [
                    Report.decimal(1e6 / result.best, 0), Report.decimal(result.best, 1) + " µs",
                    Report.decimal(result.processor, 1) + " µs", Report.decimal(result.best / (own[isOld] ?? .nan), 2),
                ])
        }
        report.heading("One large body", ["best", "median", "processor/GiB", "extra memory"])
        for result in transfers {
            report.row(
                result.name,
                [
                    Report.decimal(result.best, 0) + " MiB/s", Report.decimal(result.median, 0) + " MiB/s",
                    Report.decimal(result.processor, 2) + " s",
                    result.extra.map { Report.decimal($0, 1) + " MiB" } ?? "-",
                ])
        }
        report.heading("Streams", ["best", "processor", "of PulseKit's time"])
        for result in reads {
            let isOld = isOld(result.scheme, result.name)
            if result.name.hasPrefix(Lineup.Own.pulse.rawValue) { own[isOld] = result.best }
            report.row(
                "\(result.scheme), \(result.work.rawValue): \(result.name)",
                [
                    Report.decimal(result.best, 2) + " µs", Report.decimal(result.processor, 2) + " µs",
                    Report.decimal(result.best / (own[isOld] ?? .nan), 2),
                ])
        }
        if let connections {
            report.heading("Connections over TLS", ["each"])
            report.row(
                "\(connections.count) idle ones",
                [
                    Report.decimal(connections.kibibytes, 1) + " KiB",
                    "with what is free " + Report.decimal(connections.untrimmedKibibytes, 1) + " KiB",
                ])
            report.row("handshake, system's authorities, the first", [Report.decimal(connections.first, 2) + " ms"])
            report.row("a later one", [Report.decimal(connections.later, 2) + " ms"])
        }
        if !promises.isEmpty { report.verdicts(promises) }
        if let busyElsewhere {
            report.row("processors busy elsewhere, before: \(Report.decimal(busyElsewhere * 100, 0)) %", [])
        }
        return report.text
    }
}
