// SPDX-License-Identifier: MIT

package import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Files that only their user may read, for recordings that leave the process: masks hide known secrets only.
package enum PrivateFile {
    /// Writes a file of mode 0600 atomically, in place of an older one.
    package static func write(_ data: Data, to file: URL) throws {
        let temporary = file.deletingLastPathComponent()
            .appendingPathComponent(".\(file.lastPathComponent.prefix(32)).\(UUID().uuidString)")
        // Created with its final mode: changing it later would leave a window to open the file.
        let descriptor = open(temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw systemError }
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: data)
            try handle.close()
            guard rename(temporary.path, file.path) == 0 else { throw systemError }
        } catch {
            unlink(temporary.path)
            throw error
        }
    }

    /// Creates a folder of mode 0700 in the temporary directory, which other users may list. Its name is random, so
    /// that no other user can have created it.
    package static func makeTemporaryFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("pulse-\(UUID().uuidString)", isDirectory: true)
        guard mkdir(folder.path, 0o700) == 0 else { throw systemError }
        return folder
    }

    private static var systemError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
