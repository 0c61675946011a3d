// SPDX-License-Identifier: MIT

import Foundation

/// The load by other programs.
package enum MachineLoad {
    /// The fraction of all processors that is busy while nothing is measured; nil if it is unknown.
    package static func busyElsewhere() -> Double? {
        guard let before = times() else { return nil }
        Thread.sleep(forTimeInterval: 2)
        guard let after = times(), after.all > before.all else { return nil }
        return 1 - (after.idle - before.idle) / (after.all - before.all)
    }

    /// Processor time of the child processes that have ended.
    package static var processorSecondsOfEnded: Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        #else
        getrusage(RUSAGE_CHILDREN, &usage)
        #endif
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// The first line of proc(5)'s stat: user, nice, system, idle, iowait and more.
    private static func times() -> (idle: Double, all: Double)? {
        let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first
        let numbers = line?.split(separator: " ").compactMap { Double($0) } ?? []
        return numbers.count > 4 ? (numbers[3] + numbers[4], numbers.reduce(0, +)) : nil
    }
}
