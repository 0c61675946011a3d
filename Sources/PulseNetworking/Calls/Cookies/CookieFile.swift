// SPDX-License-Identifier: MIT

import PulseCore
import PulsePlatform
import PulseStorage

/// The file of a cookie store. It uses its own thread, so that a hung disk blocks nothing else.
final class CookieFile: Sendable {
    private struct State {
        /// The cookies read from the file; empty once the store has taken them.
        var known: [Cookie]?
        var hasRemovedLeftovers = false
        /// The cookies to write; nil if nothing has changed since the last save, even a failed one.
        var pending: [Cookie]?
        var error: (any Error)?
    }

    private static let format = "pulse-cookies 1"

    private let file: URL
    private let disk: Disk
    private let thread = BlockingThreadPool(count: 1)
    private let state = Locked(State())

    init(_ file: URL, on disk: Disk) {
        self.file = file
        self.disk = disk
    }

    private var directory: URL { file.deletingLastPathComponent() }
    private var damagedFile: URL { file.appendingPathExtension("damaged") }
    private var temporaryPrefix: String { ".\(file.lastPathComponent)." }

    // MARK: The store's side

    /// The error of the last save, or of the last read that failed.
    var error: (any Error)? { state.withLock { $0.error } }

    /// Records the error of a read, or with nil that the store has taken the cookies.
    func note(_ error: (any Error)?) {
        state.withLock { state in
            if error == nil { state.known = [] }
            state.error = error
        }
    }

    /// The cookies in the file. A cancelled task does not wait for them.
    ///
    /// Throws if the file exists but cannot be read now, because newer cookies must not overwrite it.
    func read() async throws -> [Cookie] {
        try await thread.read { [self] () -> [Cookie] in
            // Concurrent calls read the file once.
            let (known, isFirst) = state.withLock { state in
                defer { state.hasRemovedLeftovers = true }
                return (state.known, !state.hasRemovedLeftovers)
            }
            if let known { return known }
            if isFirst { try? removeLeftovers() }
            let cookies = try contents()
            state.withLock { $0.known = cookies }
            return cookies
        }
    }

    /// Sets the cookies that ``save()`` writes. It does not suspend, which preserves the order of the store's changes.
    func replace(with cookies: [Cookie]) {
        state.withLock { state in
            state.known = []
            state.pending = cookies
        }
    }

    /// Writes the cookies. A cancelled task does not wait, but the cookies are still written.
    func save() async {
        try? await thread.abandonable { [self] in savePending() }
    }

    /// Writes the cookies, and removes all other files. Waits even in a cancelled task: the caller relies on it.
    func removeLeftoversAndSave() async {
        await thread.run { [self] in
            savePending()
            do {
                try removeLeftovers()
                // A `.damaged` file whose name would be too long was never created.
                guard unlink(damagedFile.path) == 0 || [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
                    throw Self.systemError
                }
            } catch {
                state.withLock { $0.error = $0.error ?? error }
            }
        }
    }

    // MARK: On the thread

    /// Removes temporary files that a crash left behind.
    private func removeLeftovers() throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path) else { return }
        for name in names where name.hasPrefix(temporaryPrefix) {
            guard UUID(uuidString: String(name.dropFirst(temporaryPrefix.count))) != nil else { continue }
            guard unlink(directory.appendingPathComponent(name).path) == 0 || errno == ENOENT else {
                throw Self.systemError
            }
        }
    }

    private func contents() throws -> [Cookie] {
        guard try SystemFile.privateDirectoryExists(directory.path) else { return [] }
        guard let bytes = try bytes() else { return [] }
        // Without its first line, as PulseKit wrote it earlier.
        let content = SealedFile.content(of: bytes, Self.format) ?? Data(bytes)
        if let cookies = try? JSONDecoder().decode([Cookie].self, from: content) { return cookies }
        try? FileManager.default.removeItem(at: damagedFile)
        try? FileManager.default.moveItem(at: file, to: damagedFile)
        return []
    }

    private func bytes() throws -> [UInt8]? {
        do {
            return try SystemFile.contents(file.path, using: disk)
        } catch JournalFailure.system(_, code: ENAMETOOLONG) {
            return nil
        }
    }

    /// Writes the pending cookies, unless an earlier job has written them.
    private func savePending() {
        guard let cookies = state.withLock({ $0.pending.take() }) else { return }
        let result = Result { try cookies.isEmpty ? removeFile() : write(cookies) }
        state.withLock { state in
            if case .failure(let error) = result { state.error = error } else { state.error = nil }
        }
    }

    private func write(_ cookies: [Cookie]) throws {
        try SystemFile.makePrivateDirectory(directory.path, isBackedUp: true, using: disk)
        let bytes = SealedFile.sealed(try JSONEncoder().encode(cookies), Self.format)
        // A name of its own, since several processes may write.
        let temporary = directory.appendingPathComponent(temporaryPrefix + UUID().uuidString).path
        try SystemFile.replace(file.path, with: bytes, by: temporary, using: disk)
    }

    /// Removes the file, or truncates it if that fails, such as in a read-only directory.
    private func removeFile() throws {
        guard unlink(file.path) != 0, errno != ENOENT else { return }
        let error = Self.systemError
        guard truncate(file.path, 0) == 0 else { throw error }
    }

    private static var systemError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
