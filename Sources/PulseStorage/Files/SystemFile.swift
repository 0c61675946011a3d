// SPDX-License-Identifier: MIT

import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// System calls on files, with errors thrown as ``JournalFailure``. New files are readable by their user alone.
package enum SystemFile {
    package struct Identity: Hashable {
        package let device: UInt64
        let number: UInt64
    }

    package struct Status {
        package let identity: Identity
        /// In bytes.
        package let length: Int64
        /// The number of hard links to the file.
        package let linkCount: Int
        let owner: UInt32
        /// The nine bits of read, write and execute, and the special bits above them.
        package let permissions: Int
        /// The time of the last modification, in seconds since 1970.
        let modified: TimeInterval
        let isRegular: Bool
        package let isDirectory: Bool

        /// In bytes; `Int.max` for a larger file than an `Int` can represent.
        package var size: Int { Int(clamping: length) }
        package var isOwn: Bool { owner == geteuid() }

        /// Whether users other than root and this process's may change the directory's contents: one of them owns it,
        /// or its permissions allow it. The sticky bit is no protection, because anyone can add a file. Access control
        /// lists are ignored.
        var isWritableByOthers: Bool { owner != geteuid() && owner != 0 || permissions & 0o022 != 0 }
    }

    /// Opens a regular file, and nothing else: a link would lead to another file, and a pipe would block the thread.
    package static func open(
        _ path: String, _ flags: Int32, using disk: Disk = .system
    ) throws(JournalFailure) -> Int32 {
        try openWithStatus(path, flags, using: disk).file
    }

    /// Opens a file like ``open(_:_:using:)``, and returns its status as well.
    package static func openWithStatus(
        _ path: String, _ flags: Int32, using disk: Disk
    ) throws(JournalFailure) -> (file: Int32, status: Status) {
        let file = try descriptor(path, flags | O_NOFOLLOW | O_NONBLOCK, using: disk)
        guard let status = try? status(file), status.isRegular else {
            _ = close(file)
            // The same error as for a symbolic link.
            throw .system(operation: "open", code: ELOOP)
        }
        return (file, status)
    }

    /// Creates a file in place of any other of this name, so that a planted file does not keep its permissions.
    package static func create(_ path: String, using disk: Disk) throws -> Int32 {
        try remove(path)
        return try open(path, O_RDWR | O_CREAT | O_EXCL, using: disk)
    }

    /// Removes a file; returns false if it does not exist.
    @discardableResult
    package static func remove(_ path: String) throws -> Bool {
        if unlink(path) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw JournalFailure("unlink") }
        return false
    }

    package static func openDirectory(_ path: String, using disk: Disk) throws -> Int32 {
        try descriptor(path, O_RDONLY | O_DIRECTORY, using: disk)
    }

    private static func descriptor(
        _ path: String, _ flags: Int32, using disk: Disk
    ) throws(JournalFailure) -> Int32 {
        while true {
            let descriptor = disk.open(path, flags | O_CLOEXEC)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw JournalFailure("open") }
        }
    }

    /// Opens the file of this name with an exclusive lock. Closing the descriptor, or the end of the process, releases
    /// it.
    static func openLocked(_ path: String, _ flags: Int32, using disk: Disk) throws -> Int32 {
        while true {
            let file = try open(path, flags, using: disk)
            var isLocked = false
            defer { if !isLocked { _ = close(file) } }
            // Another process may have removed it in between.
            isLocked = try lock(file, waiting: true) && status(path)?.identity == status(file).identity
            if isLocked { return file }
        }
    }

    /// Opens the file with a lock; nil if another descriptor holds the lock.
    static func tryOpenLocked(_ path: String, _ flags: Int32, using disk: Disk) throws -> Int32? {
        let file = try open(path, flags, using: disk)
        var isLocked = false
        defer { if !isLocked { _ = close(file) } }
        isLocked = try lock(file, waiting: false)
        return isLocked ? file : nil
    }

    /// Returns false if the lock is taken and `waiting` is false.
    static func lock(_ descriptor: Int32, waiting: Bool) throws -> Bool {
        while flock(descriptor, waiting ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            if !waiting, errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw JournalFailure("flock") }
        }
        return true
    }

    package static func close(_ descriptor: Int32) -> Int32 {
        systemClose(descriptor)
    }

    package static func status(_ descriptor: Int32) throws -> Status {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw JournalFailure("fstat") }
        return Status(status)
    }

    /// Nil if the file does not exist.
    ///
    /// - Parameter directory: the open directory that a relative path starts from, otherwise the current one.
    package static func status(
        _ path: UnsafePointer<CChar>, in directory: Int32 = AT_FDCWD, followsLinks: Bool = true
    ) throws -> Status? {
        var status = stat()
        if fstatat(directory, path, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 { return Status(status) }
        guard errno == ENOENT || errno == ENOTDIR else { throw JournalFailure("stat") }
        return nil
    }

    /// Reads up to `count` bytes from the offset; fewer only at the end of the file.
    package static func read(_ descriptor: Int32, from offset: Int, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, count in
            count = try read(descriptor, into: UnsafeMutableRawBufferPointer(buffer), from: offset)
        }
    }

    /// Fills the buffer from the offset on, and returns the number of bytes; fewer only at the end of the file.
    static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, from offset: Int
    ) throws(JournalFailure) -> Int {
        var count = 0
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            let step = pread(descriptor, rest.baseAddress, rest.count, off_t(offset + count))
            if step == 0 { break }
            if step > 0 { count += step } else if errno != EINTR { throw JournalFailure("pread") }
        }
        return count
    }

    /// The bytes of a regular file; nil if it does not exist, or has more than `limit`.
    package static func contents(_ path: String, limit: Int = .max, using disk: Disk) throws -> [UInt8]? {
        let (file, status): (Int32, Status)
        do {
            (file, status) = try openWithStatus(path, O_RDONLY, using: disk)
        } catch JournalFailure.missing {
            return nil
        }
        defer { _ = close(file) }
        return status.size <= limit ? try read(file, from: 0, count: status.size) : nil
    }

    /// Replaces a file durably: a crash or a power failure leaves the old or the new one.
    ///
    /// - Parameter next: the name that the bytes are written to first, in the same directory. Only one writer at a time
    ///   may use it.
    /// - Parameter syncsName: false if the old content will do after a power failure.
    package static func replace(
        _ path: String, with bytes: [UInt8], by next: String? = nil, syncsName: Bool = true, using disk: Disk
    ) throws {
        let next = next ?? self.next(path)
        let file = try create(next, using: disk)
        do {
            defer { _ = close(file) }
            disk.protect(next)
            try write(bytes, to: file, at: 0, using: disk)
            // Otherwise the new name could survive a power failure without the bytes.
            guard disk.sync(file) == 0 else { throw JournalFailure("fsync") }
            guard disk.rename(next, path) == 0 else { throw JournalFailure("rename") }
        } catch {
            unlink(next)
            throw error
        }
        if syncsName { try syncDirectory((path as NSString).deletingLastPathComponent, using: disk) }
    }

    /// The name that ``replace(_:with:by:syncsName:using:)`` writes to first.
    package static func next(_ path: String) -> String { path + "-new" }

    static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int, using disk: Disk) throws {
        try bytes.withUnsafeBytes { try write($0, to: descriptor, at: Int64(offset), using: disk) }
    }

    package static func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64, using disk: Disk
    ) throws {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let step = disk.write(descriptor, rest, offset + Int64(written))
            if step > 0 { written += step } else if step == 0 || errno != EINTR { throw JournalFailure("pwrite") }
        }
    }

    /// Makes the names in a directory as durable as their files.
    package static func syncDirectory(_ path: String, using disk: Disk) throws {
        let descriptor = try openDirectory(path.isEmpty ? "." : path, using: disk)
        defer { _ = close(descriptor) }
        try syncDirectory(descriptor, using: disk)
    }

    /// Syncs an open directory. Some network file systems do not support that, and sync implicitly.
    package static func syncDirectory(_ descriptor: Int32, using disk: Disk) throws {
        guard disk.sync(descriptor) == 0 || [EINVAL, ENOTSUP].contains(errno) else { throw JournalFailure("fsync") }
    }

    /// Creates a directory and its missing parents, which only the user may enter.
    ///
    /// - Parameter syncsName: false if a power failure may lose the new directories, with everything in them.
    /// - Parameter isBackedUp: whether backups contain a new directory. Its parents, which the app may share, are
    ///   contained.
    package static func makeDirectory(
        _ path: String, syncsName: Bool = true, isBackedUp: Bool = false, using disk: Disk
    ) throws {
        let parent = (path as NSString).deletingLastPathComponent
        if disk.makeDirectory(path) != 0 {
            if errno == EEXIST { return }
            guard errno == ENOENT else { throw JournalFailure("mkdir") }
            guard !parent.isEmpty, parent != path else { throw JournalFailure.missing }
            try makeDirectory(parent, syncsName: syncsName, isBackedUp: true, using: disk)
            if disk.makeDirectory(path) != 0 {
                if errno == EEXIST { return }
                throw JournalFailure("mkdir")
            }
        }
        // Before anything is in it: files created in it later inherit the protection.
        disk.protect(path)
        if !isBackedUp { disk.excludeFromBackup(path) }
        if syncsName { try syncDirectory(parent, using: disk) }
    }

    /// Creates a directory for secrets. Throws ``JournalFailure/notPrivate`` if others may write to an existing one.
    package static func makePrivateDirectory(
        _ path: String, isBackedUp: Bool = false, using disk: Disk
    ) throws {
        try makeDirectory(path, isBackedUp: isBackedUp, using: disk)
        guard try privateDirectoryExists(path) else { throw JournalFailure.missing }
    }

    /// Whether the directory exists. Throws ``JournalFailure/notPrivate`` if others may write to it: they could replace
    /// the files in it.
    package static func privateDirectoryExists(_ path: String) throws -> Bool {
        guard let status = try status(path) else { return false }
        if status.isWritableByOthers { throw JournalFailure.notPrivate }
        return true
    }

    /// The warning for a directory without secrets that others may write to; nil if they may not, or if that is
    /// unknown.
    ///
    /// - Parameter content: what the directory is for: "resumable uploads".
    package static func exposureWarning(_ path: String, of content: String) -> String? {
        guard let status = try? status(path), status.isWritableByOthers else { return nil }
        return "other users may write to the directory of \(content), and replace its files: use one of mode 0700"
    }
}

extension SystemFile.Status {
    fileprivate init(_ status: stat) {
        identity = SystemFile.Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
        length = Int64(status.st_size)
        linkCount = Int(clamping: status.st_nlink)
        owner = status.st_uid
        permissions = Int(status.st_mode & 0o7777)
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        modified = TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
    }
}

// Outside of the enum, whose `close` hides the system's.
private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
