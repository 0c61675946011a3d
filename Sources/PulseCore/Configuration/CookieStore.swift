// SPDX-License-Identifier: MIT

/// The cookies of a client (RFC 6265).
///
/// The client asks the store for each hop before the plugins run, and again whenever it sends: a retry carries what has
/// come since, unless the endpoint or a plugin has a `Cookie` of its own. It passes the store the `Set-Cookie` lines of
/// every answer. Transports know no cookies. Called concurrently.
///
/// Cookies are bytes, and go back as they came: a byte that is not UTF-8 stands in the lines as the character
/// `U+10F700` plus the byte, and each such character of the header is sent as its byte again.
public protocol CookieStore: Sendable {
    /// Returns the value of the `Cookie` header for that URL, or nil if there are no cookies for it.
    func cookieHeader(for url: URL, now: Date) async -> String?
    /// Stores the `Set-Cookie` lines of an answer from that URL.
    func store(setCookie lines: [String], from url: URL, now: Date) async
}
