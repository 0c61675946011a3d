// SPDX-License-Identifier: MIT

import Contending
import Foundation
import PulseKit
import Reporting

/// Compares HTTP clients over the server that `Benchmarks/servers` starts, prints the figures, and exits with code 1 if
/// a limit is exceeded.
///
/// `--short` runs a small part of it without limits. `--peer PATH` names the executable of `Benchmarks/Peers`, without
/// which AsyncHTTPClient is omitted, and `--net-http PATH` that of Go's client. `--json PATH` writes the figures for
/// `Benchmarks/chart`. The executable starts itself with `--contender NAME` for one of the clients.
@main
struct TransportBenchmarks {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() throws {
        // The end of its output reveals a contender's crash.
        signal(SIGPIPE, SIG_IGN)
        guard let server = environment("PULSE_SERVER").flatMap({ URL(string: $0) }) else {
            throw Failure(description: "PULSE_SERVER is missing: start this by Benchmarks/transports")
        }
        if let name = option("--contender") { return try contend(name, server: server) }

        let files = URL(fileURLWithPath: environment("PULSE_FILES") ?? ".")
        let isShort = CommandLine.arguments.contains("--short")
        let lineup = Lineup(peer: option("--peer"), netHTTP: option("--net-http"))
        var results = Results()
        results.busyElsewhere = MachineLoad.busyElsewhere()
        let only = option("--only")
        func runs(_ part: String) -> Bool { only == nil || only == part }
        if runs("requests") {
            results.requests = try RequestComparison(server: server, lineup: lineup, isShort: isShort).run()
        }
        if runs("transfers") {
            let comparison = TransferComparison(server: server, files: files, lineup: lineup, isShort: isShort)
            results.transfers = try comparison.run()
        }
        if let secure = environment("PULSE_SECURE_SERVER").flatMap({ URL(string: $0) }) {
            let servers = ["http": server, "https": secure]
            if runs("connections") {
                results.connections = try SecureConnections.measured(
                    server: secure, authority: authority, isShort: isShort)
            }
            if runs("bodies") {
                results.bodies = try BodyComparison(servers: servers, lineup: lineup, isShort: isShort).run()
            }
            if runs("reads") {
                let comparison = ReadComparison(servers: servers, files: files, lineup: lineup, isShort: isShort)
                results.reads = try comparison.run()
            }
        }
        // A short run is too noisy for limits, which concern all parts.
        if !isShort, only == nil { results.promises = results.judged() }
        print(results.report)
        if let path = option("--json") {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(results).write(to: URL(fileURLWithPath: path))
        }
        if !results.promises.allSatisfy(\.holds) { exit(1) }
    }

    private static func contend(_ name: String, server: URL) throws {
        switch Lineup.Own(rawValue: name) {
        case .pulse:
            try Stage.perform(PulseContender(StandardTransport(), server: server, authority: authority))
        case .pulseHTTP1:
            try Stage.perform(
                PulseContender(StandardTransport(), server: server, authority: authority, httpVersions: .http1))
        case .pulseURLSession: try Stage.perform(PulseContender(URLSessionTransport(), server: server))
        case .transportAlone: try Stage.perform(TransportContender(transport: StandardTransport()))
        case .urlSession: try Stage.perform(URLSessionContender())
        case nil: throw Failure(description: "there is no contender \(name)")
        }
    }

    private static func option(_ name: String) -> String? {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
        return arguments[index + 1]
    }

    private static var authority: Data? {
        environment("PULSE_AUTHORITY").flatMap { FileManager.default.contents(atPath: $0) }
    }

    private static func environment(_ name: String) -> String? { ProcessInfo.processInfo.environment[name] }
}
