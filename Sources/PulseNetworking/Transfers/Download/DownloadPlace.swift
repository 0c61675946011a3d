// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The target of a download, and the hidden files beside it that store the partial content.
struct DownloadPlace: Sendable {
    let directory: String
    /// The name of the file; nil if the server names it.
    let name: String?
    /// The path of the partial file, from which that of its state is derived.
    let partial: String

    var state: String { partial + "-state" }
    var pool: BlockingThreadPool { .files(in: directory) }
    var longJobs: BlockingThreadPool { .longJobs(in: directory) }
    private var target: String? { name.map { directory + "/" + $0 } }

    /// The place of a file. Throws ``PulseError/invalidRequest(reason:)`` for a URL that names none.
    init(file: URL) throws {
        guard file.isFileURL else { throw PulseError.invalidRequest(reason: "the target of a download is no file URL") }
        let name = file.lastPathComponent
        guard !["", ".", "..", "/"].contains(name) else {
            throw PulseError.invalidRequest(reason: "the target of a download has no file name")
        }
        directory = file.deletingLastPathComponent().path
        self.name = name
        // A name may already have the maximum length of the file system.
        let stem =
            name.utf8.count <= 200 ? name : SafeFileName.prefix(of: name, bytes: 100) + "-" + Self.digits(of: name)
        partial = directory + "/." + stem + ".part"
    }

    /// The place of a file in a directory, under a name that the server suggests.
    ///
    /// - Parameter key: names the content, so that another download finds the partial file.
    init(directory: URL, key: String) throws {
        guard directory.isFileURL else {
            throw PulseError.invalidRequest(reason: "the directory of a download is no file URL")
        }
        self.directory = directory.path
        name = nil
        partial = self.directory + "/.pulse-" + Self.digits(of: key) + ".part"
    }

    /// The same place, with the bytes of another file. From another volume they are copied beside the target.
    init(_ place: DownloadPlace, bytesOf file: URL) throws {
        (directory, name) = (place.directory, place.name)
        guard let device = Self.status(place.directory)?.identity.device,
            Self.status(file.path)?.identity.device != device
        else {
            partial = file.path
            return
        }
        partial = place.partial + "-copy"
        _ = unlink(partial)
        do {
            try FileManager.default.copyItem(atPath: file.path, toPath: partial)
        } catch {
            _ = unlink(partial)
            throw TransferFailure.unusableDestination.asPulseError
        }
    }

    private static func digits(of text: String) -> String {
        let digest = SystemHashes.library?.sha256(text)?.hex ?? ""
        return digest.isEmpty
            ? String(Array(text.utf8).withUnsafeBytes { Checksum.of($0) }, radix: 16) : String(digest.prefix(16))
    }

    /// Throws if the file cannot be created here.
    func check() throws {
        guard let status = Self.status(directory), status.isDirectory else { throw TransferFailure.unusableDestination }
        guard let target, let existing = Self.status(target) else { return }
        if existing.isDirectory { throw TransferFailure.unusableDestination }
    }

    /// Throws if the file exists.
    func checkIsFree() throws {
        if let target, Self.status(target) != nil { throw TransferFailure.fileExists.asPulseError }
    }

    private static func status(_ path: String) -> SystemFile.Status? { try? SystemFile.status(path) }

    /// Moves the partial file to its final name, and returns its URL.
    ///
    /// - Parameter suggested: a name for a place without one. If it is taken, a number is added.
    func install(_ suggested: String?, replacesFile: Bool, using disk: Disk) throws -> URL {
        if let target {
            if replacesFile {
                guard disk.rename(partial, target) == 0 else { throw JournalFailure("rename") }
            } else if try !moveToFreeName(target, using: disk) {
                throw TransferFailure.fileExists
            }
            return URL(fileURLWithPath: target, isDirectory: false)
        }
        let name = suggested ?? "download"
        for number in 0...9_999 {
            let path = directory + "/" + (number == 0 ? name : SafeFileName.numbered(name, number))
            if try moveToFreeName(path, using: disk) { return URL(fileURLWithPath: path, isDirectory: false) }
        }
        throw TransferFailure.fileExists
    }

    /// Returns false if the name is taken. A link, unlike a rename, never replaces a file.
    private func moveToFreeName(_ path: String, using disk: Disk) throws -> Bool {
        if link(partial, path) == 0 {
            _ = unlink(partial)
            return true
        }
        switch errno {
        case EEXIST: return false
        case EPERM, ENOTSUP, EMLINK:
            // The file system has no links.
            if Self.status(path) != nil { return false }
            guard disk.rename(partial, path) == 0 else { throw JournalFailure("rename") }
            return true
        default: throw JournalFailure("link")
        }
    }

    /// The permissions of a new file. The umask can only be read from one, or by setting it, which affects other
    /// threads.
    func standardPermissions() -> mode_t {
        let path = partial + "-mode"
        // The leftover file of another program would determine the result.
        _ = unlink(path)
        let descriptor = createFile(path)
        guard descriptor >= 0 else { return 0o600 }
        defer {
            _ = unlink(path)
            _ = SystemFile.close(descriptor)
        }
        return (try? SystemFile.status(descriptor)).map { mode_t($0.permissions & 0o777) } ?? 0o600
    }
}

private func createFile(_ path: String) -> Int32 { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
