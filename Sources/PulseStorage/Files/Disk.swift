// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system calls that may fail on a disk. They return the result, and leave the reason in `errno`. Tests replace
/// them.
package struct Disk: Sendable {
    /// Takes descriptor, bytes and offset; returns the number of bytes written.
    package var write: @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int
    /// Returns once everything written is on the medium.
    package var sync: @Sendable (Int32) -> Int32
    package var rename: @Sendable (_ from: String, _ to: String) -> Int32
    /// Takes path and flags, and returns a descriptor. A new file is readable by its user alone.
    package var open: @Sendable (String, Int32) -> Int32
    /// Creates a directory that only its user may enter.
    package var makeDirectory: @Sendable (String) -> Int32
    /// Makes a new file or directory readable after the first unlock since boot.
    package var protect: @Sendable (String) -> Void
    /// Excludes a new directory from backups.
    package var excludeFromBackup: @Sendable (String) -> Void
    /// Takes a directory and returns the bytes that its user may still write there; nil if that is unknown.
    package var freeSpace: @Sendable (String) -> Int64?
    /// Seconds: an append runs on the caller's thread if the last commit took less than this. Two context switches cost
    /// nearly as much as a fast disk.
    package var inPlaceLimit: TimeInterval

    package init(
        write: @escaping @Sendable (Int32, UnsafeRawBufferPointer, Int64) -> Int,
        sync: @escaping @Sendable (Int32) -> Int32,
        rename: @escaping @Sendable (_ from: String, _ to: String) -> Int32,
        open: @escaping @Sendable (String, Int32) -> Int32 = systemOpen,
        makeDirectory: @escaping @Sendable (String) -> Int32 = systemMakeDirectory,
        protect: @escaping @Sendable (String) -> Void = { FileProtection.apply(to: $0) },
        excludeFromBackup: @escaping @Sendable (String) -> Void = { FileProtection.excludeFromBackup($0) },
        freeSpace: @escaping @Sendable (String) -> Int64? = systemFreeSpace,
        inPlaceLimit: TimeInterval = 0
    ) {
        self.write = write
        self.sync = sync
        self.rename = rename
        self.open = open
        self.makeDirectory = makeDirectory
        self.protect = protect
        self.excludeFromBackup = excludeFromBackup
        self.freeSpace = freeSpace
        self.inPlaceLimit = inPlaceLimit
    }

    package static let system = Disk(
        write: { pwrite($0, $1.baseAddress, $1.count, off_t($2)) },
        sync: { synchronize($0) },
        rename: { systemRename($0, $1) },
        inPlaceLimit: 0.0005)
}

private func systemRename(_ from: String, _ to: String) -> Int32 { rename(from, to) }

@Sendable package func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }

@Sendable package func systemMakeDirectory(_ path: String) -> Int32 { mkdir(path, 0o700) }

@Sendable package func systemFreeSpace(_ directory: String) -> Int64? {
    var status = statvfs()
    guard statvfs(directory, &status) == 0 else { return nil }
    let (bytes, isBeyond) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
        by: Int64(clamping: status.f_frsize))
    return isBeyond ? nil : bytes
}

#if canImport(Darwin)
/// On Darwin, `fsync` leaves the bytes in the disk's own cache, which a power failure erases.
private func synchronize(_ descriptor: Int32) -> Int32 {
    let result = fcntl(descriptor, F_FULLFSYNC)
    // Not every file system supports it.
    return result == 0 ? 0 : fsync(descriptor)
}
#else
private func synchronize(_ descriptor: Int32) -> Int32 {
    while true {
        let result = fdatasync(descriptor)
        if result == 0 || errno != EINTR { return result }
    }
}
#endif
