// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

/// Cookies that survive the process, in a file that its user alone may read. Those without an expiry end with the
/// process, as in a browser.
///
/// What an answer changed is in the file before its call ends. The new file takes the place of the old one in one step,
/// so that a crash leaves the one or the other. Use one store for each file: what another process writes meanwhile is
/// overwritten. A file that cannot be read as cookies is moved aside, with `.damaged` at the end of its name, and the
/// store begins empty. One that cannot be read at all, as while a device is locked, is left alone and tried again at
/// each use.
public actor FileCookieStore: CookieStore {
    private let file: URL
    private var jar: CookieJar?
    /// What came while the file was there and could not be read: it goes over what the file holds. Nil otherwise.
    private var missed: [(lines: [String], url: URL, date: Date)]?
    /// The latest win: a file that can never be read must not fill the memory.
    private static let missedLimit = 1000
    /// The error that kept the last change out of the file; nil if the file is up to date. The cookies are used either
    /// way.
    public private(set) var failure: (any Error)?

    /// A store over a file, which is read at the first use. Its directory is made if it is missing.
    public init(file: URL) {
        self.file = file
    }

    public func cookieHeader(for url: URL, now: Date) -> String? {
        _ = opened()
        return jar?.header(for: url, now: now)
    }

    public func store(setCookie lines: [String], from url: URL, now: Date) {
        var jar = opened()
        // Even those that change nothing here: the file may hold what they remove.
        missed?.append((lines, url, now))
        if let missed, missed.count > Self.missedLimit { self.missed = Array(missed.dropFirst()) }
        guard jar.store(lines, from: url, now: now) else { return }
        self.jar = jar
        save(jar)
    }

    /// The cookies that a request to that URL would carry at that time.
    public func cookies(for url: URL, now: Date = SystemClock().now) -> [Cookie] {
        opened().cookies(for: url, now: now)
    }

    /// Forgets all cookies, as at logout, in the file too, in one that was moved aside, and in what a crash has left:
    /// that needs no space on the disk.
    ///
    /// ``failure`` is not nil afterwards if the file could neither be removed nor emptied; then another start finds
    /// them again.
    public func removeAll() {
        jar = CookieJar()
        missed = nil
        save(CookieJar())
        do {
            try removeLeftovers()
            // One whose name would be too long was never made.
            guard unlink(damagedFile.path) == 0 || [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
                throw Self.systemError
            }
        } catch {
            failure = failure ?? error
        }
    }

    private var directory: URL { file.deletingLastPathComponent() }
    private var damagedFile: URL { file.appendingPathExtension("damaged") }
    private var temporaryPrefix: String { ".\(file.lastPathComponent)." }

    /// Removes what a crash has left of files that had not their name yet.
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
            failure = error
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
        (missed, failure) = (nil, nil)
        if hasChanged { save(opened) }
        return opened
    }

    /// Throws for a file that is there and cannot be read now: it must not be overwritten with what came since.
    private func read() throws -> [Cookie] {
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
                failure = nil
                return
            }
            let manager = FileManager.default
            try manager.createDirectory(at: directory, withIntermediateDirectories: true)
            let data = try JSONEncoder().encode(kept)
            let temporary = directory.appendingPathComponent(temporaryPrefix + UUID().uuidString)
            do {
                try Self.write(data, to: temporary)
                FileProtection.apply(to: temporary.path)
                guard rename(temporary.path, file.path) == 0 else { throw Self.systemError }
            } catch {
                try? manager.removeItem(at: temporary)
                throw error
            }
            failure = nil
        } catch {
            failure = error
        }
    }

    /// Where it cannot go, as in a folder that is not to be written to, nothing is left in it.
    private func removeFile() throws {
        guard unlink(file.path) != 0, errno != ENOENT else { return }
        let error = Self.systemError
        guard truncate(file.path, 0) == 0 else { throw error }
    }

    /// Into a new file, made with its permissions and not given them a moment later.
    private static func write(_ data: Data, to file: URL) throws {
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw systemError }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        // Else the new name might survive a loss of power, and its bytes not.
        try handle.synchronize()
        try handle.close()
    }

    private static var systemError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
}
