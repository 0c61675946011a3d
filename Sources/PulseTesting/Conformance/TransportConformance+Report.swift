// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance {
    /// A promise that the transport broke.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name of the case.
        public let promise: String
        /// The transport's name.
        public let transport: String
        /// The expected and the actual result.
        public let reason: String

        public var description: String { "\(transport) breaks “\(promise)”: \(reason)" }
    }

    /// The result of a transport for all cases.
    public struct Report: Sendable, CustomStringConvertible {
        /// The names of the cases that passed.
        public var passed: [String] = []
        /// The cases that were not run, each with its reason.
        public var excluded: [(promise: String, reason: String)] = []
        /// The promises that the transport broke.
        public var failures: [Failure] = []

        /// Whether no case failed and every exclusion names a case.
        public var isConforming: Bool { failures.isEmpty }

        /// A line for each failure and each exclusion, and one with the counts.
        public var description: String {
            let lines =
                failures.map { "FAILED    \($0.promise): \($0.reason)" }
                + excluded.map { "excluded  \($0.promise): \($0.reason)" }
            let counts = "\(passed.count) passed, \(excluded.count) excluded, \(failures.count) failed"
            return (lines + [counts]).joined(separator: "\n")
        }
    }

    /// Runs all cases for this transport, one after another.
    public func report() async -> Report {
        var report = Report()
        for promise in cases {
            do {
                switch try await run(promise) {
                case .passed: report.passed.append(promise.name)
                case .excluded(let reason): report.excluded.append((promise.name, reason))
                }
            } catch let failure as Failure {
                report.failures.append(failure)
            } catch {
                // `run` throws nothing else.
                report.failures.append(Failure(promise: promise.name, transport: transport, reason: "\(error)"))
            }
        }
        return report
    }
}
