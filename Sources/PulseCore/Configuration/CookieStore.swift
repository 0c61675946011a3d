// SPDX-License-Identifier: MIT

/// The cookies of a client (RFC 6265).
///
/// The client queries the store for each hop before the plugins run, and again before each attempt. A retry therefore
/// carries cookies that were stored in the meantime, unless the endpoint or a plugin sets `Cookie` itself. The client
/// passes the `Set-Cookie` lines of every response to the store. Transports handle no cookies. Called concurrently.
///
/// Cookies are bytes and are sent back unchanged. In the lines, a byte that is not UTF-8 appears as the character
/// `U+10F700` plus the byte. The client sends each such character of the `Cookie` header as its byte.
public protocol CookieStore: Sendable {
    /// Returns the value of the `Cookie` header for a URL, or nil if there are no cookies for it.
    func cookieHeader(for url: URL, now: Date) async -> String?
    /// Stores the `Set-Cookie` lines of a response from a URL.
    func store(setCookie lines: [String], from url: URL, now: Date) async
}
