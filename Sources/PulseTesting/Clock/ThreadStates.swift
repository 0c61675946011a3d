// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The states of this process's threads, as the system reports them.
enum ThreadStates {
    /// Whether a thread besides the caller's runs or waits for a processor. False if the system does not report it:
    /// only Linux does (proc_pid_stat(5), "state").
    static var isAnotherRunnable: Bool {
        #if canImport(Glibc) || canImport(Musl)
        guard let own = ownName, let threads = opendir("/proc/self/task") else { return false }
        defer { closedir(threads) }
        while let entry = readdir(threads) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.first != ".", name != own, state(ofThread: name) == UInt8(ascii: "R") { return true }
        }
        #endif
        return false
    }

    #if canImport(Glibc) || canImport(Musl)
    /// The caller's thread id, as the directory of threads names it.
    private static var ownName: String? {
        let link = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { characters in
            let count = readlink("/proc/thread-self", characters.baseAddress!, characters.count)
            return String(decoding: characters.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        return link.split(separator: "/").last.map(String.init)
    }

    /// The state letter after the name in parentheses, which may itself contain parentheses and spaces; nil after the
    /// thread has ended.
    private static func state(ofThread name: String) -> UInt8? {
        let file = open("/proc/self/task/\(name)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { bytes in
            let text = bytes.prefix(max(read(file, bytes.baseAddress, bytes.count), 0))
            return text.lastIndex(of: UInt8(ascii: ")")).flatMap { text.dropFirst($0 - text.startIndex + 2).first }
        }
    }
    #endif
}
