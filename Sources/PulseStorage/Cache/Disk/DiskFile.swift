// SPDX-License-Identifier: MIT

import PulseCore

/// An open file, closed on release. Until then it stays readable, even if it is renamed or deleted.
final class DiskFile: Sendable {
    let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Opens a file; nil if it does not exist or cannot be opened.
    static func reading(_ path: String) -> DiskFile? {
        // Non-blocking: the file may be a pipe, which would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        return descriptor < 0 ? nil : DiskFile(descriptor)
    }

    /// Creates a file that only its owner may read.
    static func creating(_ path: String) throws -> DiskFile {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DiskFailure() }
        return DiskFile(descriptor)
    }

    /// The size in bytes; nil for anything but a regular file, and for one that is too large for an `Int`.
    var size: Int? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(exactly: status.st_size)
    }

    /// Fills `buffer` from that offset on; returns false if there are fewer bytes, or they cannot be read.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Bool {
        var done = 0
        while done < buffer.count {
            let count = pread(
                descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done))
            if count > 0 {
                done += count
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws {
        var done = 0
        while done < bytes.count {
            let count = write(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done)
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                throw DiskFailure()
            }
        }
    }

    /// Updates the time of last use, which later processes sort the files by.
    func touch() {
        futimens(descriptor, nil)
    }
}

/// The error of a system call on a file.
struct DiskFailure: Error, CustomStringConvertible {
    let code: Int32

    init(code: Int32 = errno) {
        self.code = code
    }

    /// The disk does not respond.
    static let hanging = DiskFailure(code: ETIMEDOUT)

    /// Whether the system denied access, as for a file of another user.
    var isRefusal: Bool { code == EACCES || code == EPERM }

    var description: String { code == ETIMEDOUT ? "the disk does not respond" : String(cString: strerror(code)) }
}
