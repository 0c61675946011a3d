// SPDX-License-Identifier: MIT

import PulseCore

/// An open file, closed on release. Until then it stays readable, even if it is renamed or deleted.
final class DiskFile: Sendable {
    private let descriptor: Int32
    /// The size in bytes when it was opened: a file in its place never changes.
    let size: Int

    private init(_ descriptor: Int32, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    deinit {
        _ = SystemFile.close(descriptor)
    }

    static func open(_ path: String, using disk: Disk) throws(JournalFailure) -> DiskFile {
        let (file, status) = try SystemFile.openWithStatus(path, O_RDONLY, using: disk)
        return DiskFile(file, size: status.size)
    }

    /// Fills `buffer` from that offset on; returns false if there are fewer bytes, or they cannot be read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
        (try? SystemFile.read(descriptor, into: buffer, from: offset)) == buffer.count
    }

    /// Updates the time of last use, which later processes sort the files by.
    func touch() {
        futimens(descriptor, nil)
    }
}
