// SPDX-License-Identifier: MIT

public import PulseCore

/// A cookie store in memory. Safe to use from any thread, and by several clients at once.
///
/// ```swift
/// let client = PulseClient.Builder().baseURL("https://api.example.com").cookieStore(MemoryCookieStore()).build()
/// ```
public final class MemoryCookieStore: CookieStore {
    private let jar = Locked(CookieJar())

    /// Creates an empty store.
    public init() {}

    public func cookieHeader(for url: URL, now: Date) async -> String? {
        jar.withLock { $0.header(for: url, now: now) }
    }

    public func store(setCookie lines: [String], from url: URL, now: Date) async {
        jar.withLock { _ = $0.store(lines, from: url, now: now) }
    }

    /// The cookies that a request to this URL would carry at this time.
    public func cookies(for url: URL, now: Date = SystemClock().now) -> [Cookie] {
        jar.withLock { $0.cookies(for: url, now: now) }
    }

    /// Removes all cookies, as at logout.
    public func removeAll() {
        jar.withLock { $0.removeAll() }
    }
}

extension CookieStore where Self == MemoryCookieStore {
    /// A new store in memory.
    public static var memory: MemoryCookieStore { MemoryCookieStore() }
}
