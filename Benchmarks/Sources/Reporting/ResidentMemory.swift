// SPDX-License-Identifier: MIT

import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The memory of this process that is not swapped out.
package enum ResidentMemory {
    /// In bytes; nil if it is unknown.
    package static var size: Int? {
        #if canImport(Darwin)
        var info = mach_task_basic_info()
        var count = mach_msg_type_number_t(MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
        let status = withUnsafeMutablePointer(to: &info) { info in
            info.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
            }
        }
        return status == KERN_SUCCESS ? Int(info.resident_size) : nil
        #else
        // Exact, unlike the counters of `statm`, which the kernel updates in batches, see proc(5).
        let lines = try? String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8).split(separator: "\n")
        let words = lines?.first { $0.hasPrefix("Rss:") }?.split(separator: " ")
        return words.flatMap { $0.count > 1 ? Int($0[1]) : nil }.map { $0 << 10 }
        #endif
    }
}
