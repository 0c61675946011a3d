// SPDX-License-Identifier: MIT

import PulseCore

/// An open directory.
struct DiskDirectory {
    /// The descriptor for system calls, while the directory is open.
    private let descriptor: Int32

    /// A name in a directory, valid only during the call that receives it.
    struct Entry {
        /// Zero-terminated.
        private let text: UnsafePointer<CChar>
        let bytes: UnsafeRawBufferPointer

        fileprivate init(_ text: UnsafePointer<CChar>) {
            self.text = text
            bytes = UnsafeRawBufferPointer(start: text, count: strlen(text))
        }

        /// Size in bytes and time of last use; nil if the file is gone, or larger than an `Int` can represent.
        func status(in directory: DiskDirectory) -> (size: Int, used: TimeInterval)? {
            var status = stat()
            guard fstatat(directory.descriptor, text, &status, AT_SYMLINK_NOFOLLOW) == 0,
                let size = Int(exactly: status.st_size)
            else { return nil }
            #if canImport(Darwin)
            let time = status.st_mtimespec
            #else
            let time = status.st_mtim
            #endif
            return (size, TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9)
        }
    }

    /// Calls a closure with each name in a folder. A missing folder has no names. Throws ``DiskFailure`` for a folder
    /// that cannot be read, which must not be taken for empty.
    static func forEachName(in path: String, _ body: (Entry, DiskDirectory) throws -> Void) throws {
        guard let stream = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw DiskFailure()
        }
        defer { closedir(stream) }
        let directory = DiskDirectory(descriptor: dirfd(stream))
        while true {
            errno = 0
            guard let found = readdir(stream) else {
                guard errno == 0 else { throw DiskFailure() }
                return
            }
            // Computed from the start of the structure: the system's structure may be longer than its declaration.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let text = UnsafeRawPointer(found).advanced(by: offset).assumingMemoryBound(to: CChar.self)
            let entry = Entry(text)
            let isItselfOrParent = entry.bytes.count <= 2 && entry.bytes.allSatisfy { $0 == UInt8(ascii: ".") }
            if !isItselfOrParent { try body(entry, directory) }
        }
    }

    static func names(in path: String) throws -> [String] {
        var names: [String] = []
        try forEachName(in: path) { entry, _ in names.append(String(decoding: entry.bytes, as: UTF8.self)) }
        return names
    }
}
