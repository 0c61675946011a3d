// SPDX-License-Identifier: MIT

import Foundation
import Testing

/// `wire-probe`, run with its own environment and file system.
enum Probe {
    struct Outcome: Decodable {
        let status: String?
        let body: String?
        let code: String?
        let phase: String?
        /// The text of any other error.
        let error: String?
    }

    /// - Parameter environment: all of it.
    /// - Parameter trust: a directory that replaces `/etc/ssl/certs`.
    static func run(_ url: URL, authorities: String? = nil, environment: [String: String] = [:], trust: String? = nil)
        throws -> Outcome
    {
        let probe = try #require(ProcessInfo.processInfo.environment["PULSEKIT_WIRE_PROBE"])
        let command = [probe, url.absoluteString] + [authorities].compactMap { $0 }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            trust.map {
                ["unshare", "-rm", "sh", "-c", #"mount --bind "$0" /etc/ssl/certs && exec "$@""#, $0] + command
            } ?? command
        process.environment = environment.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) {
            own, _ in own
        }
        let output = Pipe()
        process.standardOutput = output
        return try outcome(of: process, output)
    }

    /// The same in a network of its own, where a name server receives queries and never responds; returns the outcome
    /// of each call.
    static func runWithSilentResolver(_ configuration: String) throws -> [String: String] {
        try runInNetwork(#"mount --bind "$0" /etc/resolv.conf"#, configuration, ["--silent-resolver"])
    }

    /// The same in a network of its own, which fails; returns the outcome of each call.
    ///
    /// - Parameter end: the end of the call that detects it, `timeout` or `cancel`.
    static func runWithLostNetwork(certificates: String, end: String) throws -> [String: String] {
        try runInNetwork("true", certificates, ["--lost-network", certificates, end])
    }

    /// Whether this system permits network namespaces.
    static let mayHaveNetwork = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["unshare", "-rnm", "sh", "-c", "ip link set lo up"]
        process.standardError = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    private static func runInNetwork(
        _ step: String, _ argument: String, _ arguments: [String]
    ) throws -> [String: String] {
        let probe = try #require(ProcessInfo.processInfo.environment["PULSEKIT_WIRE_PROBE"])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let steps = #"ip link set lo up && "# + step + #" && exec "$@""#
        process.arguments = ["unshare", "-rnm", "sh", "-c", steps, argument, probe] + arguments
        let output = Pipe()
        process.standardOutput = output
        return try outcome(of: process, output)
    }

    private static func outcome<Value: Decodable>(of process: Process, _ output: Pipe) throws -> Value {
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode(Value.self, from: data)
    }
}
