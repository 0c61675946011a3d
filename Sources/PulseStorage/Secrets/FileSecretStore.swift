// SPDX-License-Identifier: MIT

public import PulseCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Stores secrets in files that only the current user can read, for systems without a keychain. They are not encrypted.
///
/// ```swift
/// let store = FileSecretStore(directory: directory)
/// try store.setSecret(Data(token.utf8), for: "session")
/// let secret = try store.secret(for: "session")
/// ```
///
/// Each account has a file of mode 0600 in a directory of mode 0700, which is created if it is missing. A secret is
/// written to a temporary file, synced and renamed: a killed process or a power failure leaves the old or the new
/// secret. The temporary file of a killed process is deleted by the next write or removal for its account.
///
/// The store throws ``SecretStoreFailure/Reason/notPrivate`` for a directory that other users may write to or, except
/// for root, own. It also does so for a file that another user owns or may read, and for a symbolic link or anything
/// else that is not a regular file. Several processes may share a directory: a lock serializes writes, and reads never
/// wait.
///
/// An account name may contain any characters, and any name of up to 80 bytes of UTF-8 fits. A secret has 1 MiB at
/// most.
public struct FileSecretStore: SecretStore {
    private let directory: String
    private let disk: Disk

    /// - Parameter directory: for secrets only. Do not put it where it is backed up or synchronized in cleartext.
    public init(directory: URL) {
        self.init(directory: directory, disk: .system)
    }

    package init(directory: URL, disk: Disk) {
        self.directory = directory.path
        self.disk = disk
    }

    public func secret(for account: String) throws -> Data? {
        let path = try path(of: account, .read)
        return try withTypedErrors(.read) {
            guard try SystemFile.privateDirectoryExists(directory) else { return nil }
            let (file, status): (Int32, SystemFile.Status)
            do {
                (file, status) = try SystemFile.openWithStatus(path, O_RDONLY, using: disk)
            } catch JournalFailure.missing {
                return nil
            }
            defer { _ = SystemFile.close(file) }
            guard status.owner == geteuid(), status.permissions & 0o077 == 0 else {
                throw SecretStoreFailure(.read, .notPrivate)
            }
            guard status.size <= SecretRecord.maxSecretSize + SecretRecord.maxLineSize,
                let secret = SecretRecord.decode(try SystemFile.read(file, from: 0, count: status.size))
            else { throw SecretStoreFailure(.read, .damaged) }
            return secret
        }
    }

    public func setSecret(_ secret: Data, for account: String) throws {
        guard secret.count <= SecretRecord.maxSecretSize else { throw SecretStoreFailure(.write, .tooLarge) }
        let path = try path(of: account, .write)
        try withTypedErrors(.write) {
            try SystemFile.makePrivateDirectory(directory, isBackedUp: true, using: disk)
            try withLock {
                try SystemFile.replace(
                    path, with: SecretRecord.encode(secret), by: path + Self.temporarySuffix, using: disk)
            }
        }
    }

    public func removeSecret(for account: String) throws {
        let path = try path(of: account, .remove)
        try withTypedErrors(.remove) {
            guard try SystemFile.privateDirectoryExists(directory) else { return }
            try withLock {
                try SystemFile.remove(path + Self.temporarySuffix)
                try SystemFile.remove(path)
                try SystemFile.syncDirectory(directory, using: disk)
            }
        }
    }

    // MARK: Files

    private static let suffix = ".secret"
    private static let temporarySuffix = ".new"
    /// The longest file name on common file systems, in bytes.
    private static let maxNameSize = 255

    private func path(of account: String, _ operation: SecretStoreFailure.Operation) throws -> String {
        let name = Self.escaped(account) + Self.suffix
        guard name.utf8.count + Self.temporarySuffix.utf8.count <= Self.maxNameSize else {
            throw SecretStoreFailure(operation, .invalidAccount)
        }
        return directory + "/" + name
    }

    /// A file name that is unique to the account. Uppercase letters are escaped, too, because some file systems ignore
    /// case.
    static func escaped(_ account: String) -> String {
        var name = ""
        for byte in account.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                name += "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return name
    }

    /// Runs `body` under a lock for writing processes and threads: two writers must not share a temporary file.
    private func withLock(_ body: () throws -> Void) throws {
        let lock = FileLock(path: directory + "/lock", disk: disk)
        try lock.acquire()
        defer { lock.close() }
        try body()
    }

    private func withTypedErrors<Value>(
        _ operation: SecretStoreFailure.Operation, _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let failure as JournalFailure {
            throw SecretStoreFailure(operation, because: failure)
        }
    }
}
