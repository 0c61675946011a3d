// SPDX-License-Identifier: MIT

import PulseCore

/// Lists directories, with errors thrown as ``JournalFailure``.
enum SystemDirectory {
    /// A name in a directory, valid only during the call that receives it.
    struct Entry {
        /// Zero-terminated.
        private let text: UnsafePointer<CChar>
        private let directory: Int32
        let bytes: UnsafeRawBufferPointer

        fileprivate init(_ text: UnsafePointer<CChar>, in directory: Int32) {
            self.text = text
            self.directory = directory
            bytes = UnsafeRawBufferPointer(start: text, count: strlen(text))
        }

        /// The status of the file, or of the link itself; nil if it does not exist.
        func status() throws -> SystemFile.Status? {
            try SystemFile.status(text, in: directory, followsLinks: false)
        }
    }

    /// Calls a closure with each name in a directory. A missing directory has no names. Throws if it cannot be read:
    /// it must not be taken for empty.
    static func forEachName(in path: String, using disk: Disk, _ body: (Entry) throws -> Void) throws {
        let descriptor: Int32
        do { descriptor = try SystemFile.openDirectory(path, using: disk) } catch JournalFailure.missing { return }
        guard let stream = fdopendir(descriptor) else {
            defer { _ = SystemFile.close(descriptor) }
            throw JournalFailure("fdopendir")
        }
        // Closes the descriptor, too.
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let found = readdir(stream) else {
                guard errno == 0 else { throw JournalFailure("readdir") }
                return
            }
            // Computed from the start of the structure: the system's structure may be longer than its declaration.
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
            let text = UnsafeRawPointer(found).advanced(by: offset).assumingMemoryBound(to: CChar.self)
            let entry = Entry(text, in: descriptor)
            let isItselfOrParent = entry.bytes.count <= 2 && entry.bytes.allSatisfy { $0 == UInt8(ascii: ".") }
            if !isItselfOrParent { try body(entry) }
        }
    }

    static func names(in path: String, using disk: Disk = .system) throws -> [String] {
        var names: [String] = []
        try forEachName(in: path, using: disk) { names.append(String(decoding: $0.bytes, as: UTF8.self)) }
        return names
    }
}
