// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension FileHandle {
    /// Opens a file for reading, with close-on-exec. A child process would inherit a file that Foundation opens on
    /// Linux. Throws as `init(forReadingFrom:)` does.
    package static func reading(_ file: URL) throws -> FileHandle {
        try closingOnExec(file, O_RDONLY) ?? FileHandle(forReadingFrom: file)
    }

    /// Opens an existing file for writing, as ``reading(_:)`` does for reading.
    package static func writing(_ file: URL) throws -> FileHandle {
        try closingOnExec(file, O_WRONLY) ?? FileHandle(forWritingTo: file)
    }

    /// Nil on failure: Foundation then fails too, with the error that callers expect.
    private static func closingOnExec(_ file: URL, _ flags: Int32) -> FileHandle? {
        guard file.isFileURL else { return nil }
        let descriptor = openFile(file.path, flags | O_CLOEXEC)
        return descriptor < 0 ? nil : FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

private func openFile(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
