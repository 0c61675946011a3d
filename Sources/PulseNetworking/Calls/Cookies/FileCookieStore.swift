// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

/// A cookie store in a file that only its user can read. Session cookies, which have no expiry, end with the process,
/// as in a browser.
///
/// ```swift
/// let cookies = FileCookieStore(file: folder.appendingPathComponent("cookies.json"))
/// let client = PulseClient.Builder().baseURL("https://api.example.com").cookieStore(cookies).build()
/// await cookies.removeAll()  // at logout
/// ```
///
/// The changes of a response are saved before its call ends. A call that is cancelled or reaches its deadline does not
/// wait for a hung disk; its changes are saved later. Each save replaces the file atomically, so a crash leaves either
/// the old or the new file. Use one store for each file: a save overwrites the changes of another store or process. A
/// file that does not contain valid cookies is renamed with the suffix `.damaged`, and the store starts empty. A file
/// that cannot be read, such as while the device is locked, or a symbolic link, is left untouched, and each use of the
/// store tries to read it again.
public actor FileCookieStore: CookieStore {
    private let file: CookieFile
    private var jar = CookieJar()
    /// Whether the jar has the file's cookies.
    private var isOpen = false
    /// The `Set-Cookie` lines received while the file exists but cannot be read. They are applied on top of the file's
    /// cookies later.
    private var missed: [(lines: [String], url: URL, date: Date)] = []
    /// Older lines are dropped: a file that stays unreadable must not fill the memory.
    private static let missedLimit = 1000
    /// The error of the last save or failed read; nil if the file is up to date. The store works in memory either way.
    public var saveError: (any Error)? { file.error }

    /// Creates a store for a file, which is read on first use. A missing directory is created with access for its user
    /// only. A directory that other users may write to is not used, because they could set cookies: ``saveError`` is
    /// then `JournalFailure.notPrivate`, and the cookies are only in memory.
    public init(file: URL) {
        self.file = CookieFile(file, on: .system)
    }

    init(file: URL, on disk: Disk) {
        self.file = CookieFile(file, on: disk)
    }

    public func cookieHeader(for url: URL, now: Date) async -> String? {
        await open()
        return jar.header(for: url, now: now)
    }

    public func store(setCookie lines: [String], from url: URL, now: Date) async {
        await open()
        if !isOpen {
            // Keeps lines that change nothing in memory too: the file may contain the cookies that they remove.
            missed.append((lines, url, now))
            if missed.count > Self.missedLimit { missed.removeFirst() }
        }
        var jar = jar
        guard jar.store(lines, from: url, now: now) else { return }
        self.jar = jar
        if isOpen { await save() }
    }

    /// The cookies that a request to this URL would carry at this time.
    public func cookies(for url: URL, now: Date = SystemClock().now) async -> [Cookie] {
        await open()
        return jar.cookies(for: url, now: now)
    }

    /// Removes all cookies, as at logout: from memory, from the file, from a `.damaged` file and from temporary files
    /// left by a crash. It needs no disk space, and waits for the disk even if its task is cancelled.
    ///
    /// If the file can be neither removed nor emptied, ``saveError`` is set, and the next launch finds the cookies
    /// again.
    public func removeAll() async {
        (jar, missed, isOpen) = (CookieJar(), [], true)
        file.replace(with: [])
        await file.removeLeftoversAndSave()
    }

    private func save() async {
        file.replace(with: jar.cookies.values.filter { $0.expires != nil })
        await file.save()
    }

    /// Reads the file, unless the jar has its cookies. A cancelled task does not wait for it.
    private func open() async {
        guard !isOpen else { return }
        let cookies: [Cookie]
        do {
            cookies = try await file.read()
        } catch {
            if !isOpen, !(error is CancellationError) { file.note(error) }
            return
        }
        // Another call may have opened the store meanwhile, or removed the cookies.
        guard !isOpen else { return }
        var opened = CookieJar(cookies)
        var hasChanged = false
        for (lines, url, date) in missed {
            hasChanged = opened.store(lines, from: url, now: date) || hasChanged
        }
        (jar, missed, isOpen) = (opened, [], true)
        file.note(nil)
        if hasChanged { await save() }
    }
}
