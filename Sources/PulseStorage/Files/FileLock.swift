// SPDX-License-Identifier: MIT

import PulseCore

/// An exclusive lock on a file: between processes, and between two holders in one process. The system releases it when
/// the process ends, even after a crash.
///
/// One holder uses it, from one thread at a time. Any thread may release it.
package final class FileLock: Sendable {
    private let path: String
    private let disk: Disk
    /// The descriptor; -1 if the file is not open.
    private let descriptor = Locked<Int32>(-1)

    package init(path: String, disk: Disk = .system) {
        self.path = path
        self.disk = disk
    }

    deinit {
        close()
    }

    /// Waits for the lock. Throws ``JournalFailure``.
    func acquire() throws {
        _ = try acquire(waiting: true)
    }

    /// Acquires the lock, unless another holder has it. Throws ``JournalFailure``.
    package func tryAcquire() throws -> Bool {
        try acquire(waiting: false)
    }

    func release() {
        descriptor.withLock { if $0 >= 0 { _ = flock($0, LOCK_UN) } }
    }

    package func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 {
                // A child process being spawned has a copy of the descriptor for a moment, which would keep the lock.
                _ = flock(descriptor, LOCK_UN)
                _ = SystemFile.close(descriptor)
            }
            descriptor = -1
        }
    }

    private func acquire(waiting: Bool) throws -> Bool {
        while true {
            let number = try opened()
            guard try SystemFile.lock(number, waiting: waiting) else { return false }
            do {
                // The file may have been deleted during the wait, and another process may hold a lock on a new one.
                if try SystemFile.status(path)?.identity == SystemFile.status(number).identity { return true }
            } catch {
                // Released, since the caller does not know that it holds the lock.
                release()
                throw error
            }
            close()
        }
    }

    private func opened() throws -> Int32 {
        try descriptor.withLock { descriptor in
            if descriptor < 0 {
                descriptor = try SystemFile.open(path, O_RDWR | O_CREAT, using: disk)
                // An existing folder may have another protection.
                disk.protect(path)
            }
            return descriptor
        }
    }
}
