// SPDX-License-Identifier: MIT

import PulseCore

/// An open file. It is closed when it is dropped; until then it stays readable, whatever becomes of its name.
final class DiskFile: Sendable {
    let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Opens a file; nil if there is none, or none that can be read.
    static func reading(_ path: String) -> DiskFile? {
        // Non-blocking: somebody may have put a pipe there, which would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        return descriptor < 0 ? nil : DiskFile(descriptor)
    }

    /// Makes a new file that only its owner may read.
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

    /// Fills all of `buffer` from that place on; false if there is less, or it cannot be read.
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

    /// Sets the time of last use, by which processes to come tell what is old.
    func mark() {
        futimens(descriptor, nil)
    }
}

/// The failure of a system call on a file.
struct DiskFailure: Error, CustomStringConvertible {
    let code: Int32

    init(code: Int32 = errno) {
        self.code = code
    }

    /// Whether the file belongs to another user.
    var isRefusal: Bool { code == EACCES || code == EPERM }

    var description: String { String(cString: strerror(code)) }
}
