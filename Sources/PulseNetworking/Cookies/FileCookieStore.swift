// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

/// Cookies that survive the process, in a file that only its user can read. Cookies without an expiry end with the
/// process, as in a browser.
///
/// The changes of a response are in the file before its call ends. Each save replaces the file atomically, so that a
/// crash leaves either the old or the new file. Use one store for each file: a save overwrites what another process has
/// written meanwhile. A file that does not contain valid cookies is renamed with the suffix `.damaged`, and the store
/// starts empty. A file that cannot be read, such as while a device is locked, stays untouched, and each use of the
/// store tries to read it again.
public actor FileCookieStore: CookieStore {
    private let file: URL
    private var jar: CookieJar?
    /// The `Set-Cookie` lines received while the file exists but cannot be read. They are applied on top of the file's
    /// cookies later. Nil otherwise.
    private var missed: [(lines: [String], url: URL, date: Date)]?
    /// Only the latest lines count: a file that stays unreadable must not fill the memory.
    private static let missedLimit = 1000
    /// The error of the last save; nil if the file is up to date. The cookies in memory are used either way.
    public private(set) var saveError: (any Error)?

    /// A store over a file, which is read on first use. A missing directory is created for its user alone. One that
    /// other users may write to is not used: they could set cookies. Then ``saveError`` is
    /// `JournalFailure.notPrivate`, and the cookies are in memory only.
    public init(file: URL) {
        self.file = file
    }

    public func cookieHeader(for url: URL, now: Date) -> String? {
        _ = opened()
        return jar?.header(for: url, now: now)
    }

    public func store(setCookie lines: [String], from url: URL, now: Date) {
        var jar = opened()
        // Keeps lines that change nothing in memory too: the file may contain the cookies that they remove.
        missed?.append((lines, url, now))
        if let missed, missed.count > Self.missedLimit { self.missed = Array(missed.dropFirst()) }
        guard jar.store(lines, from: url, now: now) else { return }
        self.jar = jar
        save(jar)
    }

    /// The cookies that a request to this URL would carry at this time.
    public func cookies(for url: URL, now: Date = SystemClock().now) -> [Cookie] {
        opened().cookies(for: url, now: now)
    }

    /// Removes all cookies, as at logout: from memory, from the file, from a `.damaged` file and from leftovers of a
    /// crash. It needs no disk space.
    ///
    /// Afterwards ``saveError`` is not nil if the file could neither be removed nor emptied; then the next start finds
    /// the cookies again.
    public func removeAll() {
        jar = CookieJar()
        missed = nil
        save(CookieJar())
        do {
            try removeLeftovers()
            // A `.damaged` file whose name would be too long was never created.
            guard unlink(damagedFile.path) == 0 || [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
                throw Self.systemError
            }
        } catch {
            saveError = saveError ?? error
        }
    }

    private var directory: URL { file.deletingLastPathComponent() }
    private var damagedFile: URL { file.appendingPathExtension("damaged") }
    private var temporaryPrefix: String { ".\(file.lastPathComponent)." }

    /// Removes temporary files that a crash left before they were renamed.
    private func removeLeftovers() throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory.path) else { return }
        for name in names where name.hasPrefix(temporaryPrefix) {
            guard UUID(uuidString: String(name.dropFirst(temporaryPrefix.count))) != nil else { continue }
            guard unlink(directory.appendingPathComponent(name).path) == 0 || errno == ENOENT else {
                throw Self.systemError
            }
        }
    }

    private func opened() -> CookieJar {
        if let jar, missed == nil { return jar }
        if jar == nil { try? removeLeftovers() }
        let cookies: [Cookie]
        do {
            cookies = try read()
        } catch {
            saveError = error
            missed = missed ?? []
            let opened = jar ?? CookieJar()
            jar = opened
            return opened
        }
        var opened = CookieJar(cookies)
        var hasChanged = false
        for (lines, url, date) in missed ?? [] {
            hasChanged = opened.store(lines, from: url, now: date) || hasChanged
        }
        jar = opened
        (missed, saveError) = (nil, nil)
        if hasChanged { save(opened) }
        return opened
    }

    /// Throws for a file that exists but cannot be read now: newer cookies must not overwrite it.
    private func read() throws -> [Cookie] {
        guard try SystemFile.privateDirectoryExists(directory.path) else { return [] }
        let data: Data
        do {
            data = try Data(contentsOf: file)
        } catch {
            guard FileManager.default.fileExists(atPath: file.path) else { return [] }
            throw error
        }
        if let cookies = try? JSONDecoder().decode([Cookie].self, from: data) { return cookies }
        try? FileManager.default.removeItem(at: damagedFile)
        try? FileManager.default.moveItem(at: file, to: damagedFile)
        return []
    }

    private func save(_ jar: CookieJar) {
        guard missed == nil else { return }
        do {
            let kept = jar.cookies.values.filter { $0.expires != nil }
            guard !kept.isEmpty else {
                try removeFile()
                saveError = nil
                return
            }
            try SystemFile.makePrivateDirectory(directory.path, using: .system)
            let data = try JSONEncoder().encode(kept)
            let temporary = directory.appendingPathComponent(temporaryPrefix + UUID().uuidString)
            do {
                try Self.write(data, to: temporary)
                FileProtection.apply(to: temporary.path)
                guard rename(temporary.path, file.path) == 0 else { throw Self.systemError }
            } catch {
                try? FileManager.default.removeItem(at: temporary)
                throw error
            }
            saveError = nil
        } catch {
            saveError = error
        }
    }

    /// Empties the file if it cannot be removed, such as in a read-only directory.
    private func removeFile() throws {
        guard unlink(file.path) != 0, errno != ENOENT else { return }
        let error = Self.systemError
        guard truncate(file.path, 0) == 0 else { throw error }
    }

    /// Writes a new file, created with its final permissions.
    private static func write(_ data: Data, to file: URL) throws {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw systemError }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        // Otherwise the rename might survive a power loss without the file's bytes.
        try handle.synchronize()
        try handle.close()
    }

    private static var systemError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
