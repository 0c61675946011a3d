// SPDX-License-Identifier: MIT

import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The resource use of this process so far.
public enum ResourceUse {
    /// Monotonic seconds.
    public static var uptime: Double { seconds(CLOCK_MONOTONIC) }

    /// Processor seconds of all threads, in this process or in the kernel for it.
    static var processorSeconds: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    /// Bytes resident now.
    static var memory: Int { status("VmRSS") }

    /// The peak of resident bytes since ``forgetPeak()``.
    static var memoryPeak: Int { status("VmHWM") }

    /// Resets the peak to the current resident size, see proc(5).
    static func forgetPeak() {
        try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func status(_ key: String) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = lines.split(separator: "\n").first { $0.hasPrefix(key + ":") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }
}
